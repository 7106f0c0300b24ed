"""Cells that learn the same local beliefs are handed to one process, and leave what they would have left alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surefed
from surefed.core import ConfigError, Interrupted
from surefed.sim.engine import play_round
from surefed.sweep import Board, CellsFailed, read_sweep, run_sweep
from surefed.sweep.events import Event, order
from surefed.sweep.worker import play

from .conftest import Inline, Write
from .test_drive import status
from .test_folder import rows
from .test_processes import LONG, workers

LIES = 'attack.malicious = 0.5\nattack.name = ["none", "sign_flip", "alie", "label_flip"]\n'
KIN = ["none", "sign_flip", "alie"]


def lines(folder: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in folder.glob("*/rounds.jsonl")}


@pytest.fixture
def alone(write: Write, tmp_path: Path, inline: Callable[..., Inline]) -> dict[str, bytes]:
    """What the cells leave one by one."""
    inline()
    run_sweep(read_sweep(write(LIES)), tmp_path / "alone")
    return lines(tmp_path / "alone")


def test_cells_that_may_share_are_bundled_and_leave_the_same(
    write: Write, tmp_path: Path, inline: Callable[..., Inline], alone: dict[str, bytes]
) -> None:
    backend, out = inline(), tmp_path / "out"
    assert run_sweep(read_sweep(write(LIES)), out, together=8).count() == {"finished": 4}
    assert backend.bundles == [KIN, ["label_flip"]]
    assert lines(out) == alone
    assert not list(out.glob("*/checkpoint.safetensors"))
    assert [row["status"] for row in rows(out)] == ["finished"] * 4


def test_bundles_hold_so_many_cells_of_one_seed_and_leave_work_for_free_workers(
    write: Write, tmp_path: Path, inline: Callable[..., Inline]
) -> None:
    sweep = read_sweep(write(LIES + "seed = [0, 1]\n"))

    def bundles(together: int, size: int) -> list[list[str]]:
        backend = inline({cell.name: [Event(cell.name, "failed", text="not played")] for cell in sweep.cells})
        backend.size = size
        with pytest.raises(CellsFailed):
            run_sweep(sweep, tmp_path / f"{together}-{size}", together=together)
        return backend.bundles

    pairs = bundles(2, 1)
    assert pairs[:3] == [["none-s0", "sign_flip-s0"], ["alie-s0"], ["label_flip-s0"]]
    assert all(len({name[-2:] for name in bundle}) == 1 for bundle in pairs)
    assert bundles(8, 4)[0] == ["none-s0", "sign_flip-s0"]  # eight cells, four workers
    assert [len(bundle) for bundle in bundles(8, 2)][:2] == [3, 1]  # never more than a worker's part of what is left
    assert all(len(bundle) == 1 for bundle in bundles(8, 8) + bundles(1, 1))


def test_a_cell_that_fails_leaves_its_bundle_going(
    write: Write, tmp_path: Path, inline: Callable[..., Inline], alone: dict[str, bytes]
) -> None:
    inline()
    out = tmp_path / "out"
    (out / "none").mkdir(parents=True)
    (out / "none" / "thesis.txt").write_text("precious")
    with pytest.raises(CellsFailed, match=r"1 of 4 cells failed(.|\n)*none: .*something else than a run"):
        run_sweep(read_sweep(write(LIES)), out, together=8)
    assert status(out) == ["failed", "finished", "finished", "finished"]
    assert lines(out) == {name: said for name, said in alone.items() if name != "none"}


def test_what_fails_in_an_unforeseen_way_has_its_bundle_saved_and_tried_again_one_by_one(
    write: Write,
    tmp_path: Path,
    inline: Callable[..., Inline],
    alone: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fragile(setup: Any, world: Any, *, detail: bool) -> Any:
        if setup.experiment.attack.name == "sign_flip" and world.round == 2:
            raise ZeroDivisionError("somebody's own rule")
        return play_round(setup, world, detail=detail)

    monkeypatch.setattr("surefed.sim.play.play_round", fragile)
    backend, out, said = inline(), tmp_path / "out", []
    with pytest.raises(CellsFailed, match=r"1 of 4 cells failed(.|\n)*sign_flip: ZeroDivisionError"):
        run_sweep(read_sweep(write(LIES)), out, together=8, watch=lambda board, text: said.append(text or ""))
    assert backend.bundles[0] == KIN
    assert sorted(backend.bundles[1:]) == [["alie"], ["label_flip"], ["none"], ["sign_flip"]]  # it may fit by itself
    assert sum("a cell that it ran together with failed; it is tried again" in text for text in said) == 2
    assert {name: said for name, said in lines(out).items() if name != "sign_flip"} == {
        name: said for name, said in alone.items() if name != "sign_flip"
    }


def test_a_cell_whose_process_died_is_tried_again_by_itself(
    write: Write, tmp_path: Path, inline: Callable[..., Inline], alone: dict[str, bytes]
) -> None:
    backend = inline({name: [Event(name, "died", text="killed")] for name in KIN[1:]})
    run_sweep(read_sweep(write(LIES)), tmp_path / "out", together=8)
    assert backend.bundles[0] == KIN
    assert sorted(backend.bundles[1:]) == [["alie"], ["label_flip"], ["sign_flip"]]
    assert lines(tmp_path / "out") == alone


def test_a_worker_that_is_told_to_stop_saves_every_cell(write: Write, tmp_path: Path) -> None:
    cells = read_sweep(write(LIES, small=LONG)).cells[:3]
    told: list[dict[str, Any]] = []
    orders = [order(cell, tmp_path / cell.name, "cpu", False) for cell in cells]
    assert not play(orders, told.append, lambda: True)
    assert [message["cell"] for message in told if message["kind"] == "interrupted"] == KIN
    assert all((tmp_path / name / "checkpoint.safetensors").exists() for name in KIN)
    for cell in cells:
        assert surefed.run(cell.experiment, out=tmp_path / cell.name, resume=True).record.finished


def test_a_killed_worker_loses_nothing_of_its_bundle(write: Write, tmp_path: Path) -> None:
    sweep, out = read_sweep(write(LIES, small=LONG)), tmp_path / "out"
    killed: list[int] = []

    def watch(board: Board, text: str | None) -> None:
        if not killed and board.round.get("alie", 0) >= 20:
            (worker,) = workers(os.getpid())
            killed.append(worker.pid)
            worker.send_signal(signal.SIGKILL)

    run_sweep(sweep, out, workers=1, together=4, watch=watch)
    assert killed
    assert status(out) == ["finished"] * 4
    for cell in sweep.cells:
        whole = surefed.run(cell.experiment, out=tmp_path / "alone" / cell.name)
        assert (out / cell.name / "rounds.jsonl").read_bytes() == (whole.folder / "rounds.jsonl").read_bytes()
    assert not workers(os.getpid())


def test_a_sweep_that_is_stopped_saves_the_bundles_under_way(write: Write, tmp_path: Path) -> None:
    sweep, out = read_sweep(write(LIES, small=LONG), settings=["rounds=100000"]), tmp_path / "out"
    asked: list[int] = []

    def watch(board: Board, text: str | None) -> None:
        if not asked and board.round.get("alie", 0) >= 20:
            asked.append(board.round["alie"])
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match="0 of 4 cells are finished, 3 saved on their way"):
        run_sweep(sweep, out, workers=1, together=4, watch=watch)
    assert status(out) == ["interrupted"] * 3 + ["waiting"]
    assert len({row["round"] for row in rows(out)[:3]}) == 1
    assert all((out / name / "checkpoint.safetensors").exists() for name in KIN)
    assert not workers(os.getpid())


@pytest.mark.parametrize(
    ("given", "message"),
    [({"together": 0}, "--together is at least 1, not 0"), ({"together": 2, "ray": "local"}, "with --ray every cell")],
)
def test_bad_options_are_named(write: Write, tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run_sweep(read_sweep(write(LIES)), tmp_path / "out", **given)


def test_on_a_gpu_any_cells_are_bundled_but_not_those_whose_process_died(
    write: Write, tmp_path: Path, inline: Callable[..., Inline]
) -> None:
    sweep = read_sweep(write(LIES))
    died = {"none": [Event("none", "died", text="gone")]}
    backend = inline({**{cell.name: [Event(cell.name, "failed", text="not played")] for cell in sweep.cells}, **died})
    with pytest.raises(CellsFailed):
        run_sweep(sweep, tmp_path / "out", device="cuda", together=3)
    assert backend.bundles == [["none", "sign_flip", "alie"], ["none"], ["label_flip"]]
