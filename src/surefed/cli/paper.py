"""`surefed paper`: the paper's evaluation, from the committed grids."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import surefed
from surefed.cli.commands import DeviceOption, app
from surefed.cli.console import Format
from surefed.cli.sweep import (
    DryOption,
    RayOption,
    RetryOption,
    ShareOption,
    TogetherOption,
    UntilOption,
    WorkersOption,
    foresee,
    progress,
    show,
)
from surefed.cli.theory import USUAL, all_command
from surefed.core import ConfigError
from surefed.core.registry import nearest
from surefed.records import write_text
from surefed.report.names import SWEEPS
from surefed.sweep import CellsFailed, read_sweep, run_sweep
from surefed.sweep.drive import default_size

GRIDS = SWEEPS
THEORY = "theory"
FEW = {"repetitions": 20, "rounds": 300}
QUICK_PAGE = f"# quick: the theorems, with {FEW['repetitions']} repetitions of {FEW['rounds']} rounds\n"


@app.command()
def paper(
    part: Annotated[str, typer.Argument(help=f"One of: {', '.join(GRIDS)}, {THEORY}, all.")] = "all",
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer clients and rounds: 15 minutes on 2 cores; labelled so everywhere.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of the parts.")] = Path("runs/paper"),
    workers: WorkersOption = None,
    ray: RayOption = None,
    gpu_share: ShareOption = None,
    together: TogetherOption = 1,
    device: DeviceOption = "cpu",
    until: UntilOption = None,
    retry_failed: RetryOption = False,
    dry_run: DryOption = False,
) -> None:
    """Run the paper's evaluation, or a part of it, from the grids in configs/paper.

    Stopped or killed? The same command goes on where it was.
    """
    known = (*GRIDS, THEORY, "all")
    if part not in known:
        raise ConfigError(f"the paper has no part {part!r}; {nearest(part, known)}")
    files = {name: _grids() / f"{name}.toml" for name in GRIDS if part in (name, "all")}
    sweeps = {name: read_sweep(file, quick=quick) for name, file in files.items()}
    failed, begun = [], time.monotonic()
    for name, sweep in sweeps.items():
        place = out / sweep.folder_name
        if dry_run:
            size = workers or default_size(sweep, device, gpu_share)
            foresee(sweep, place, device, size, Format.text, together=together)
            continue
        given: dict[str, Any] = {"device": device, "workers": workers, "ray": ray, "gpu_share": gpu_share}
        given["together"] = together
        left = None if until is None else max(0.0, until - (time.monotonic() - begun))
        try:
            with progress() as watch:
                board = run_sweep(sweep, place, **given, retry_failed=retry_failed, until=left, watch=watch)
            show(board, Format.text)
        except CellsFailed as error:
            failed.append(f"{name}: {error}")
    if part in (THEORY, "all") and not dry_run:
        _theory(out, quick)
    if failed:
        raise CellsFailed("\n".join(failed))


def _theory(out: Path, quick: bool) -> None:
    """The theorems, put to the test."""
    folder = out / (f"{THEORY}-quick" if quick else THEORY)
    page = folder / "theory.md"
    if quick and not page.exists():
        write_text(page, QUICK_PAGE)
    few = FEW if quick else {"repetitions": USUAL.repetitions, "rounds": USUAL.rounds}
    all_command(**few, seed=USUAL.seed, out=folder, format=Format.text)


def _grids() -> Path:
    """Where the committed grids are: in the folder one stands in, or in the checkout that the package is run from."""
    here = Path("configs") / "paper"
    checkout = Path(surefed.__file__).resolve().parents[2] / here
    for place in (here, checkout):
        if place.is_dir():
            return place
    raise ConfigError("the paper's grids are in configs/paper of a checkout of SureFED; run this command there")
