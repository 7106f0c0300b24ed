"""The command `surefed`: parse, call, print."""

from __future__ import annotations

import sys

from surefed.cli import bench, compare, dashboard, data, describe, network, paper, report, sweep, theory
from surefed.cli.commands import app
from surefed.cli.console import err
from surefed.core import Interrupted, SureFEDError

__all__ = [
    "app",
    "bench",
    "compare",
    "dashboard",
    "data",
    "describe",
    "main",
    "network",
    "paper",
    "report",
    "sweep",
    "theory",
]


def main() -> None:
    """Run the command; every failure a person can put right ends with its own exit code (see `surefed --help`)."""
    try:
        app(prog_name="surefed")
    except SureFEDError as error:
        kind = "stopped" if isinstance(error, Interrupted) else "error"
        err.print(f"surefed: {kind}: {error}", style="red", soft_wrap=True, highlight=False, markup=False)
        sys.exit(error.exit_code)
