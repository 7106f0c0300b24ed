"""Ways to carry bytes between sites: in memory, over zenoh, over gRPC."""

from __future__ import annotations

from surefed.peer.transport.base import Answer, Hear, Limits, Reply, Transport
from surefed.peer.transport.memory import MemoryTransport, Network

__all__ = ["Answer", "Hear", "Limits", "MemoryTransport", "Network", "Reply", "Transport"]
