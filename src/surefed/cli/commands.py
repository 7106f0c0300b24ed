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
from surefed.core import ConfigError, RecordError, StorageError
from surefed.core.registry import Factory, claim, nearest, options
from surefed.core.versions import __version__
from surefed.dashboard import beside
from surefed.data import DATASETS, PARTITIONS
from surefed.graphs import GRAPHS
from surefed.models import MODELS
from surefed.records import Recorder, write_text
from surefed.report import find, plot, summary
from surefed.rules import RULES
from surefed.rules.before import BEFORE
from surefed.sim import Experiment, run, toml
from surefed.sim.resolve import resolve

EXIT_CODES = """\
Exit codes: 0 done; 1 a bug of ours; 2 the command or the experiment is not well formed; 3 data, model or graph do not
fit together; 4 the folder or checkpoint belongs to another experiment or is damaged; 5 the disk is full or refuses to
be written; 6 a key, a certificate, a signature or a charter does not stand up to a check; 7 cells of a sweep failed;
8 a port is taken or a neighbour out of reach; 124 stopped by --until, 130 / 143 by Ctrl-C / SIGTERM, after saving a
checkpoint.
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
    "before": BEFORE,
    "partitions": PARTITIONS,
    "graphs": GRAPHS,
}
YOUR_OWN = {
    "models": "your_module:YourNet   Anything that gives an nn.Module; it is told shape and classes if it asks.",
    "graphs": "networkx:gnp_random_graph   Any function that gives a networkx graph; n and seed are the experiment's.",
}
DEMO = Path(__file__).with_name("demo.toml")
DEMO_RULES = ("surefed", "bayp2pfl", "local_only")
TEMPLATE = {"name": "experiment", "attack": {"name": "label_flip"}, "evaluate": {"every": 20}}
"""What `surefed init` writes and `surefed run` runs when it is given no file."""

FormatOption = Annotated[Format, typer.Option("--format", help="text for people, json for programs.")]
DeviceOption = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on from the folder's checkpoint.")]


def _version(asked: bool) -> None:
    if asked:
        print(f"surefed {__version__}")
        raise typer.Exit


@app.callback()
def about(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Peer-to-peer federated learning that stays right when most of the network is hostile."""


def own_modules() -> None:
    """Let a model or data given as module:attribute be found where the user stands."""
    sys.path.insert(0, os.getcwd())


@app.command("run")
def run_command(
    file: Annotated[Path | None, typer.Argument(help="An experiment file; see `surefed init`.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value, e.g. rule.kappa=4.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: one below runs/.")] = None,
    resume: ResumeOption = False,
    device: DeviceOption = "cpu",
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Show the run in a browser page meanwhile.")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Run an experiment and record it.

    Without a file: the experiment of the folder given with --out, or else the one that `surefed init` writes.
    """
    own_modules()
    begun = out is not None and Recorder(out).begun
    if resume and not begun and (file is None or out is None):
        where = f"in {out}" if out is not None else "without --out"
        raise RecordError(f"there is no run to resume {where}; `surefed run --out FOLDER --resume` names one")
    if file is None and out is not None and begun:
        file = out / "experiment.toml"
    experiment = (
        Experiment.of(TEMPLATE).change(settings or []) if file is None else Experiment.read(file, settings or [])
    )
    with beside([out or Path("runs")], console.err.print, wanted=dashboard, stay=sys.stdin.isatty()):
        with console.progress(quiet=format is Format.json) as bars:
            watch = bars(experiment.rule.name, experiment.rounds)
            result = run(experiment, out=out, resume=resume, device=device, watch=watch)
        figure = plot(result.record, result.folder / "figure.png")
        if format is Format.json:
            console.print_json(summary(result.record) | {"figure": str(figure)})
            return
        console.print_runs([result.record])
        console.say(f"record: {result.folder}\nfigure: {figure}")


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
    folder = out if out is not None else _place(Path("runs") / "demo", resume)
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
    console.say(f"records: {folder}\nfigure:  {figure}")


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
        room = max(map(len, known), default=0)
        for name, factory in known.items():
            console.say(f"  {name:<{room}} {claim(factory)}")
            settable = ", ".join(f"{option} = {_shown(at.default)}" for option, at in options(factory).items())
            if settable:
                console.say(f"  {'':<{room}} {settable}")
        if group in YOUR_OWN:
            console.say(f"  {YOUR_OWN[group]}")


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
        console.say(str(record.path))
    if figure is not None:
        console.say(f"figure: {figure}")


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("experiment.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write an experiment file with every value explained, ready to be edited."""
    if file.exists() and not force:
        raise RecordError(f"{file} exists; choose another name, or replace it with --force")
    if not file.parent.is_dir():
        raise StorageError(f"cannot write {file}: there is no folder {file.parent}")
    experiment = Experiment.of(TEMPLATE)
    write_text(file, toml.write(resolve(experiment, RULES[experiment.rule.name]()), comments=True))
    console.say(f"wrote {file}; run it with: surefed run {file}")


def _shown(default: object) -> str:
    """A default as one would write it in a file."""
    return "unset" if default is None else toml.value(default)


def _place(folder: Path, resume: bool) -> Path:
    """The first of folder, folder-2, folder-3, ... that does not exist; to resume, the last one that does."""
    last, free, number = folder, folder, 1
    while free.exists():
        number += 1
        last, free = free, folder.with_name(f"{folder.name}-{number}")
    return last if resume else free
