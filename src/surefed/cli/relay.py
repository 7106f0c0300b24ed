"""`surefed relay`: a meeting point for sites that can only dial out."""

from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from surefed.peer.charter import CharterFile
from surefed.peer.transport.tls import Credentials

CharterArgument = Annotated[
    Path, typer.Argument(metavar="CHARTER", help="The federation's charter; members are let in.")
]
KeysOption = Annotated[
    Path, typer.Option(help="Folder with NAME.pem, NAME.key and ca.pem, as `surefed keys` makes it.")
]
NameOption = Annotated[str, typer.Option(help="Whom the relay's certificate names; it is no member of the charter.")]
ListenOption = Annotated[str, typer.Option(help="host:port that the sites dial; 0.0.0.0 for every address.")]


def relay_command(
    charter: CharterArgument,
    keys: KeysOption,
    name: NameOption = "hub",
    listen: ListenOption = "0.0.0.0:7447",
) -> None:
    """Run a relay for sites that can only dial out; it can delay and drop, but not forge or alter unnoticed."""
    from surefed.peer.transport.relay import Relay  # zenoh is an extra

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    tls = Credentials(keys / "ca.pem", keys / f"{name}.pem", keys / f"{name}.key")
    relay = Relay(name, listen=listen, charter=CharterFile(charter), tls=tls)
    try:
        relay.open()
        typer.echo(f"relaying for {', '.join(relay.charter.members.active)} at {listen}; Ctrl-C ends it")
        relay.run(stop)
    finally:
        relay.close()
