"""Runs that are played together leave what they would have left alone, and learn local beliefs once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from surefed.core import Interrupted, StorageError
from surefed.learn import Lesson, Rows, Variational
from surefed.records import Record
from surefed.rules import RULES
from surefed.sim import Experiment, run, run_together
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round
from surefed.sim.kinship import kinship, likeness
from surefed.sim.play import Play

from .test_run import SMALL, files

LIARS: dict[str, Any] = {"malicious": 0.34}


def small(**changes: Any) -> Experiment:
    return Experiment.of({**SMALL, "attack": {"name": "none"}, **changes})


def lying(*names: str) -> dict[str, Experiment]:
    return {name: small(attack={"name": name, **LIARS}) for name in names}


def judged(**options: Any) -> Experiment:
    """Under label_flip, by SureFED with other options than its defaults."""
    return small(rule={"name": "surefed", **options}, attack={"name": "label_flip", **LIARS})


def together(into: Path, given: dict[str, Experiment], **how: Any) -> dict[str, Record | Exception]:
    ended = run_together({into / name: experiment for name, experiment in given.items()}, **how)
    return {folder.name: end for folder, end in ended.items()}


@pytest.fixture
def taught(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows learned in each lesson."""
    seen: list[int] = []
    learn = Variational.learn

    def count(self: Variational, rows: Rows, lesson: Lesson, active: torch.Tensor | None = None) -> None:
        seen.append(len(rows.steps))
        assert len(lesson.batches) == len(lesson.sizes) == len(lesson.noise) == len(rows.steps)
        learn(self, rows, lesson, active)

    monkeypatch.setattr(Variational, "learn", count)
    return seen


SHARING = {
    "lies": lying("none", "sign_flip", "gaussian", "alie"),
    "options": {
        "four": judged(kappa=4.0, heading="off"),
        "usual": judged(),
        "paper": small(rule={"name": "paper"}, attack={"name": "label_flip", **LIARS}),
        "ring": judged(kappa=6.0).change(["graph.name=ring"]),
    },
    "late poison": {
        name: small(rule={"name": "surefed", "kappa": kappa}, attack={"name": "label_flip", "start": 3, **LIARS})
        for name, kappa in (("four", 4.0), ("six", 6.0))
    },
    "other paces": {
        "one": small(rounds=9, evaluate={"every": 2}, checkpoint_every=2),
        "two": small(rounds=12, evaluate={"every": 3, "draws": 2}, attack={"name": "ipm", **LIARS}),
    },
}


@pytest.mark.parametrize("case", SHARING)
def test_runs_leave_what_they_would_have_left_alone_and_learn_local_beliefs_once(
    case: str, tmp_path: Path, taught: list[int]
) -> None:
    given = SHARING[case]
    alone = {name: run(experiment, out=tmp_path / "alone" / name) for name, experiment in given.items()}
    assert set(taught) == {12}
    taught.clear()
    ended = together(tmp_path / "together", given)
    played = [experiment.rounds for experiment in given.values()]
    assert sorted(taught) == [6] * (sum(played) - max(played)) + [12] * max(played)
    for name, other in alone.items():
        assert files(tmp_path / "together" / name) == files(other.folder)
        record = ended[name]
        assert isinstance(record, Record)
        assert record.result is not None
        assert other.record.result is not None
        assert record.result["final"] == other.record.result["final"]


def test_what_learns_otherwise_is_not_shared(tmp_path: Path, taught: list[int]) -> None:
    given = {
        "one": small(),
        "seed": small(seed=1),
        "poison": small(attack={"name": "label_flip", **LIARS}),
        "later": small(attack={"name": "label_flip", "start": 2, **LIARS}),
        "who": small(attack={"name": "label_flip", "malicious": 0.5}),
        "rate": small(learn={"batches": 2, "learning_rate": 0.02}),
        "stops": small(learn={"batches": 2, "learning_rate": 0.01, "early_stop": 3}),
        "halves": small(rule={"name": "surefed", "kappa": "auto"}),
        "model": small(model={"name": "mlp"}),
        "data": small(data={"clients": 6, "test_share": 0.3}),
        "none": small(rule={"name": "bayp2pfl"}),
    }
    alone = {name: run(experiment, out=tmp_path / "alone" / name) for name, experiment in given.items()}
    rows = sorted(taught)
    taught.clear()
    together(tmp_path / "together", given)
    assert sorted(taught) == rows
    for name, other in alone.items():
        assert files(tmp_path / "together" / name) == files(other.folder)


