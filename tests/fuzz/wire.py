"""Feed everything that reads bytes from strangers with mutated messages: it may refuse them, and nothing else.

    python tests/fuzz/wire.py [-atheris_runs=N] [-max_total_time=SECONDS] [any other flag of libFuzzer]

The first byte of an input says who reads the rest. Signatures are taken as good, as if a certified member had signed
whatever comes, so that the checks behind them are reached; the tests in tests/peer/wire look at signatures. Memory is
bounded: a single allocation of more than 64 MB, or more than 1.5 GB in all, is a failure.
"""

from __future__ import annotations

import atexit
import copy
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))

import surefed.sim.assemble  # noqa: F401  before the rest, so that only what reads messages is instrumented
from surefed.core import IdentityError

with atheris.instrument_imports(include=["surefed.peer"]):
    from surefed.peer import canonical, wire
    from surefed.peer.charter import amendment, charter_bytes, parse_charter, propose
    from surefed.peer.charter import charter as charters
    from surefed.peer.identity.request import parse_request
    from surefed.peer.wire import signed as signed_messages

from tests.peer.made import made
from tests.peer.made import signed as with_signatures

FLAGS = ["-rss_limit_mb=1536", "-malloc_limit_mb=64", "-max_len=4096", "-verbosity=0"]
FEDERATION = made()
CHARTER, WEIGHTS = FEDERATION.charter, FEDERATION.charter.weights
AMENDED = with_signatures(propose(CHARTER, "revoke", "west"), "north", "south", "east")
NORTH, SOUTH = FEDERATION.identities["north"], FEDERATION.identities["south"]
ANNOUNCED = wire.manifest_for(CHARTER, NORTH, 3, bytes(CHARTER.size))
MANIFEST = json.loads(wire.write_manifest(ANNOUNCED, NORTH)[64:])
REQUEST = json.loads(wire.chunk_request(CHARTER, SOUTH, ANNOUNCED, 0)[64:])
BEFORE = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def manifest(data: bytes) -> None:
    said = wire.read_manifest(data, CHARTER)
    assert data[64:] == canonical.encode({name: getattr(said, name) for name in wire.Manifest.__dataclass_fields__})
    assert said.size == CHARTER.size


def request(data: bytes) -> None:
    said = wire.read_request(data, CHARTER, owner="north")
    assert said.chunk < CHARTER.chunks


def unread(data: bytes) -> None:
    assert wire.parse_manifest(data).chunks >= 0


def payload(data: bytes) -> None:
    heard = wire.decode(data, WEIGHTS)
    assert bool(heard.finite())


def half(data: bytes) -> None:
    heard = wire.decode(data, WEIGHTS, "bfloat16")
    assert bool(heard.finite())


def document(data: bytes) -> None:
    said = parse_charter(data)
    assert parse_charter(charter_bytes(said)) == said
    assert len(said.members) >= 1


def keys(data: bytes) -> None:
    parse_request(data)


def changed_manifest(data: bytes) -> None:
    manifest(bytes(64) + changed(MANIFEST, data))


def changed_request(data: bytes) -> None:
    request(bytes(64) + changed(REQUEST, data))


def changed_charter(data: bytes) -> None:
    document(changed(json.loads(charter_bytes(AMENDED)), data))


def changed(values: dict[str, Any], data: bytes) -> bytes:
    """A message in which some values, at any depth, are others, in the canonical spelling."""
    source, values = atheris.FuzzedDataProvider(data), copy.deepcopy(values)
    for _ in range(source.ConsumeIntInRange(1, 3)):
        inner: Any = values
        while True:
            keys = sorted(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                break
            key = source.PickValueInList(keys)
            if isinstance(inner[key], (dict, list)) and source.ConsumeBool():
                inner = inner[key]
                continue
            inner[key] = value(source)
            break
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def value(source: Any) -> Any:
    """Any value that JSON can spell, and some that it cannot."""
    kinds: list[Callable[[], Any]] = [
        lambda: source.ConsumeInt(9),
        lambda: source.ConsumeIntInRange(0, 2000),
        source.ConsumeFloat,
        source.ConsumeBool,
        lambda: None,
        lambda: source.ConsumeUnicode(40),
        lambda: source.ConsumeBytes(32).hex(),
        lambda: source.PickValueInList(["north", "west", "chunk", "charter", "newest", "<f4", "auto"]),
        lambda: [value(source)],
        lambda: {source.ConsumeUnicode(4): value(source)},
    ]
    return source.PickValueInList(kinds)()


READERS: list[Callable[[bytes], None]] = [
    manifest,
    request,
    unread,
    payload,
    half,
    document,
    keys,
    changed_manifest,
    changed_request,
    changed_charter,
]
SEEN: Counter[str] = Counter()


def one(data: bytes) -> None:
    """One input; a refusal is what most of them should get."""
    reader = READERS[data[0] % len(READERS)] if data else unread
    try:
        reader(data[1:])
    except wire.Refused as refused:
        SEEN[f"{reader.__name__}: {refused.reason}"] += 1
    except IdentityError:
        if reader is not keys:
            raise
        SEEN["keys: refused"] += 1
    else:
        SEEN[f"{reader.__name__}: accepted"] += 1


def summary(began: float) -> None:
    """What came of it."""
    for line in sorted(SEEN):
        print(f"{SEEN[line]:>9}  {line}")
    total, seconds = sum(SEEN.values()), time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{total} inputs in {seconds:.0f} s, {total / seconds:.0f} a second")
    print(f"{peak:.0f} MiB at most, {BEFORE:.0f} of them before the first input")


def corpus(folder: Path) -> None:
    """A well formed message for every reader, to begin with."""
    seeds = [
        (manifest, wire.write_manifest(ANNOUNCED, NORTH)),
        (request, wire.chunk_request(CHARTER, SOUTH, ANNOUNCED, 0)),
        (request, wire.charter_request(CHARTER, SOUTH, "north")),
        (unread, wire.write_manifest(ANNOUNCED, NORTH)),
        (payload, bytes(CHARTER.size)),
        (half, bytes(CHARTER.size // 2)),
        (document, charter_bytes(CHARTER)),
        (document, charter_bytes(AMENDED)),
        (keys, (FEDERATION.folder / "north" / "north.request").read_bytes()),
        *((reader, bytes(range(40))) for reader in (changed_manifest, changed_request, changed_charter)),
    ]
    for number, (reader, message) in enumerate(seeds):
        (folder / str(number)).write_bytes(bytes([READERS.index(reader)]) + message)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus(Path(folder))
        for module in (signed_messages, amendment, charters):
            module.signed_by = lambda *given: True  # type: ignore[attr-defined]
        atexit.register(summary, time.monotonic())
        atheris.Setup([sys.argv[0], folder, *FLAGS, *sys.argv[1:]], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
