from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import surefed
from surefed.core import ConfigError, Interrupted
from surefed.sweep import Board, CellsFailed, read_sweep, run_sweep
from surefed.sweep.drive import default_size
from surefed.sweep.events import Event

from .conftest import Inline, Write
from .test_folder import rows

SEEDS = "seed = [0, 1, 2]\n"


def status(folder: Path) -> list[str]:
    return [row["status"] for row in rows(folder)]


def test_finished_cells_are_skipped(write: Write, tmp_path: Path, inline: Callable[..., Inline]) -> None:
    sweep, out = read_sweep(write(SEEDS)), tmp_path / "out"
    first = inline()
    run_sweep(sweep, out)
    before = (out / "s1" / "result.json").stat().st_mtime_ns
    again = inline()
    assert run_sweep(sweep, out).count() == {"finished": 3}
    assert (first.started, again.started) == (["s0", "s1", "s2"], [])
    assert (out / "s1" / "result.json").stat().st_mtime_ns == before
    assert first.closed


def test_only_the_cells_that_are_asked_for_are_run(write: Write, tmp_path: Path, inline: Callable[..., Inline]) -> None:
    sweep, out = read_sweep(write(SEEDS)), tmp_path / "out"
    first = inline()
    board = run_sweep(sweep, out, only=["s1"])
    assert (first.started, board.summary()) == (["s1"], "1 of 1 cells finished")
    assert status(out) == ["waiting", "finished", "waiting"]
    second = inline({"s2": [Event("s2", "failed", text="no room")]})
    with pytest.raises(CellsFailed):
        run_sweep(sweep, out, only=["s[12]"])
    assert second.started == ["s2"]
    rest = inline()
    run_sweep(sweep, out, only=["s0", "s1"], retry_failed=True)
    assert rest.started == ["s0"]
    assert status(out) == ["finished", "finished", "failed"]
    with pytest.raises(ConfigError, match=r"no cell is called 's7'; cells are called s0, s1, s2, \.\.\. \(--dry-run"):
        run_sweep(sweep, out, only=["s1", "s7"])


def test_the_table_is_written_after_every_cell(write: Write, tmp_path: Path, inline: Callable[..., Inline]) -> None:
    inline()
    seen = []

    def watch(board: Board, said: str | None) -> None:
        if said is not None:
            seen.append((said.partition(";")[0].partition(" in ")[0], status(tmp_path / "out")))

    run_sweep(read_sweep(write("seed = [0, 1]\n")), tmp_path / "out", watch=watch)
    assert seen == [
        ("s0: started", ["running", "waiting"]),
        ("s0: finished", ["finished", "waiting"]),
        ("s1: started", ["finished", "running"]),
        ("s1: finished", ["finished", "finished"]),
    ]


def test_a_failed_cell_is_kept_with_its_error_and_retried_on_request(
    write: Write, tmp_path: Path, inline: Callable[..., Inline]
) -> None:
    sweep, out = read_sweep(write(SEEDS)), tmp_path / "out"
    inline({name: [Event(name, "failed", text="Traceback ...\nno room")] for name in ("s0", "s1")})
    with pytest.raises(CellsFailed, match=r"2 of 3 cells failed; .*--retry-failed tries again\ns0, s1: no room") as end:
        run_sweep(sweep, out)
    assert end.value.exit_code == 7
    assert (out / "errors" / "s0.txt").read_text() == "Traceback ...\nno room\n"
    assert [(row["status"], row["error"]) for row in rows(out)] == [
        ("failed", "no room"), ("failed", "no room"), ("finished", ""),
    ]  # fmt: skip
    untouched = inline()
    with pytest.raises(CellsFailed):
        run_sweep(sweep, out)
    assert untouched.started == []
    again = inline()
    run_sweep(sweep, out, retry_failed=True)
    assert again.started == ["s0", "s1"]
    assert status(out) == ["finished"] * 3
    assert not list((out / "errors").iterdir())


def test_errors_of_data_are_the_cells_own(write: Write, tmp_path: Path, inline: Callable[..., Inline]) -> None:
    inline()
    text = "data.clients = [4, 1400]\n"  # of 1400 clients each would have one digit, and a batch is five
    with pytest.raises(CellsFailed, match=r"1 of 2 cells failed(.|\n)*clients=1400: client"):
        run_sweep(read_sweep(write(text, small='rounds = 2\nmodel.name = "linear"\n')), tmp_path / "out")
    assert status(tmp_path / "out") == ["finished", "failed"]


