from __future__ import annotations

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import surefed
from surefed.core import Belief, DataError, Interrupted, RecordError, StorageError
from surefed.data import DATASETS, Federation, cut, federation
from surefed.sim import Experiment, run
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, learn, local

SMALL = {
    "rounds": 12,
    "checkpoint_every": 5,
    "data": {"clients": 6},
    "model": {"name": "linear"},
    "learn": {"batches": 2, "learning_rate": 0.01},
    "rule": {"name": "surefed", "kappa": 4.0, "heading": "off", "std_floor": 0.0, "std_ceiling": 0.0},
    "attack": {"name": "label_flip", "malicious": 0.34},
    "evaluate": {"every": 4},
}


def small(**changes: object) -> Experiment:
    return Experiment.of({**SMALL, **changes})


def files(folder: Path) -> dict[str, bytes]:
    """What must be equal for equal experiments: all but the clock and the machine."""
    kept = ["experiment.toml", "rounds.jsonl", "checkpoint.safetensors"]
    found = {name: (folder / name).read_bytes() for name in kept}
    return found | {file.name: file.read_bytes() for file in (folder / "trust").iterdir()}


@pytest.mark.parametrize("rule", ["surefed", "bayp2pfl", "local_only", "fedavg"])
def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(tmp_path: Path, rule: str) -> None:
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        run(small(seed=seed, rule={"name": rule}, attack={"name": "gaussian", "malicious": 0.34}), out=tmp_path / name)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert files(tmp_path / "one")["rounds.jsonl"] != files(tmp_path / "other")["rounds.jsonl"]


def test_the_record_tells_the_story(tmp_path: Path) -> None:
    seen: list[tuple[int, bool]] = []
    result = run(small(), out=tmp_path / "run", watch=lambda round, figures: seen.append((round, figures is not None)))
    assert seen == [(at, at in (1, 4, 8, 12)) for at in range(1, 13)]
    record = surefed.read(tmp_path / "run")
    assert record.finished
    assert [line["round"] for line in record.rounds] == record.trust_rounds() == [1, 4, 8, 12]
    assert record.last["accuracy"]["mean"] > 0.2
    assert record.last["accuracy"]["worst"] <= record.last["accuracy"]["mean"]
    assert len(record.run["malicious"]) == 2
    snapshot = record.trust(12)
    assert snapshot["trusted"].shape == (6, 6)
    honest = ~snapshot["malicious"]
    assert snapshot["accuracy"][honest].mean() == pytest.approx(record.last["accuracy"]["mean"], abs=1e-5)
    neighbours = snapshot["trusted"][honest][:, ~honest]
    assert record.last["trusted"]["malicious"] == pytest.approx(neighbours.mean())
    assert (snapshot["trusted"] == (snapshot["outside"] == 0)).all()
    assert result.beliefs.mean.shape == (6, 650)
    assert result.accuracy == record.last["accuracy"]["mean"]


def test_another_order_of_clients_gives_each_the_same_result(tmp_path: Path) -> None:
    made = cut(DATASETS["digits"](), 6, seed=0)
    parts = [
        (made.inputs[start : start + size], made.labels[start : start + size])
        for start, size in zip(made.starts.tolist(), made.sizes.tolist(), strict=True)
    ]
    order = [4, 2, 0, 5, 1, 3]
    test = (made.test_inputs, made.test_labels)
    mixed = federation([parts[at] for at in order], test, ids=[made.ids[at] for at in order])
    for attack in ("label_flip", "gaussian"):
        experiment = small(attack={"name": attack, "malicious": 0.34})
        one = run(experiment, data=made, out=tmp_path / f"{attack}-one")
        other = run(experiment, data=mixed, out=tmp_path / f"{attack}-other")
        assert set(one.record.run["malicious"]) == set(other.record.run["malicious"]) != set()
        assert torch.allclose(one.beliefs.mean[order], other.beliefs.mean, atol=1e-6)
        assert torch.allclose(one.beliefs.rho[order], other.beliefs.rho, atol=1e-6)


