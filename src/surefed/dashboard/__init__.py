"""A page over record folders: a federation learning, being poisoned, splitting into camps and recovering.

Reads records and nothing else, and never writes. Needs the extra `dashboard` (Starlette and uvicorn).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from surefed.core import ConfigError

if TYPE_CHECKING:
    from surefed.dashboard.server import Server

__all__ = ["HOST", "PORT", "beside", "dashboard"]

HOST, PORT = "127.0.0.1", 8765
SHORTEST = 16
"""Characters that a token has at least."""


def dashboard(paths: Iterable[Path], host: str = HOST, port: int = PORT, token: str | None = None) -> Server:
    """A dashboard over records, on an open port; any address but loopback has a token, made if none is given."""
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise ConfigError("the dashboard needs Starlette and uvicorn: pip install 'surefed[dashboard]'")
    from surefed.dashboard.server import Server, needs_token

    if token is not None and (len(token) < SHORTEST or not token.isascii() or not token.isprintable()):
        raise ConfigError(f"a token has at least {SHORTEST} plain characters; leave --token out to have one made")
    if token is None and needs_token(host):
        token = secrets.token_urlsafe(32)
    return Server(paths, host, port, token)


@contextmanager
def beside(paths: Iterable[Path], say: Callable[[str], None], *, wanted: bool, stay: bool) -> Iterator[None]:
    """Serve a dashboard on loopback, on any free port, while something else goes on.

    stay: go on serving when that is done well, until Ctrl-C.
    """
    if not wanted:
        yield
        return
    server = dashboard(paths, port=0)
    server.start()
    say(f"dashboard: {server.address}")
    try:
        yield
        if stay:
            say("The dashboard stays until Ctrl-C.")
            server.wait()
    except KeyboardInterrupt:
        if not server.waiting:
            raise
    finally:
        server.stop()