def test_a_cell_whose_process_dies_is_tried_three_times(
    write: Write, tmp_path: Path, inline: Callable[..., Inline]
) -> None:
    death = Event("s0", "died", text="its process was killed by SIGKILL")
    backend, said = inline({"s0": [death, death]}), []
    run_sweep(read_sweep(write(SEEDS)), tmp_path / "out", watch=lambda board, text: said.append(text))
    assert backend.started == ["s0", "s0", "s0", "s1", "s2"]
    assert sum("killed by SIGKILL; it is tried again" in (text or "") for text in said) == 2
    backend = inline({"s0": [death, death, death]})
    with pytest.raises(CellsFailed, match="s0: it died 3 times; is there enough memory"):
        run_sweep(read_sweep(write(SEEDS)), tmp_path / "other")
    assert backend.started == ["s0", "s0", "s0", "s1", "s2"]
    assert "killed by SIGKILL" in (tmp_path / "other" / "errors" / "s0.txt").read_text()


def test_when_the_time_is_up_nothing_more_is_started(
    write: Write, tmp_path: Path, inline: Callable[..., Inline]
) -> None:
    backend = inline()
    with pytest.raises(Interrupted, match="because the time is up: 0 of 3 cells are finished") as end:
        run_sweep(read_sweep(write(SEEDS)), tmp_path / "out", until=0)
    assert (end.value.exit_code, backend.started) == (124, [])
    assert status(tmp_path / "out") == ["waiting"] * 3


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_it_and_the_same_call_goes_on(
    write: Write, tmp_path: Path, inline: Callable[..., Inline], number: signal.Signals, code: int
) -> None:
    sweep, out = read_sweep(write(SEEDS)), tmp_path / "out"
    inline()

    def watch(board: Board, said: str | None) -> None:
        if said is not None and said.startswith("s0: finished"):
            os.kill(os.getpid(), number)

    with pytest.raises(Interrupted, match=r"1 of 3 cells are finished.*the same command goes on") as end:
        run_sweep(sweep, out, watch=watch)
    assert end.value.exit_code == code
    assert status(out) == ["finished", "waiting", "waiting"]
    again = inline()
    run_sweep(sweep, out)
    assert again.started == ["s1", "s2"]


def test_a_cell_that_was_begun_goes_on_where_it_was(
    write: Write, tmp_path: Path, inline: Callable[..., Inline]
) -> None:
    sweep, out = read_sweep(write("seed = [0]\n"), settings=["checkpoint_every=2"]), tmp_path / "out"
    short = surefed.run(sweep.cells[0].experiment, out=tmp_path / "whole")

    def stop(round: int, figures: object) -> None:
        if round == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        surefed.run(sweep.cells[0].experiment, out=out / "s0", watch=stop)
    inline()
    seen = []
    run_sweep(sweep, out, watch=lambda board, said: seen.append(dict(board.round)))
    assert seen[0] == {"s0": 3} or seen[0] == {"s0": 2}  # the record had it before anything was run
    assert (out / "s0" / "rounds.jsonl").read_bytes() == (short.folder / "rounds.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [({"workers": 0}, "--workers is at least 1"), ({"gpu_share": 1.5}, "--gpu-share is a share of one GPU")],
)
def test_bad_options_are_named(write: Write, tmp_path: Path, given: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run_sweep(read_sweep(write(SEEDS)), tmp_path / "out", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_as_many_cells_at_a_time_as_there_is_room(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = read_sweep(write("seed = [0, 1, 2, 3, 4, 5, 6, 7]\n"))
    monkeypatch.setattr("surefed.sweep.drive.cores", lambda: 3)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert default_size(sweep, "cpu", None) == 3
    assert default_size(sweep, "cuda", None) == 2
    assert default_size(sweep, "cuda", 0.3) == 6
    assert default_size(sweep, "cuda:1", 0.5) == 2
    assert default_size(sweep, "cuda", 0.1) == 8  # there are no more cells