def start_command(folder: Path, rounds: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "surefed", "run", "--out", str(folder), "--set", f"rounds={rounds}"]
    for setting in (
        "data.clients=8",
        "attack.name=label_flip",
        "rule.kappa=6",
        "checkpoint_every=5",
        "evaluate.every=7",
    ):
        command += ["--set", setting]
    command += ["--resume"] if (folder / "run.json").exists() else []
    with said(folder).open("wb") as file:
        return subprocess.Popen(command, stderr=file, stdout=subprocess.DEVNULL)


def said(folder: Path) -> Path:
    """Where a command's messages go."""
    return folder.with_suffix(".log")


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < deadline, "nothing was saved within a minute"
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.002)


def lines(folder: Path) -> int:
    path = folder / "rounds.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("ends", [[signal.SIGKILL, signal.SIGKILL], [signal.SIGINT, signal.SIGTERM]])
def test_a_run_that_is_killed_twice_ends_as_one_that_never_was(tmp_path: Path, ends: list[signal.Signals]) -> None:
    rounds = 400
    whole = start_command(tmp_path / "whole", rounds)
    broken = tmp_path / "broken"
    for turn, end in enumerate(ends):
        process = start_command(broken, rounds)
        wait_for(lambda turn=turn: lines(broken) >= 8 * (turn + 1), process)  # type: ignore[misc]
        process.send_signal(end)
        assert process.wait(timeout=60) == (-9 if end is signal.SIGKILL else 128 + end)
        assert not (broken / "result.json").exists(), "it must be stopped in the middle"
        if end is not signal.SIGKILL:
            assert "go on with --resume" in said(broken).read_text()
    last = start_command(broken, rounds)
    assert last.wait(timeout=120) == 0, said(broken).read_text()
    assert whole.wait(timeout=120) == 0, said(tmp_path / "whole").read_text()
    assert files(broken) == files(tmp_path / "whole")


def test_ctrl_c_in_python_saves_and_raises(tmp_path: Path) -> None:
    def interrupt(round: int, figures: object) -> None:
        if round == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)  # a shell's background jobs ignore it
    with pytest.raises(Interrupted, match="after round 4 of 12"):
        run(small(), out=tmp_path / "run", watch=interrupt)
    assert signal.getsignal(signal.SIGINT) is before, "handlers are put back"
    resumed = run(small(), out=tmp_path / "run", resume=True)
    whole = run(small(), out=tmp_path / "whole")
    assert torch.equal(resumed.beliefs.mean, whole.beliefs.mean)


def test_a_run_in_a_thread_needs_no_signals(tmp_path: Path) -> None:
    results = []
    thread = threading.Thread(target=lambda: results.append(run(small(), out=tmp_path / "run")))
    thread.start()
    thread.join()
    assert results[0].record.finished


def test_a_finished_run_is_read_not_repeated(tmp_path: Path) -> None:
    first = run(small(), out=tmp_path / "run")
    rounds: list[int] = []
    again = run(small(), out=tmp_path / "run", watch=lambda round, figures: rounds.append(round))
    assert rounds == []
    assert torch.equal(first.beliefs.mean, again.beliefs.mean)


def unfinished(folder: Path) -> None:
    def interrupt(round: int, figures: object) -> None:
        if round == 6:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        run(small(), out=folder, watch=interrupt)


def test_folders_that_belong_to_something_else(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    unfinished(folder)
    kept = files(folder)
    with pytest.raises(RecordError, match="unfinished; go on with --resume"):
        run(small(), out=folder)
    with pytest.raises(RecordError, match="belongs to another experiment"):
        run(small(seed=1), out=folder, resume=True)
    other = cut(DATASETS["digits"](), 6, seed=9)
    with pytest.raises(RecordError, match=r"data.name is 'digits' there and 'given' here"):
        run(small(), out=folder, resume=True, data=other)
    with pytest.raises(RecordError, match=r"rule.kappa is 4.0 there and 5 here"):
        run(
            small(rule={"name": "surefed", "kappa": 5, "heading": "off", "std_floor": 0.0, "std_ceiling": 0.0}),
            out=folder,
            resume=True,
        )
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("precious")
    with pytest.raises(RecordError, match="something else than a run"):
        run(small(), out=tmp_path / "thesis")
    with pytest.raises(RecordError, match="is a file"):
        run(small(), out=tmp_path / "thesis" / "chapter1.txt")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "experiment.toml").write_text("# with my comments\nrounds = 12\n")
    with pytest.raises(RecordError, match="something else than a run"):
        run(small(), out=tmp_path / "mine")
    assert files(folder) == kept


