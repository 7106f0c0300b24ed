"""`surefed compare`: every rule under every attack, in one table."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAVY
from rich.markup import escape
from rich.table import Table

from surefed.attacks import ATTACKS
from surefed.cli import console
from surefed.cli.commands import TEMPLATE, DeviceOption, FormatOption, app
from surefed.cli.console import Format
from surefed.core.registry import find
from surefed.records import Record
from surefed.report import measured, notices, percent, summary
from surefed.rules import RULES
from surefed.sim import Experiment, run


@app.command()
def compare(
    file: Annotated[
        Path | None, typer.Argument(help="The experiment all cells share; default: that of `init`.")
    ] = None,
    rules: Annotated[
        str, typer.Option(help="Names with commas between them, or `all`.")
    ] = "surefed,bayp2pfl,local_only",
    attacks: Annotated[
        str, typer.Option(help="Names with commas between them, or `all`.")
    ] = "none,label_flip,gaussian",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value in all cells.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the cells; cells that are there already are not run again.")
    ] = Path("runs/compare"),
    device: DeviceOption = "cpu",
    format: FormatOption = Format.text,
) -> None:
    """Run every rule under every attack and print the matrix. Stopped? The same command goes on where it was."""
    base = Experiment.of(TEMPLATE) if file is None else Experiment.read(file)
    base = base.change(settings or [])
    wanted = _names(rules, RULES, "rule"), _names(attacks, ATTACKS, "attack")
    cells: dict[tuple[str, str], Record] = {}
    with console.progress(quiet=format is Format.json) as bars:
        for rule, attack in product(*wanted):
            experiment = base.change([f"rule.name={rule}", f"attack.name={attack}"])
            watch = bars(f"{rule} x {attack}", experiment.rounds)
            place = out / f"{rule}-{attack}"
            resume = (place / "run.json").exists()
            cells[rule, attack] = run(experiment, out=place, resume=resume, device=device, watch=watch).record
    if format is Format.json:
        console.print_json([summary(record) for record in cells.values()])
        return
    _print(cells, *wanted)
    for (rule, attack), record in cells.items():
        for notice in notices(record):
            console.say(f"{rule} x {attack}: {notice}")
    console.say(f"records: {out}")


def _names(given: str, known: dict[str, Any], kind: str) -> list[str]:
    """The names in a list with commas, each known."""
    names = list(known) if given == "all" else [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        find(name, known, kind)
    return names


def _print(cells: dict[tuple[str, str], Record], rules: Iterable[str], attacks: Iterable[str]) -> None:
    table = Table(box=SIMPLE_HEAVY, pad_edge=False, collapse_padding=True)
    table.add_column("", no_wrap=True)
    for attack in attacks:
        table.add_column(escape(attack), justify="right", no_wrap=True)
    for rule in rules:
        table.add_row(escape(rule), *(_cell(summary(cells[rule, attack])) for attack in attacks))
    console.out.print(table)
    console.say(
        f"{measured(cells.values())} of honest clients in % (share of honest/malicious neighbours they trust in %), "
        "b: backdoor in %"
    )


def _cell(figures: dict[str, Any]) -> str:
    def whole(share: float | None) -> str:
        return "-" if share is None else f"{100 * share:.0f}"

    reached = percent(figures[figures["measure"]]).removesuffix(" %")
    text = f"{reached} ({whole(figures['trusts_honest'])}/{whole(figures['trusts_malicious'])})"
    return text if figures["backdoor"] is None else f"{text} b {whole(figures['backdoor'])}"
