"""The state of a peer right now, as peer.json has it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from surefed.peer.charter import Charter
from surefed.peer.identity import Identity
from surefed.peer.tally import COUNTED, Tally


def status(
    charter: Charter,
    identity: Identity,
    *,
    round: int,
    doing: str,
    why: str,
    transport: str,
    present: Collection[str],
    last: Mapping[str, Any] | None,
    tally: Tally,
    jumped: int,
    disk_free: int,
) -> dict[str, Any]:
    """Who was expected, heard, trusted and so on in the last round and in all, and how the site is doing."""
    by: dict[str, list[str]] = {kind: [] for kind in COUNTED}
    for site, one in (last or {}).get("neighbours", {}).items():
        by.setdefault(one["verdict"], []).append(site)
    return {
        "site": identity.site,
        "federation": charter.name,
        "charter": charter.digest,
        "amendment": charter.amendment,
        "sites": list(charter.sites),
        "round": round,
        "rounds": charter.rounds,
        "doing": doing,
        "why": why,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "deadline": charter.deadline,
        "staleness": charter.staleness,
        "transport": transport,
        "present": sorted(present),
        "last": last,
        "expected": [site for kind in COUNTED for site in by[kind]],
        "heard": by["trusted"] + by["distrusted"],
        **{kind: by[kind] for kind in COUNTED},
        "neighbours": tally.plain(),
        "jumped": jumped,
        "certificate_days": days_left(identity),
        "disk_free": disk_free,
        "pid": os.getpid(),
    }


def days_left(identity: Identity) -> float:
    """Days until the site's certificate expires."""
    left: float = identity.facts.left().total_seconds() / 86400
    return float(f"{left:.2f}")
