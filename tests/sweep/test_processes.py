"""The real thing: processes that are killed, and a driver that is killed. Each starts Python a few times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

import surefed
from surefed.core import Interrupted
from surefed.sweep import Board, CellsFailed, read_sweep, run_sweep
from surefed.sweep.events import order
from surefed.sweep.processes import cores

from .conftest import Write
from .test_drive import status
from .test_folder import rows

LONG = "rounds = 200\ncheckpoint_every = 20\ndata.clients = 4\nmodel.name = 'linear'\nevaluate.every = 20\n"


def workers(of: int) -> list[psutil.Process]:
    """The processes that run cells for a driver."""
    children = psutil.Process(of).children()
    return [child for child in children if "surefed.sweep.worker" in " ".join(child.cmdline())]


class Stopper:
    """Asks a sweep to stop, once, when its cell s0 has come far enough."""

    asked = False

    def __call__(self, board: Board, said: str | None) -> None:
        if not self.asked and board.round.get("s0", 0) >= 20:
            self.asked = True
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_killed_worker_is_noticed_and_its_cell_ends_as_if_nothing_had_been(write: Write, tmp_path: Path) -> None:
    sweep, out = read_sweep(write("seed = [0, 1]\n", small=LONG)), tmp_path / "out"
    killed: list[int] = []
    said: list[str] = []

    def watch(board: Board, text: str | None) -> None:
        said.append(text or "")
        if not killed and board.round.get("s0", 0) >= 20:
            (worker,) = workers(os.getpid())
            killed.append(worker.pid)
            worker.send_signal(signal.SIGKILL)

    run_sweep(sweep, out, workers=1, watch=watch)
    assert killed
    assert sum("its process was killed by SIGKILL; it is tried again" in text for text in said) == 1
    assert status(out) == ["finished", "finished"]
    whole = surefed.run(sweep.cells[0].experiment, out=tmp_path / "whole")
    assert (out / "s0" / "rounds.jsonl").read_bytes() == (whole.folder / "rounds.jsonl").read_bytes()
    assert not workers(os.getpid())


@pytest.mark.slow
def test_what_models_print_is_no_message_and_what_they_raise_is_kept(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud.py").write_text(
        "from torch import nn\n"
        "def good():\n"
        '    print(\'{"kind": "finished"}\', flush=True)\n'
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))\n"
        "def bad():\n"
        "    raise OSError('out of paper')\n"
    )
    monkeypatch.chdir(tmp_path)
    text = "data = { clients = 4 }\nrounds = 2\nmodel.name = ['loud:bad', 'loud:good']\n"
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CellsFailed, match=r"1 of 2 cells failed(.|\n)*loud_bad: .*out of paper"):
        run_sweep(read_sweep(write(text, small="")), tmp_path / "out", workers=1)
    assert status(tmp_path / "out") == ["failed", "finished"]


@pytest.mark.slow
def test_cells_that_are_told_to_stop_save_a_checkpoint(write: Write, tmp_path: Path) -> None:
    sweep, out = read_sweep(write("seed = [0]\n", small=LONG), settings=["rounds=100000"]), tmp_path / "out"
    with pytest.raises(Interrupted, match="0 of 1 cells are finished, 1 saved on their way"):
        run_sweep(sweep, out, workers=1, watch=Stopper())
    (row,) = rows(out)
    assert row["status"] == "interrupted"
    assert int(row["round"]) >= 20
    assert (out / "s0" / "checkpoint.safetensors").exists()
    assert not workers(os.getpid())


def test_a_worker_whose_cell_ends_before_it_could_stop_ends_with_it(write: Write, tmp_path: Path) -> None:
    """Whether to stop is asked every half a second at most, and these rounds take less together."""
    (cell,) = read_sweep(write("seed = [0]\n")).cells
    with subprocess.Popen(
        [sys.executable, "-m", "surefed.sweep.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        print(json.dumps([order(cell, tmp_path / "cell", "cpu", False)]), file=worker.stdin, flush=True)
        assert json.loads(worker.stdout.readline()) == {"cell": "s0", "kind": "round", "round": 1}
        worker.stdin.close()
        watchdog = threading.Timer(60, worker.kill)
        watchdog.start()
        told = [json.loads(line)["kind"] for line in worker.stdout]  # until it ends
        watchdog.cancel()
    assert told[-1] in ("finished", "interrupted")
    assert worker.returncode in (0, 1)  # not killed


@pytest.mark.slow
def test_killing_the_driver_loses_nothing_finished_and_leaves_nobody_behind(write: Write, tmp_path: Path) -> None:
    file, out = write("seed = [0, 1]\n", small=LONG), tmp_path / "out"
    settings = ["--set", "rounds=1000", "--set", "checkpoint_every=1000"]
    command = [sys.executable, "-m", "surefed.sweep", str(file), "--out", str(out), "--workers", "1", *settings]
    driver = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (out / "s1" / "rounds.jsonl").exists() or len((out / "s1" / "rounds.jsonl").read_text()) < 2000:
        time.sleep(0.01)
    left = workers(driver.pid)
    driver.kill()
    driver.wait()
    assert len(left) == 1
    assert not psutil.wait_procs(left, timeout=30)[1]
    assert (out / "s1" / "checkpoint.safetensors").exists()  # saved by the worker when its driver was gone
    before = (out / "s0" / "result.json").stat().st_mtime_ns
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "s0" not in done.stderr
    assert status(out) == ["finished"] * 2
    assert (out / "s0" / "result.json").stat().st_mtime_ns == before


@pytest.mark.slow
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(write: Write, tmp_path: Path) -> None:
    file, out = write("seed = [0, 1]\n", small=LONG), tmp_path / "out"
    words = ["--out", str(out), "--workers", "2", "--set", "rounds=100000"]
    driver = subprocess.Popen(
        [sys.executable, "-m", "surefed.sweep", str(file), *words], stderr=subprocess.PIPE, text=True
    )
    while not all((out / name / "rounds.jsonl").exists() for name in ("s0", "s1")):
        time.sleep(0.05)
    left = workers(driver.pid)
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert "stopped: because you asked for it: 0 of 2 cells are finished" in said
    assert not psutil.wait_procs(left, timeout=10)[1]
    assert status(out) == ["interrupted", "interrupted"]


def test_threads_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from surefed.sweep import processes

    assert cores() >= 1
    monkeypatch.setattr(processes, "cores", lambda: 8)
    assert processes.Processes(3, "cpu", keep_beliefs=False).threads == 2
    assert processes.Processes(16, "cpu", keep_beliefs=False).threads == 1