def test_the_likeness_of_experiments_foretells_what_may_be_shared() -> None:
    same = [*lying("none", "sign_flip", "alie").values(), small(rounds=3), small(graph={"name": "ring"})]
    same += [small(rule={"name": "paper"}), small(learn={"kind": "variational", "batches": 2, "learning_rate": 0.01})]
    assert len({likeness(experiment) for experiment in same}) == 1
    other = [small(), small(seed=1), small(learn={"batches": 2}), small(model={"name": "mlp"})]
    other += [small(attack={"name": "label_flip", **LIARS}), small(attack={"name": "label_flip", "malicious": 0.5})]
    assert len({likeness(experiment) for experiment in other}) == len(other)
    assert likeness(small(rule={"name": "fedavg"})) is None
    assert likeness(small(rule={"name": "surefed", "kappa": "auto"})) is None
    assert likeness(small(learn={"early_stop": 2})) is None


def test_where_torch_teaches_blocks_of_rows_they_must_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch may round otherwise in a block of other height; six clients fill blocks of three, not of four."""

    def kin(experiment: Experiment, block: int) -> str | None:
        setup = assemble(experiment)
        monkeypatch.setattr("surefed.learn.base.BLOCK", block * setup.network.weights)
        return kinship(setup, begin(setup))

    drawn = small(learn={"samples": 2})
    assert kin(drawn, 3) is not None
    assert kin(drawn, 4) is None
    assert kin(drawn, 12) is None
    assert kin(small(model={"name": "resnet20"}, data={"name": "digits", "clients": 6}), 12) is None


def test_runs_that_learn_in_torch_share_too(tmp_path: Path, taught: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.learn.base.BLOCK", 3 * 650)
    given = {name: one.change(["learn.samples=2", "rounds=4"]) for name, one in lying("none", "sign_flip").items()}
    alone = {name: run(experiment, out=tmp_path / "alone" / name) for name, experiment in given.items()}
    taught.clear()
    together(tmp_path / "together", given)
    assert sorted(taught) == [6] * 4 + [12] * 4
    assert all(files(tmp_path / "together" / name) == files(other.folder) for name, other in alone.items())


def test_a_world_that_borrows_is_the_world_that_learned_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captured rounds as well, as far as there can be any without a GPU."""
    monkeypatch.setattr("surefed.sim.engine.steady", lambda *_: True)
    first, second = (assemble(experiment) for experiment in lying("none", "sign_flip").values())
    leader, follower, alone = begin(first), begin(second), begin(second)
    follower.borrow(leader.rows[slice(6, None)])
    before = [value.data_ptr() for value in (follower.rows.mean, follower.rows.rho)]
    for _ in range(5):
        play_round(first, leader)
        play_round(second, follower)
        play_round(second, alone)
        assert torch.equal(follower.rows.mean, alone.rows.mean)
        assert torch.equal(follower.rows.rho, alone.rows.rho)
    assert not torch.equal(follower.rows.steps, alone.rows.steps)
    whole = follower.whole()
    assert torch.equal(whole.steps, alone.rows.steps)
    assert all(torch.equal(one, other) for one, other in zip(whole.moments, alone.rows.moments, strict=True))
    assert [value.data_ptr() for value in (whole.mean, whole.rho)] == before


@pytest.mark.parametrize("ends", ["first", "last"])
def test_a_run_that_ends_earlier_leaves_the_others_going(ends: str, tmp_path: Path, taught: list[int]) -> None:
    lengths = (5, 12, 9) if ends == "first" else (12, 9, 5)
    lies = lying("none", "sign_flip", "alie")
    given = {name: one.change([f"rounds={rounds}"]) for (name, one), rounds in zip(lies.items(), lengths, strict=True)}
    alone = {name: run(experiment, out=tmp_path / "alone" / name) for name, experiment in given.items()}
    taught.clear()
    together(tmp_path / "together", given)
    assert sorted(taught) == [6] * (5 + 9) + [12] * 12
    assert all(files(tmp_path / "together" / name) == files(other.folder) for name, other in alone.items())


def stop_at(at: int) -> Callable[..., None]:
    """Ask to stop after a round, once."""
    asked: list[int] = []

    def watch(folder: Path, round: int, figures: object) -> None:
        if round == at and not asked:
            asked.append(round)
            os.kill(os.getpid(), signal.SIGTERM)

    return watch


