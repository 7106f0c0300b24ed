"""How zenoh is set up: mutual TLS and nothing else, no broadcast, everything bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import zenoh

from surefed.peer.transport.access import access_rules
from surefed.peer.transport.base import Limits
from surefed.peer.transport.tls import Credentials

LEASE = 3.0
"""Seconds without a sign of life after which a link counts as gone."""
PATIENCE = 30.0
"""Seconds one message may take to leave before its link is closed: 1 MiB at 35 kB/s."""
DIAL = 2.0
"""Seconds that one try to reach a relay takes."""


def configuration(
    mode: str,
    *,
    listen: str | None,
    dial: Collection[str],
    tls: Credentials,
    sites: Collection[str],
    limits: Limits,
) -> zenoh.Config:
    """TLS and nothing else, no broadcast, no shared memory, messages bounded, only members' own keys.

    A client has one link, to the relay that it dialled, on which everybody's keys come.
    """
    queue = "transport/link/tx/queue/congestion_control/block/wait_before_close"
    settings: dict[str, Any] = {
        "mode": mode,
        "listen/endpoints": [] if listen is None else [f"tls/{listen}"],
        "connect/endpoints": [f"tls/{address}" for address in dial],
        "connect/timeout_ms": int(1000 * DIAL) if mode == "client" else -1,
        "connect/exit_on_failure": mode == "client",
        "connect/retry": {"period_init_ms": 200, "period_max_ms": 4000, "period_increase_factor": 2},
        "open/return_conditions": {"connect_scouted": False, "declares": False},
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": True,
        "transport/link/protocols": ["tls"],
        "transport/link/tls": _tls(tls),
        "transport/shared_memory/enabled": False,
        "transport/link/rx/max_message_size": max(limits.post, limits.request, limits.reply) + 4096,
        "transport/link/tx/lease": int(1000 * LEASE),
        queue: int(1e6 * PATIENCE),
        "access_control": {"enabled": False} if mode == "client" else access_rules(sites),
    }
    config = zenoh.Config()
    for key, value in settings.items():
        config.insert_json5(key, json.dumps(value))
    return config


def _tls(files: Credentials) -> dict[str, Any]:
    certificate, key = str(files.certificate), str(files.key)
    return {
        "root_ca_certificate": str(files.authority),
        "enable_mtls": True,
        "verify_name_on_connect": True,
        "close_link_on_expiration": True,
        "listen_certificate": certificate,
        "listen_private_key": key,
        "connect_certificate": certificate,
        "connect_private_key": key,
    }


def plain_words(error: Exception) -> str:
    """What zenoh says, without the places in its source, and what to do where that is clear."""
    said = re.sub(r" at \S+\.rs:\d+\.?", "", str(error)).strip().rstrip(".")
    if "Address already in use" in said:
        return "the port is taken; stop what holds it (is the peer running already?), or set network.listen to another"
    return said
