"""A relay for sites that can only dial out: it passes on what members say on their own keys, and nothing else.

It can delay and drop. It cannot forge or alter without being noticed: every manifest and request is signed by its
sender, and every belief is checked against the hash in a manifest.
"""

from __future__ import annotations

import atexit
import logging
import threading

import zenoh

from surefed.core import IdentityError, NetworkError
from surefed.peer.charter import Charter, CharterFile
from surefed.peer.transport.base import LIMITS
from surefed.peer.transport.configuration import configuration, plain_words
from surefed.peer.transport.tls import Credentials

LOG = logging.getLogger("surefed.peer")
LOOK = 5.0
"""Seconds between two looks at the charter file."""


class Relay:
    """A zenoh router with mutual TLS. It admits the members of a charter; an amended file is taken over by itself."""

    def __init__(self, name: str, *, listen: str, charter: CharterFile, tls: Credentials) -> None:
        """`name`: whom the certificate names; it needs no place in the charter."""
        self._name, self._listen, self._file, self._tls = name, listen, charter, tls
        self._session: zenoh.Session | None = None

    @property
    def charter(self) -> Charter:
        """The charter in force."""
        return self._file.charter

    def open(self) -> None:
        """Check the certificate files, then listen."""
        self._tls.check(self._name)
        atexit.register(self.close)
        sites = self.charter.members.active
        config = configuration("router", listen=self._listen, dial=[], tls=self._tls, sites=sites, limits=LIMITS)
        try:
            self._session = zenoh.open(config)
        except zenoh.ZError as error:
            raise NetworkError(f"the relay cannot listen at {self._listen}: {plain_words(error)}") from None

    def run(self, stop: threading.Event, look: float = LOOK) -> None:
        """Serve until `stop`; when members change, every link is made anew with the new rules."""
        while not stop.wait(look):
            try:
                changed = self._file.poll() is not None
            except IdentityError as error:
                LOG.warning("the relay goes on with the charter that it has: %s", error)
                continue
            if changed:
                LOG.info("the charter was amended; the members are now %s", ", ".join(self.charter.members.active))
                self.close()
                self.open()

    def close(self) -> None:
        """Stop; closing twice is fine."""
        atexit.unregister(self.close)
        session, self._session = self._session, None
        if session is not None:
            session.close()
