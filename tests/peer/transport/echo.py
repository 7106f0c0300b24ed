"""A site that posts once and echoes what it is asked, until its standard input ends or it gets SIGTERM.

With `"leave": true` it ends at once and leaves its transport open, as a program that crashes would. With `"pester":
SITE` it asks that site for as much as it can, on several threads.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from surefed.peer.transport.base import Reply, Transport
from surefed.peer.transport.tls import Credentials
from tests.peer.transport.world import connect


def pester(transport: Transport, victim: str, site: str) -> None:
    while True:
        transport.ask(victim, site.encode(), timeout=30)


def wait_for_the_end(ended: threading.Event) -> None:
    while os.read(0, 65536):
        pass
    ended.set()


def main() -> None:
    told = json.loads(sys.argv[1])
    tls = Credentials(*(Path(file) for file in told["files"]))
    transport = connect(told["kind"], told["site"], told["addresses"], tls)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    transport.open(lambda request: Reply("somebody", request[::-1]), lambda site, post: None)
    transport.follow(told["addresses"].keys() - {told["site"]})
    transport.post(b"post of " + told["site"].encode())
    print("ready", flush=True)
    if told.get("leave"):
        sys.exit(0)
    for _ in range(8 if "pester" in told else 0):
        threading.Thread(target=pester, args=(transport, told["pester"], told["site"]), daemon=True).start()
    ended = threading.Event()
    threading.Thread(target=wait_for_the_end, args=(ended,), daemon=True).start()
    try:
        while not ended.wait(0.1):  # a signal just before a read that lasts would not be heard of until it ends
            pass
    finally:
        transport.close()


if __name__ == "__main__":
    main()
