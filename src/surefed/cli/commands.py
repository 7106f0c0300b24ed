"""The commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from surefed.attacks import ATTACKS
from surefed.cli import console
from surefed.cli.console import Format
from surefed.core import ConfigError, RecordError
from surefed.core.registry import Factory, claim, nearest, options
from surefed.data import DATASETS, PARTITIONS
from surefed.graphs import GRAPHS
from surefed.models import MODELS
from surefed.records import write_text
from surefed.report import find, plot, summary
from surefed.rules import RULES
from surefed.sim import Experiment, run, toml
from surefed.sim.setup import resolve

EXIT_CODES = """\
Exit codes: 0 done; 1 a bug of ours; 2 the command or the experiment is not well formed; 3 data, model or graph do not
fit together; 4 the folder or checkpoint belongs to another experiment or is damaged; 5 the disk is full or refuses to
be written; 130 / 143 stopped by Ctrl-C / SIGTERM, after saving a checkpoint.
"""

app = typer.Typer(
    name="surefed",
    help="Peer-to-peer federated learning that stays right when most of the network is hostile.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

REGISTRIES: dict[str, dict[str, Factory]] = {
    "rules": RULES,
    "attacks": ATTACKS,
    "models": MODELS,
    "datasets": DATASETS,
    "partitions": PARTITIONS,
    "graphs": GRAPHS,
}
DEMO = Path(__file__).with_name("demo.toml")
DEMO_RULES = ("surefed", "bayp2pfl", "local_only")

FormatOption = Annotated[Format, typer.Option("--format", help="text for people, json for programs.")]
DeviceOption = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on from the folder's checkpoint.")]


@app.command("run")
def run_command(
    file: Annotated[Path | None, typer.Argument(help="An experiment file; see `surefed init`.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value, e.g. rule.kappa=4.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: one below runs/.")] = None,
    resume: ResumeOption = False,
    device: DeviceOption = "cpu",
    format: FormatOption = Format.text,
) -> None:
    """Run an experiment and record it. With --resume --out DIR and no file, DIR's own experiment goes on."""
    sys.path.insert(0, os.getcwd())  # so that a model given as module:attribute is found where the user stands
    if file is None and resume and out is not None and (out / "experiment.toml").exists():
        file = out / "experiment.toml"
    experiment = Experiment.of({}).change(settings or []) if file is None else Experiment.read(file, settings or [])
    with console.progress(quiet=format is Format.json) as bars:
        watch = bars(experiment.rule.name, experiment.rounds)
        result = run(experiment, out=out, resume=resume, device=device, watch=watch)
    figure = plot(result.record, result.folder / "figure.png")
    if format is Format.json:
        console.print_json(summary(result.record) | {"figure": str(figure)})
        return
    console.print_runs([result.record])
    console.out.print(f"record: {result.folder}\nfigure: {figure}", soft_wrap=True, highlight=False)


@app.command()
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder of the three records; default: a new one below runs/.")
    ] = None,
    resume: ResumeOption = False,
    device: DeviceOption = "cpu",
    format: FormatOption = Format.text,
) -> None:
    """Watch a federation be poisoned and recover: SureFED, no defence and learning alone, side by side."""
    base = Experiment.read(DEMO)
    folder = out if out is not None else _unused(Path("runs") / "demo")
    records = []
    with console.progress(quiet=format is Format.json) as bars:
        for name in DEMO_RULES:
            experiment = base.change([f"rule.name={name}"])
            watch = bars(name, experiment.rounds)
            records.append(run(experiment, out=folder / name, resume=resume, device=device, watch=watch).record)
    figure = plot(records, folder / "figure.png")
    if format is Format.json:
        console.print_json({"runs": [summary(record) for record in records], "figure": str(figure)})
        return
    console.print_runs(records)
    console.out.print(f"records: {folder}\nfigure:  {figure}", soft_wrap=True, highlight=False)


@app.command("list")
def list_command(
    kind: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(REGISTRIES)}.")] = None,
    format: FormatOption = Format.text,
) -> None:
    """What can be named in an experiment, with a line on each."""
    if kind is not None and kind not in REGISTRIES:
        raise ConfigError(f"there is nothing called {kind!r} to list; {nearest(kind, REGISTRIES)}")
    chosen = REGISTRIES if kind is None else {kind: REGISTRIES[kind]}
    if format is Format.json:
        console.print_json(
            {
                group: {
                    name: {"claim": claim(factory), "options": {o: at.default for o, at in options(factory).items()}}
                    for name, factory in known.items()
                }
                for group, known in chosen.items()
            }
        )
        return
    for group, known in chosen.items():
        console.out.print(group, style="bold")
        for name, factory in known.items():
            console.out.print(f"  {name:<12} {claim(factory)}", highlight=False, markup=False, soft_wrap=True)
            settable = ", ".join(f"{option} = {toml.value(at.default)}" for option, at in options(factory).items())
            if settable:
                console.out.print(f"  {'':<12} {settable}", style="dim", highlight=False, markup=False, soft_wrap=True)


@app.command()
def show(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold them.")],
    figure: Annotated[Path | None, typer.Option(help="Also draw them into this file (.png, .svg, .pdf).")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Compare records, finished or still running."""
    records = find(runs)
    if figure is not None:
        plot(records, figure)
    if format is Format.json:
        console.print_json([summary(record) | {"rounds_evaluated": record.rounds} for record in records])
        return
    console.print_runs(records)
    for record in records:
        console.out.print(f"{record.experiment['rule']['name']}: {record.path}", soft_wrap=True, highlight=False)
    if figure is not None:
        console.out.print(f"figure: {figure}", soft_wrap=True, highlight=False)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("experiment.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write an experiment file with every value explained, ready to be edited."""
    if file.exists() and not force:
        raise RecordError(f"{file} exists; choose another name, or replace it with --force")
    experiment = Experiment.of({"name": "my experiment", "attack": {"name": "label_flip"}})
    write_text(file, toml.write(resolve(experiment, RULES[experiment.rule.name]()), comments=True))
    console.out.print(f"wrote {file}; run it with: surefed run {file}", soft_wrap=True, highlight=False)


def _unused(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, ... that does not exist."""
    taken, number = folder, 1
    while taken.exists():
        number += 1
        taken = folder.with_name(f"{folder.name}-{number}")
    return taken