def test_a_run_killed_while_its_folder_was_made_can_be_begun_again(tmp_path: Path) -> None:
    whole = run(small(), out=tmp_path / "whole")
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "experiment.toml").write_bytes((whole.folder / "experiment.toml").read_bytes())
    (torn / ".run.json.new").write_text('{"ident')
    run(small(), out=torn)
    assert files(torn) == files(whole.folder)


def test_a_folder_has_one_process_at_a_time(tmp_path: Path) -> None:
    seen: list[str] = []

    def meddle(round: int, figures: object) -> None:
        if round == 6:
            command = [sys.executable, "-c", MEDDLER, str(tmp_path / "run")]
            done = subprocess.run(command, capture_output=True, text=True)
            seen.append(done.stdout)

    run(small(), out=tmp_path / "run", watch=meddle)
    assert seen == ["locked\n"]


MEDDLER = """
import sys, pathlib, surefed
from surefed.records import alone
try:
    with alone(pathlib.Path(sys.argv[1])):
        print("free")
except surefed.RecordError as error:
    assert "another process is running" in str(error)
    print("locked")
"""


def test_a_finished_run_that_lost_its_checkpoint_can_be_computed_again(tmp_path: Path) -> None:
    first = run(small(), out=tmp_path / "run")
    kept = files(first.folder)
    (first.folder / "checkpoint.safetensors").unlink()
    with pytest.raises(RecordError, match="--resume computes it again"):
        run(small(), out=first.folder)
    run(small(), out=first.folder, resume=True)
    assert files(first.folder) == kept


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_a_truncated_checkpoint_is_refused_and_nothing_is_lost(tmp_path: Path, keep: int) -> None:
    folder = tmp_path / "run"
    unfinished(folder)
    path = folder / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    lines = (folder / "rounds.jsonl").read_bytes()
    with pytest.raises(RecordError, match="damaged or cut short"):
        run(small(), out=folder, resume=True)
    assert (folder / "rounds.jsonl").read_bytes() == lines
    path.unlink()  # as the message says
    assert run(small(), out=folder, resume=True).record.finished


def test_a_checkpoint_of_another_experiment_is_refused(tmp_path: Path) -> None:
    unfinished(tmp_path / "run")
    other = run(small(seed=8), out=tmp_path / "other")
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes((other.folder / "checkpoint.safetensors").read_bytes())
    with pytest.raises(RecordError, match="checkpoint of another experiment"):
        run(small(), out=tmp_path / "run", resume=True)


def test_a_torn_line_is_left_out_and_computed_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    unfinished(folder)
    with (folder / "rounds.jsonl").open("ab") as file:
        file.write(b'{"round": 8, "accu')
    assert [line["round"] for line in surefed.read(folder).rounds] == [1, 4]
    whole = run(small(), out=tmp_path / "whole")
    run(small(), out=folder, resume=True)
    assert files(folder) == files(whole.folder)


@pytest.mark.parametrize("victim", ["rounds.jsonl", "checkpoint.safetensors", "trust/000004.npz", "run.json"])
def test_a_full_disk_says_so_and_the_run_goes_on_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    """The device is full from the moment the victim is written."""
    folder, real = tmp_path / "run", os.fsync
    name = Path(victim).name

    def full(handle: int) -> None:
        if name in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"No space left on device.*--resume"):
        run(small(), out=folder)
    monkeypatch.undo()
    assert not list(folder.rglob(".*.new")), "nothing half-written is left behind"
    whole = run(small(), out=tmp_path / "whole")
    run(small(), out=folder, resume=True)
    assert files(folder) == files(whole.folder)


