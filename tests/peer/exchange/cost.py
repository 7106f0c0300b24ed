"""What a round costs on the wire: two sites exchange a belief each over a loopback of their own.

Its bytes are read before and after;
python -m tests.peer.exchange.cost KIND WEIGHTS ROUNDS, inside `unshare --net`: prints JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.peer.exchange.rig import belief, hear
from tests.peer.exchange.sockets import addresses, large, over


def carried() -> int:
    """Bytes that the loopback of this network namespace has carried."""
    line = next(line for line in Path("/proc/self/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split()[1])


def main(kind: str, weights: int, rounds: int) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    at, charter = addresses(), large(weights)
    payload = belief(0, weights)
    with tempfile.TemporaryDirectory() as folder:
        sites = {site: over(kind, site, at, charter, Path(folder)) for site in ("north", "south")}

        def play(site: str, other: str, round: int) -> None:
            sites[site].publish(round, payload)
            assert hear(sites[site], round, other, seconds=120).beliefs[other].payload == payload

        def both(round: int) -> None:
            one = threading.Thread(target=play, args=("north", "south", round))
            one.start()
            play("south", "north", round)
            one.join()

        both(1)  # connecting is not a round's cost
        before, cpu, start = carried(), time.process_time(), time.monotonic()
        for round in range(2, rounds + 2):
            both(round)
        seconds, spent, bytes = time.monotonic() - start, time.process_time() - cpu, carried() - before
        for exchange in sites.values():
            exchange.close()
    useful = 2 * rounds * len(payload)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"payload": len(payload), "over": bytes / useful - 1, "cpu_s_per_100MB": spent / useful * 1e8}
    print(json.dumps(figures | {"seconds_per_round": seconds / rounds, "peak_MiB_both": peak}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
