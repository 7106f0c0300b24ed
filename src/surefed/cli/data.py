"""`surefed data`: what data is here, and how to get more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAVY
from rich.markup import escape
from rich.table import Table

from surefed.cli import console
from surefed.cli.commands import FormatOption, app
from surefed.cli.console import Format
from surefed.core import DataError
from surefed.data import store

data_app = typer.Typer(help="Get datasets, add your own copies, see what is here.", no_args_is_help=True)
app.add_typer(data_app, name="data")

NameArgument = Annotated[str, typer.Argument(help=f"One of: {', '.join(store.SOURCES)}.")]


@data_app.command()
def get(name: NameArgument, format: FormatOption = Format.text) -> None:
    """Download a dataset into the cache; stopped, the same command goes on where it was."""
    with console.downloads(quiet=format is Format.json) as watch:
        folder = store.get(name, watch)
    _told(name, store.look(name, folder), format)


@data_app.command()
def add(
    name: NameArgument,
    path: Annotated[Path, typer.Argument(help="The folder, or the one file, that holds it.")],
    format: FormatOption = Format.text,
) -> None:
    """Remember where your copy of a dataset is."""
    _told(name, store.register(name, path), format)


@data_app.command("list")
def list_command(format: FormatOption = Format.text) -> None:
    """Which datasets are here, and where they are looked for."""
    rows = [_row(name) for name in store.SOURCES]
    if format is Format.json:
        console.print_json({"datasets": rows, "folders": [str(folder) for folder in store.folders()]})
        return
    table = Table(box=SIMPLE_HEAVY, pad_edge=False)
    for heading in ("dataset", "layout", "MiB", "where"):
        table.add_column(heading, justify="right" if heading == "MiB" else "left", overflow="fold")
    for row in rows:
        size = f"{row['bytes'] / 2**20:.1f}" if row["here"] else ""
        where = row["folder"] if row["here"] else row["error"] or f"not here: surefed data get {row['name']}"
        table.add_row(row["name"], row["layout"] or "", size, escape(where))
    console.out.print(table)
    console.say(f"looked in: {', '.join(str(folder) for folder in store.folders())}")


def _row(name: str) -> dict[str, Any]:
    """What there is to say of a dataset; `error` only of a copy that was added and is gone."""
    row: dict[str, Any] = {"name": name, "here": False, "layout": None, "folder": None, "bytes": None, "error": None}
    try:
        found = store.find(name)
    except DataError as error:
        return row | ({"error": str(error)} if name in store.registered() else {})
    return row | _found(found)


def _found(found: store.Found) -> dict[str, Any]:
    size = sum(file.stat().st_size for file in found.files)
    return {"here": True, "layout": found.layout, "folder": str(found.folder), "bytes": size}


def _told(name: str, found: store.Found, format: Format) -> None:
    if format is Format.json:
        console.print_json({"name": name} | _found(found))
        return
    console.say(f"{name} is in {found.folder} ({', '.join(file.name for file in found.files[:6])})")
