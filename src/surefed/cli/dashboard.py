"""`surefed dashboard`: a page over records, finished or still running."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from surefed.cli import console
from surefed.cli.commands import app
from surefed.core import RecordError
from surefed.dashboard import HOST, PORT
from surefed.dashboard import dashboard as make

RUNS = Path("runs")
ENV = "SUREFED_DASHBOARD_TOKEN"


@app.command()
def dashboard(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN_OR_FOLDER", help="Folders of runs, or folders that hold them; default: runs."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; anything but loopback asks for the token.")] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free one.")] = PORT,
    token: Annotated[
        str | None,
        typer.Option(
            envvar=ENV, help="What a page must show; made where it is needed and not given.", show_envvar=True
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Look at simulations, sweeps and peers in a browser, finished or still running. Reads only; Ctrl-C ends it."""
    for path in paths or []:
        if not path.is_dir():
            raise RecordError(f"{path} is no folder; give folders of runs, or folders that hold them")
    server = make(paths or [RUNS], host, port, token)
    console.say(f"dashboard: {server.address}\nCtrl-C ends it.")
    if server.shared:
        console.say(
            "Whoever has this address can read these records, and it travels unencrypted: prefer an SSH tunnel."
        )
    if open_page:
        threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
    server.serve()
