"""A site at one end of a line: it publishes a belief, pulls the other's and says how it went, as JSON.

python -m tests.peer.exchange.far KIND FOLDER SITE ADDRESSES WEIGHTS SECONDS; it stays until standard input ends.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from surefed.peer.charter import read_charter
from surefed.peer.exchange import Exchange
from surefed.peer.identity import load_identity
from surefed.peer.transport.tls import Credentials
from tests.peer.exchange.rig import belief, hear
from tests.peer.transport.world import connect


def main(kind: str, folder: Path, site: str, addresses: dict[str, str], weights: int, seconds: float) -> None:
    charter = read_charter(folder / "federation.charter").changed(weights=weights, chunk=2**20)
    identity = load_identity(site, folder / site)
    places = identity.places
    tls = Credentials(places.authority, places.certificate, places.tls)
    exchange = Exchange(connect(kind, site, addresses, tls), charter, identity, keep=2, folder=folder / site)
    exchange.open()
    try:
        (other,) = addresses.keys() - {site}
        exchange.publish(1, belief(len(site), weights))
        start = time.monotonic()
        heard = hear(exchange, 1, other, seconds=seconds)
        took = time.monotonic() - start
        came = heard.beliefs.get(other)
        whole = came is not None and came.payload == belief(len(other), weights)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        told = {"whole": whole, "seconds": took, "missing": heard.missing, "refused": heard.refused}
        print(json.dumps(told | {"cpu_s": time.process_time(), "peak_MiB": peak}), flush=True)
        sys.stdin.read()
    finally:
        exchange.close()


if __name__ == "__main__":
    kind, folder, site, addresses, weights, seconds = sys.argv[1:]
    main(kind, Path(folder), site, json.loads(addresses), int(weights), float(seconds))
