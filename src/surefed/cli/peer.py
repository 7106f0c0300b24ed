"""`surefed peer` and `surefed doctor`: run a site, try a whole federation on one machine, look for what is wrong."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import torch
import typer

from surefed.cli import console
from surefed.cli.commands import FormatOption
from surefed.cli.console import Format
from surefed.cli.watching import site_watcher, watch_attempt
from surefed.core import ConfigError, Interrupted, SureFEDError
from surefed.peer import Settings, Stopped, open_peer
from surefed.peer.attempt import prepare
from surefed.peer.doctor import examine
from surefed.peer.node import Peer
from surefed.peer.settings import Kind
from surefed.sim.play import SMALL

peer_app = typer.Typer(help="Run a site of a federation, or try a whole one on this machine.", no_args_is_help=True)

SettingsArgument = Annotated[Path, typer.Argument(help="The site's settings, such as examples/peer/peer.toml.")]


@peer_app.command("run")
def run_command(file: SettingsArgument = Path("peer.toml"), format: FormatOption = Format.text) -> None:
    """Run a site until the last round of its charter; a restart goes on where it stopped."""
    sys.path[:0] = [os.getcwd(), str(file.resolve().parent)]  # where a model or loader, module:attribute, is looked for
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    settings = Settings.read(file)
    with site_watcher(quiet=format is Format.json) as watch:
        run_until_stopped(open_peer(settings, watch=watch))
    if format is Format.text:
        console.say(f"record: {settings.folder}")


def run_until_stopped(peer: Peer) -> None:
    """Run a peer on a thread of its own, so that a signal is noticed at any moment and stops it in order."""
    failed: list[BaseException] = []
    got = 0

    def work() -> None:
        try:
            if 4 * peer.charter.weights <= SMALL:
                torch.set_num_threads(1)  # idle threads spin, and small work gains nothing by them
            peer.run()
        except BaseException as error:  # it is raised again on the main thread
            failed.append(error)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal got
        got = number

    worker = threading.Thread(target=work, name="peer", daemon=True)
    with _signals(note):
        worker.start()
        while worker.is_alive():
            worker.join(0.1)
            if got:
                peer.stop()
    if failed and isinstance(failed[0], Stopped):
        raise Interrupted(
            f"after round {peer.lone.round} of {peer.charter.rounds}; all is saved in {peer.folder}, and the same "
            "command goes on from there",
            exit_code=128 + (got or signal.SIGTERM),
        )
    if failed:
        raise failed[0]


@contextmanager
def _signals(note: signal.Handlers | object) -> Iterator[None]:
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@peer_app.command("try")
def try_command(
    sites: Annotated[int, typer.Option(min=2, max=64, help="How many sites.")] = 5,
    malicious: Annotated[int, typer.Option(min=0, help="How many of them are malicious: the last ones.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds.")] = 80,
    transport: Annotated[str, typer.Option(help="zenoh or grpc.")] = "zenoh",
    attack: Annotated[str, typer.Option(help="What the malicious ones do (`surefed list attacks`).")] = "label_flip",
    seed: Annotated[int, typer.Option(min=0, help="Another one gives another federation.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder of all sites; default: a new one below runs/.")] = None,
    format: FormatOption = Format.text,
) -> None:
    """A whole federation on this machine: a process for every site, with real keys, TLS and sockets, on digits."""
    kinds: dict[str, Kind] = {"zenoh": "zenoh", "grpc": "grpc"}
    if transport not in kinds:
        raise ConfigError(f"there is no transport {transport!r}; known: {', '.join(kinds)}")
    folder = _new_folder(Path("runs") / "try") if out is None else out
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty; choose another --out")
    attempt = prepare(
        folder,
        sites=sites,
        malicious=malicious,
        rounds=rounds,
        transport=kinds[transport],
        attack=attack,
        seed=seed,
    )
    watch_attempt(attempt, quiet=format is Format.json)


def doctor(
    file: SettingsArgument = Path("peer.toml"),
    wait: Annotated[float, typer.Option(help="Seconds to wait for the neighbours to answer.")] = 10.0,
    format: FormatOption = Format.text,
) -> None:
    """Look for what is wrong before a site is run: PASS or FAIL for each check, with the fix."""
    sys.path[:0] = [os.getcwd(), str(file.resolve().parent)]
    findings = []
    for one in examine(file, wait):
        findings.append(one)
        if format is Format.text:
            style = {"PASS": "green", "FAIL": "red", "WARN": "yellow"}[one.result]
            console.out.print(f"{one.result} ", style=style, end="")
            console.say(f"{one.check:<14} {one.text}" + (f"\n{'':<20}fix: {one.fix}" if one.fix else ""))
    if format is Format.json:
        console.print_json([one.plain() for one in findings])
    failed = [one for one in findings if one.result == "FAIL"]
    if failed:
        raise _Failed(f"{len(failed)} of {len(findings)} checks failed", failed[0].exit_code)


class _Failed(SureFEDError):
    """A check of the doctor failed."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def _new_folder(folder: Path) -> Path:
    """The first of folder, folder-2, folder-3, ... that does not exist."""
    free, number = folder, 1
    while free.exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free