def test_all_are_saved_when_asked_to_stop_and_each_can_go_on_alone(tmp_path: Path, taught: list[int]) -> None:
    given = lying("none", "sign_flip", "alie")
    alone = {name: run(experiment, out=tmp_path / "alone" / name) for name, experiment in given.items()}
    with pytest.raises(Interrupted, match="3 runs are not done; what was begun is saved") as end:
        together(tmp_path / "together", given, watch=stop_at(7))
    assert end.value.exit_code == 128 + signal.SIGTERM
    with pytest.raises(Interrupted):
        run(given["alie"], out=tmp_path / "lone", watch=lambda round, figures: stop_at(6)(tmp_path, round, figures))
    saved = [folder / "checkpoint.safetensors" for folder in (tmp_path / "together" / "alie", tmp_path / "lone")]
    assert saved[0].read_bytes() == saved[1].read_bytes()
    run(given["alie"], out=tmp_path / "together" / "alie", resume=True)
    taught.clear()
    together(tmp_path / "together", {name: given[name] for name in ("none", "sign_flip")}, resume=True)
    assert sorted(taught) == [6] * 5 + [12] * 5
    assert all(files(tmp_path / "together" / name) == files(other.folder) for name, other in alone.items())


def test_runs_that_are_behind_catch_up_and_then_share(tmp_path: Path, taught: list[int]) -> None:
    given = lying("none", "sign_flip")
    alone = {name: run(experiment, out=tmp_path / "alone" / name) for name, experiment in given.items()}
    with pytest.raises(Interrupted):
        together(tmp_path / "together", {"sign_flip": given["sign_flip"]}, watch=stop_at(4))
    taught.clear()
    together(tmp_path / "together", given, resume=True)
    assert sorted(taught) == [6] * 8 + [12] * (4 + 8)
    assert all(files(tmp_path / "together" / name) == files(other.folder) for name, other in alone.items())


SCRIPT = """
import json, sys
from pathlib import Path
from surefed.sim import Experiment, run_together
given = json.loads(sys.argv[2])
run_together({Path(sys.argv[1]) / name: Experiment.of(values) for name, values in given.items()}, resume=True)
"""


def test_runs_that_are_killed_end_as_if_nothing_had_been(tmp_path: Path) -> None:
    values = {
        name: {**SMALL, "rounds": 300, "attack": {"name": name, **LIARS}, "evaluate": {"every": 10}}
        for name in ("sign_flip", "alie")
    }
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "together"), json.dumps(values)]
    process = subprocess.Popen(command)
    lines = tmp_path / "together" / "alie" / "rounds.jsonl"
    while not lines.exists() or lines.read_bytes().count(b"\n") < 5:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    process.kill()
    process.wait()
    subprocess.run(command, check=True)
    for name in values:
        alone = run(Experiment.of(values[name]), out=tmp_path / "alone" / name)
        assert files(tmp_path / "together" / name) == files(alone.folder)


@pytest.mark.parametrize("who", ["none", "sign_flip"])
def test_a_run_that_cannot_be_written_leaves_the_others_going(
    who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = lying("none", "sign_flip", "alie")
    alone = {name: run(experiment, out=tmp_path / "alone" / name) for name, experiment in given.items()}
    save = Play.save

    def full(self: Play) -> None:
        if self.recorder.path.name == who and self.world.round == 10:
            raise StorageError("the disk is full")
        save(self)

    monkeypatch.setattr(Play, "save", full)
    told: list[str] = []
    ended = together(tmp_path / "together", given, ended=lambda folder, error: told.append(folder.name))
    assert isinstance(ended[who], StorageError)
    assert (told[0], set(told)) == (who, set(given))
    for name in set(given) - {who}:
        assert files(tmp_path / "together" / name) == files(alone[name].folder)
    monkeypatch.undo()
    run(given[who], out=tmp_path / "together" / who, resume=True)
    assert files(tmp_path / "together" / who) == files(alone[who].folder)


@pytest.mark.parametrize("at", [3, 8])
def test_a_leader_that_fails_in_the_middle_of_a_round_sends_the_others_back_to_what_they_saved(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taught: list[int]
) -> None:
    given = lying("gaussian", "sign_flip", "alie")
    alone = {name: run(experiment, out=tmp_path / "alone" / name) for name, experiment in given.items()}
    taught.clear()

    def fragile(setup: Any, world: Any, *, detail: bool) -> Any:
        inspection = play_round(setup, world, detail=detail)
        if setup.experiment.attack.name == "gaussian" and world.round == at:
            world.round -= 1
            raise ZeroDivisionError("somebody's own layer")
        return inspection

    monkeypatch.setattr("surefed.sim.play.play_round", fragile)
    ended = together(tmp_path / "together", given)
    assert isinstance(ended["gaussian"], ZeroDivisionError)
    again = 12 - at // 5 * 5
    assert sorted(taught) == [6] * (2 * (at - 1) + again) + [12] * (at + again)
    for name in ("sign_flip", "alie"):
        assert files(tmp_path / "together" / name) == files(alone[name].folder)


def test_what_cannot_be_opened_and_what_is_finished_ends_at_once(tmp_path: Path) -> None:
    given = {**lying("none", "sign_flip"), "many": small(data={"clients": 1400})}
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "thesis.txt").write_text("precious")
    run(given["sign_flip"], out=tmp_path / "sign_flip")
    ended = together(tmp_path, given)
    assert "something else than a run" in str(ended["none"])
    assert "fewer than a batch" in str(ended["many"])
    assert isinstance(ended["sign_flip"], Record)


