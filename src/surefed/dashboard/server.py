"""Serving the page: in this thread until Ctrl-C, or beside something else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import uvicorn

from surefed.core import ConfigError
from surefed.dashboard.app import application
from surefed.dashboard.guard import is_loopback

BACKLOG = 128
"""Connections that may wait to be taken."""
GRACE = 1
"""Seconds that open pages are given when the server stops."""


class Server:
    """A dashboard on an open port."""

    def __init__(self, paths: Iterable[Path], host: str, port: int, token: str | None) -> None:
        self._socket = _listen(host, port)
        self._token = token
        config = uvicorn.Config(
            application(paths, token, lambda: self._server.should_exit),
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=GRACE,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None
        self._host = host
        self.waiting = False

    @property
    def address(self) -> str:
        """Where the page is, with the token if there is one."""
        host = "127.0.0.1" if self._host in ("", "0.0.0.0", "::") else self._host  # noqa: S104 compared, not bound
        shown = f"[{host}]" if ":" in host else host
        token = f"?token={quote(self._token, safe='')}" if self._token else ""
        return f"http://{shown}:{self._socket.getsockname()[1]}/{token}"

    @property
    def shared(self) -> bool:
        """Whether other machines may reach it."""
        return needs_token(self._host)

    def serve(self) -> None:
        """Serve until Ctrl-C, which ends it well."""
        with suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._socket])

    def start(self) -> None:
        """Serve on a thread of its own."""
        self._thread = threading.Thread(target=self.serve, name="dashboard", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the thread ends, or Ctrl-C."""
        assert self._thread is not None
        self.waiting = True
        self._thread.join()

    def stop(self) -> None:
        """End the thread and close the port."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self._socket.close()


def _listen(host: str, port: int) -> socket.socket:
    """A socket bound before anything else, so that a taken port is an error with an answer."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(f"there is no address {host!r} here: {error.strerror or error}; see --host") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(BACKLOG)  # a page opened before the server is ready waits instead of failing
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"cannot listen on {host} port {port}: {reason}; choose another with --port (0 takes any free one)"
        ) from error
    made.set_inheritable(True)
    return made


def needs_token(host: str) -> bool:
    """Whether others than this machine could reach the address."""
    return not is_loopback(host)