def test_a_file_size_limit_is_a_storage_error_with_its_exit_code(tmp_path: Path) -> None:
    """For real, no mock: the operating system refuses to write more than 20 kB into a file."""
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from surefed.cli import main; sys.argv = ['surefed', 'run', '--set', 'rounds=3', '--out', sys.argv[1]]; main()"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 5, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learn": {"batch_size": 500}}, "client 0 has 240 training samples, fewer than a batch of 500"),
        ({"data": {"clients": 1439}}, "cannot be dealt out to 1439 clients"),
        ({"graph": {"name": "networkx:cycle_graph", "n": 5}}, "the graph has 5 nodes, but there are 6 clients"),
        ({"model": {"name": "torch.nn:Linear", "in_features": 8, "out_features": 3}}, r"returns shape \(1, 8, 3\)"),
    ],
)
def test_parts_that_do_not_fit_together(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        run(small(**changes), out=tmp_path / "run")
    assert not (tmp_path / "run").exists(), "nothing is written before everything fits"


class Bow(nn.Module):
    """A user's own module: not a chain of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(2, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.outer(torch.sin(self.inner(x)))
        return out


def two_moons(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_moons

    return make_moons(count, noise=0.15, random_state=seed)  # type: ignore[no-any-return]


def test_a_users_own_module_and_arrays_and_graph(tmp_path: Path) -> None:
    torch.manual_seed(0)
    data = federation([two_moons(40, seed) for seed in range(5)], two_moons(300, 99))
    module = Bow()
    start = [value.detach().clone() for value in module.parameters()]
    experiment = Experiment.of(
        {"rounds": 80, "learn": {"learning_rate": 0.02}, "rule": {"name": "surefed", "kappa": 60.0}}
    )
    result = run(experiment, data=data, model=module, graph=nx.cycle_graph(5), out=tmp_path / "run")
    assert all(torch.equal(old, new) for old, new in zip(start, module.parameters(), strict=True)), "left as it was"
    assert result.accuracy > 0.85
    trained = result.model("2")
    assert trained is not module
    assert all(torch.equal(old, new) for old, new in zip(start, module.parameters(), strict=True)), "still as it was"
    for nobody in ("zz", 5, -1):
        with pytest.raises(KeyError, match="there is no client"):
            result.model(nobody)
    scores = trained(data.test_inputs).argmax(-1)
    mine = surefed.read(result.folder).trust(80)["accuracy"][2]
    assert (scores == data.test_labels).float().mean().item() == pytest.approx(mine, abs=1e-6)
    about = surefed.read(result.folder).experiment
    assert (about["data"]["name"], about["model"]["name"], about["graph"]["name"]) == ("given",) * 3


def test_early_stopping_freezes_local_beliefs_only(tmp_path: Path) -> None:
    experiment = small(learn={"batches": 2, "learning_rate": 0.05, "early_stop": 2, "held_out": 0.2}, rounds=40)
    setup = assemble(experiment)
    assert setup.sizes.tolist() == (setup.clean.sizes - (setup.clean.sizes * 0.2).ceil().long()).tolist()
    world = begin(setup)
    while world.watch.learning.all() and world.round < 200:
        learn(setup, world)
        world.round += 1
    stopped = (~world.watch.learning).nonzero().flatten()
    assert len(stopped) > 0, "somebody's accuracy fell"
    kept, moved = local(setup, world), world.rows.mean[: setup.clients].clone()
    assert kept is not None
    before = kept.mean.clone()
    learn(setup, world)
    assert torch.equal(kept.mean[stopped], before[stopped])
    assert not torch.equal(kept.mean, before)
    assert (world.rows.mean[: setup.clients] != moved).any(1).all(), "social beliefs go on"


def test_what_is_held_out_is_like_the_rest_even_of_sorted_samples() -> None:
    inputs, labels = DATASETS["digits"]().inputs[:600], DATASETS["digits"]().labels[:600]
    order = np.argsort(labels, kind="stable")
    data = federation([(inputs[order], labels[order])] * 2, (inputs, labels))
    setup = assemble(small(learn={"early_stop": 3, "held_out": 0.2}, attack={"name": "none"}), data=data)
    held = setup.clean.labels[480:600]
    assert len(held.unique()) == 10
    assert sorted(setup.clean.labels[:600].tolist()) == sorted(labels.tolist())


def test_nothing_is_held_out_where_there_is_no_local_belief_to_stop() -> None:
    setup = assemble(small(rule={"name": "bayp2pfl"}, learn={"early_stop": 3}))
    assert torch.equal(setup.sizes, setup.clean.sizes)


def test_early_stopping_survives_a_checkpoint(tmp_path: Path) -> None:
    stopping = {"batches": 2, "learning_rate": 0.05, "early_stop": 1, "held_out": 0.2}
    experiment = small(learn=stopping, rounds=30)

    def interrupt(round: int, figures: object) -> None:
        if round == 20:
            os.kill(os.getpid(), signal.SIGINT)

    whole = run(experiment, out=tmp_path / "whole")
    with pytest.raises(Interrupted):
        run(experiment, out=tmp_path / "broken", watch=interrupt)
    run(experiment, out=tmp_path / "broken", resume=True)
    assert files(whole.folder) == files(tmp_path / "broken")
    assert whole.record.last["local_learning"] < 6


def test_held_out_accuracy_is_that_of_the_held_out_samples() -> None:
    setup = assemble(small(learn={"batches": 2, "early_stop": 5, "held_out": 0.3}))
    world = begin(setup)
    for _ in range(5):
        learn(setup, world)
        world.round += 1
    from surefed.sim.engine import held_out_accuracy

    by_hand = []
    mine = local(setup, world)
    assert mine is not None
    for client in range(6):
        first = int(setup.clean.starts[client] + setup.sizes[client])
        last = int(setup.clean.starts[client] + setup.clean.sizes[client])
        weights = mine.mean[client]
        scores = setup.poisoned[0][first:last].flatten(1) @ weights[:640].view(10, 64).T + weights[640:]
        by_hand.append((scores.argmax(1) == setup.poisoned[1][first:last]).float().mean())
    assert torch.allclose(held_out_accuracy(setup, world), torch.stack(by_hand))


def test_monte_carlo_accuracy_is_recorded_on_request(tmp_path: Path) -> None:
    result = run(small(evaluate={"every": 6, "draws": 3}), out=tmp_path / "run")
    assert 0 < result.record.last["accuracy_of_draws"]["mean"] <= 1
    assert "accuracy_of_draws" not in run(small(), out=tmp_path / "plain").record.last


def test_everybody_starts_from_the_same_belief() -> None:
    setup = assemble(small())
    world = begin(setup)
    assert (world.rows.mean == world.rows.mean[0]).all()
    assert torch.equal(world.rows.mean[0], setup.network.initial())
    zeros = begin(assemble(small(learn={"init": "zeros"})))
    assert (zeros.rows.mean == 0).all()


def test_a_rule_without_local_beliefs_pays_for_none() -> None:
    assert len(begin(assemble(small(rule={"name": "bayp2pfl"}))).rows.steps) == 6
    assert len(begin(assemble(small())).rows.steps) == 12


def test_undefended_under_huge_noise_is_ruined_but_defined(tmp_path: Path) -> None:
    attack = {"name": "gaussian", "mode": "absolute", "scale": 1e20, "malicious": 0.34}
    result = run(small(rule={"name": "bayp2pfl"}, attack=attack), out=tmp_path / "bay")
    assert result.beliefs.mean.isfinite().all()
    assert result.accuracy < 0.2
    kept = run(small(attack=attack), out=tmp_path / "surefed")
    assert kept.accuracy > 0.3
    assert kept.record.last["trusted"]["malicious"] == 0.0


def test_final_beliefs_are_in_the_checkpoint(tmp_path: Path) -> None:
    result = run(small(), out=tmp_path / "run")
    saved = load_file(tmp_path / "run" / "checkpoint.safetensors")
    assert torch.equal(saved["mean"][:6], result.beliefs.mean)
    final = json.loads((tmp_path / "run" / "result.json").read_text())
    assert final["rounds"] == 12
    assert final["final"] == result.record.last


def test_isolated_clients_learn_alone(tmp_path: Path) -> None:
    alone = nx.empty_graph(6)
    one = run(small(rule={"name": "bayp2pfl"}), graph=alone, out=tmp_path / "one")
    other = run(small(rule={"name": "local_only"}), graph=alone, out=tmp_path / "other")
    assert torch.allclose(one.beliefs.mean, other.beliefs.mean, atol=1e-5)
    assert one.record.last["trusted"]["honest"] is None


def test_federation_type_is_what_users_get() -> None:
    assert isinstance(cut(DATASETS["digits"](), 3), Federation)


def identity(**given: object) -> str:
    return assemble(small(), **given).identity  # type: ignore[arg-type]


def test_identity_knows_what_a_model_computes() -> None:
    def net(act: nn.Module) -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), act, nn.Linear(8, 10))

    assert identity(model=net(nn.Tanh())) == identity(model=net(nn.Tanh()))
    assert identity(model=net(nn.Tanh())) != identity(model=net(nn.ReLU()))

    class Wave(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sin()

    first = identity(model=net(Wave()))

    class Wave(nn.Module):  # type: ignore[no-redef]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.cos()

    assert first != identity(model=net(Wave()))


class Switching:
    """A graph that changes after its first round."""

    def __init__(self, later: str) -> None:
        self.later, self.clients = later, 6

    def edges(self, round: int) -> torch.Tensor:
        return torch.ones(6, 6, dtype=torch.bool) if round == 0 else torch.eye(6, dtype=torch.bool)

    def fingerprint(self) -> str:
        return self.later


def test_identity_knows_graphs_that_change_and_large_seeds() -> None:
    assert identity(graph=Switching("a")) != identity(graph=Switching("b"))
    seeds = [assemble(small(seed=seed), data=cut(DATASETS["digits"](), 6)).identity for seed in (2**53, 2**53 + 1)]
    assert seeds[0] != seeds[1]


def test_random_graphs_follow_the_experiments_seed() -> None:
    made = [assemble(small(seed=seed, graph={"name": "networkx:gnp_random_graph", "p": 0.5})) for seed in (1, 1, 2)]
    edges = [setup.graph.edges(0) for setup in made]
    assert torch.equal(edges[0], edges[1])
    assert not torch.equal(edges[0], edges[2])
    assert made[0].identity == made[1].identity


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    given = small(
        rule={"name": "surefed", "kappa": np.float64(4), "heading": "off", "std_floor": 0.0, "std_ceiling": 0.0},
        rounds=np.int64(12),
    )
    run(given, out=tmp_path / "one")
    run(small(), out=tmp_path / "other")
    assert files(tmp_path / "one") == files(tmp_path / "other")


def test_a_finite_lie_about_rho_does_not_ruin_learning() -> None:
    from surefed.attacks import Attack
    from surefed.sim.engine import play_round

    for rule in ("fedavg", "bayp2pfl", "surefed"):
        setup = assemble(small(rule={"name": rule}, learn={"kind": "variational", "batches": 2}))
        for lie in (-1000.0, 1000.0):
            tell = Attack(
                tamper=lambda scene, rng, lie=lie: Belief(scene.own.mean, torch.full_like(scene.own.rho, lie))
            )
            world, liars = begin(setup), dataclasses.replace(setup, attack=tell)
            for _ in range(4):
                play_round(liars, world)
            assert world.rows.mean.isfinite().all(), (rule, lie)
            assert world.rows.rho.isfinite().all(), (rule, lie)


def test_an_attack_lasts_from_start_to_stop(tmp_path: Path) -> None:
    attack = {"name": "gaussian", "mode": "absolute", "scale": 1e3, "malicious": 0.34, "start": 4, "stop": 8}
    result = run(small(attack=attack, evaluate={"every": 1}), out=tmp_path / "run")
    shares = [line["trusted"]["malicious"] for line in result.record.rounds]
    assert shares[:4] == [1.0] * 4
    assert shares[4:8] == [0.0] * 4
    flips = assemble(small(attack={"name": "label_flip", "malicious": 0.34, "start": 4, "stop": 8}))
    assert [torch.equal(flips.seen(round)[1], flips.clean.labels) for round in (3, 4, 7, 8)] == [
        True,
        False,
        False,
        True,
    ]


def test_liars_see_what_their_threat_model_allows() -> None:
    from surefed.attacks import Attack, Scene
    from surefed.sim.engine import play_round

    for knowledge in ("omniscient", "own_data"):
        setup = assemble(small(attack={"name": "gaussian", "malicious": 0.34, "knowledge": knowledge}))
        scenes: list[Scene] = []

        def spy(scene: Scene, rng: object, scenes: list[Scene] = scenes) -> Belief:
            scenes.append(scene)
            return scene.own

        world = begin(setup)
        for _ in range(2):
            play_round(dataclasses.replace(setup, attack=Attack(tamper=spy)), world)
        sees_all = knowledge == "omniscient"
        assert len(scenes[1].seen) == (4 if sees_all else 2)
        assert (scenes[1].honest_local is not None) == sees_all
        assert (scenes[1].trusted is not None) == sees_all
        assert scenes[0].trusted is None
        if not sees_all:
            assert torch.equal(scenes[1].seen.mean, scenes[1].own.mean)


def test_the_best_and_the_worst_clients_can_be_the_malicious_ones() -> None:
    def chosen(which: str) -> torch.Tensor:
        attack = {"name": "label_flip", "malicious": 0.34, "which": which, "probe_rounds": 20}
        return assemble(small(attack=attack), data=uneven()).malicious

    assert chosen("worst").nonzero().flatten().tolist() == [1, 4]  # the ones with few samples
    assert not (chosen("best") & chosen("worst")).any()
    assert chosen("best").sum() == 2


def uneven() -> Federation:
    """Clients 1 and 4 have eight samples, all of one class."""
    digits = DATASETS["digits"]()
    zeros = np.flatnonzero(digits.labels == 0)
    parts = [zeros[:8] if at in (1, 4) else np.arange(200 * at, 200 * at + 200) for at in range(6)]
    return federation([(digits.inputs[part], digits.labels[part]) for part in parts], (digits.inputs, digits.labels))


def test_a_rule_may_keep_what_it_saw(tmp_path: Path) -> None:
    """A state that is a view of the beliefs is copied: it neither changes by itself nor breaks a checkpoint."""
    from typing import NamedTuple

    from surefed.core import pool
    from surefed.rules import Inspection, Outcome, Receivers, Rule
    from surefed.sim import checkpoint
    from surefed.sim.engine import play_round

    class Memory(NamedTuple):
        before: torch.Tensor

    def judge(at: Receivers, sent: Belief, edges: torch.Tensor, state: Memory) -> Outcome[Memory]:
        return Outcome(pool(sent, edges, at.social), Memory(at.social.mean), Inspection(edges))

    rule = Rule(lambda *_: Memory(torch.zeros(6, 650)), judge)
    setup = dataclasses.replace(assemble(small(rule={"name": "bayp2pfl"})), rule=rule)
    world = begin(setup)
    play_round(setup, world)
    kept = world.state.before.clone()
    learn(setup, world)
    assert torch.equal(world.state.before, kept)
    checkpoint.save(tmp_path / "c.safetensors", setup, world)
    assert torch.equal(checkpoint.load(tmp_path / "c.safetensors", setup).state.before, kept)


def test_a_first_layer_that_writes_in_place_leaves_the_data_alone(tmp_path: Path) -> None:
    data = cut(DATASETS["digits"](), 6, seed=0)
    before = data.fingerprint()
    net = nn.Sequential(nn.LeakyReLU(-1.0, inplace=True), nn.Flatten(), nn.Linear(64, 10))
    run(small(rounds=2), data=data, model=net, out=tmp_path / "run")
    assert data.fingerprint() == before


def test_given_things_of_the_wrong_kind(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"surefed.federation"):
        run(small(), data=[(1, 2)], out=tmp_path / "run")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"must be a torch.nn.Module, not a function"):
        run(small(), model=lambda x: x, out=tmp_path / "run")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="networkx graph, not int"):
        run(small(), graph=3, out=tmp_path / "run")  # type: ignore[arg-type]