def test_rules_that_need_local_beliefs_are_those_that_share() -> None:
    needing = {name for name, made in RULES.items() if "local" in made().needs}
    assert needing >= {"surefed", "paper"}
    assert {name for name in RULES if likeness(small(rule={"name": name}, learn={})) is not None} == {
        name for name in needing if "halves" not in RULES[name]().needs
    }


def test_the_clock_is_shared_out(tmp_path: Path) -> None:
    """What all cells say they took is about what went by, not that for each of them."""
    begun = time.perf_counter()
    ended = together(tmp_path, lying("none", "sign_flip", "gaussian", "alie"))
    passed = time.perf_counter() - begun
    told = [end.result["seconds"] for end in ended.values() if isinstance(end, Record) and end.result]
    assert len(told) == 4
    assert 0 < sum(told) < 1.5 * passed


class Lane:
    """A stream that does nothing, and breaks on request."""

    def __init__(self) -> None:
        self.broken = False

    def synchronize(self) -> None:
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch) -> list[Lane]:
    """As if runs were on a GPU, each on a stream of its own, without kin."""
    made: list[Lane] = []
    monkeypatch.setattr("surefed.sim.together._stream", lambda device: made.append(Lane()) or made[-1])
    monkeypatch.setattr("surefed.sim.together.kinship", lambda setup, world: None)
    monkeypatch.setattr(torch.cuda, "stream", lambda lane: nullcontext())
    return made


def test_runs_with_lanes_do_not_wait_for_those_that_are_behind(tmp_path: Path, lanes: list[Lane]) -> None:
    given = {"short": small(rounds=3), "long": small(rounds=6)}
    run(given["long"], out=tmp_path / "alone")
    played: list[str] = []
    ended = together(tmp_path, given, watch=lambda folder, round, figures: played.append(f"{folder.name} {round}"))
    assert played[:6] == [f"{name} {round}" for round in (1, 2, 3) for name in ("short", "long")]
    assert len(lanes) == 2
    assert files(tmp_path / "long") == files(tmp_path / "alone")
    begun = small(rounds=6, seed=7)  # one that was begun before goes on at once
    played.clear()
    _stop_after(tmp_path / "begun", begun, 4)
    together(tmp_path, {"fresh": small(rounds=6, seed=8), "begun": begun}, resume=True,
             watch=lambda folder, round, figures: played.append(f"{folder.name} {round}"))  # fmt: skip
    assert played[:4] == ["fresh 1", "begun 5", "fresh 2", "begun 6"]
    assert all(isinstance(end, Record) for end in ended.values())


def _stop_after(folder: Path, experiment: Experiment, rounds: int) -> None:
    """Leave a run behind that a signal ended."""

    def stop(round: int, figures: Any) -> None:
        if round == rounds - 1:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted):
        run(experiment, out=folder, watch=stop)


def test_a_device_that_fails_is_told_of_for_every_run(
    tmp_path: Path, lanes: list[Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad(setup: Any, world: Any, *, detail: bool) -> Any:
        if any(lane.broken for lane in lanes) or (setup.experiment.attack.name == "sign_flip" and world.round == 2):
            for lane in lanes:
                lane.broken = True
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return play_round(setup, world, detail=detail)

    monkeypatch.setattr("surefed.sim.play.play_round", bad)
    told: list[str] = []
    ended = together(tmp_path, lying("none", "sign_flip"), ended=lambda folder, error: told.append(folder.name))
    assert sorted(told) == ["none", "sign_flip"]
    assert all(isinstance(end, RuntimeError) for end in ended.values())
