"""The commands of peers, where what they need is installed; else a word on how to install it."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from surefed.cli.commands import app
from surefed.core import ConfigError

NAMES = ("peer", "doctor", "relay", "keys", "federation")

if find_spec("cryptography") is not None:
    from surefed.cli.federation import federation_app
    from surefed.cli.keys import keys_app
    from surefed.cli.peer import doctor, peer_app
    from surefed.cli.relay import relay_command

    app.add_typer(peer_app, name="peer")
    app.command("doctor")(doctor)
    app.command("relay")(relay_command)
    app.add_typer(keys_app, name="keys")
    app.add_typer(federation_app, name="federation")
else:

    def missing(context: typer.Context) -> None:
        """Not installed: pip install 'surefed[peer]'"""
        raise ConfigError(f"`surefed {context.info_name}` needs more than the simulator: pip install 'surefed[peer]'")

    for name in NAMES:
        app.command(name, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(missing)
