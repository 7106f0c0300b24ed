"""`python -m surefed.sweep`: the same as `surefed sweep`, on machines that lack what the command needs to print."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from surefed.core import Interrupted, SureFEDError
from surefed.sweep.board import Board
from surefed.sweep.drive import default_size, run_sweep
from surefed.sweep.estimate import estimate
from surefed.sweep.grid import read_sweep

PAUSE = 60.0
"""Seconds of silence after which a line says how far everything is."""


def options(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line, parsed."""
    parser = argparse.ArgumentParser("python -m surefed.sweep", description="Run every cell of a sweep file.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, help="folder of the sweep; default: runs/ and its name")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--quick", action="store_true", help="the small version, as the file's [quick] says")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--ray", metavar="ADDRESS")
    parser.add_argument("--gpu-share", type=float)
    parser.add_argument("--until", type=float, metavar="SECONDS", help="then save and stop")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="cells so called, e.g. a-*-s0")
    parser.add_argument("--together", type=int, default=1, metavar="N", help="cells to a process")
    parser.add_argument("--retry-failed", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    return parser.parse_args(words)


class Lines:
    """Plain lines on standard error: what happens and, in between, how far everything is."""

    def __init__(self) -> None:
        self.spoke = time.monotonic()

    def __call__(self, board: Board, said: str | None) -> None:
        """Print what was said, or break a long silence."""
        if said is None and time.monotonic() - self.spoke < PAUSE:
            return
        rounds = ", ".join(f"{name} at round {board.round.get(name, 0)}" for name in board.named("running"))
        print(said or f"{board.summary()}; {rounds}", file=sys.stderr, flush=True)
        self.spoke = time.monotonic()


def main(words: Sequence[str] | None = None) -> int:
    """Run it; the exit code is that of `surefed sweep`."""
    given = options(words)
    sys.path.insert(0, os.getcwd())
    try:
        sweep = read_sweep(given.file, quick=given.quick, settings=given.settings)
        out = given.out or Path("runs") / sweep.folder_name
        if given.dry_run:
            size = given.workers or default_size(sweep, given.device, given.gpu_share)
            board, cost = estimate(sweep, out, device=given.device, size=size, only=given.only, together=given.together)
            print("\n".join([f"{name}: {board.status[name]}" for name in board.status] + [cost]))
            return 0
        board = run_sweep(
            sweep,
            out,
            device=given.device,
            workers=given.workers,
            ray=given.ray,
            gpu_share=given.gpu_share,
            retry_failed=given.retry_failed,
            until=given.until,
            only=given.only,
            together=given.together,
            watch=Lines(),
        )
    except SureFEDError as error:
        kind = "stopped" if isinstance(error, Interrupted) else "error"
        print(f"surefed: {kind}: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{board.summary()}\ntable: {out / 'cells.csv'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
