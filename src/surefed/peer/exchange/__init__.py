"""The exchange of beliefs: signed manifests are posted, beliefs are pulled in chunks, nothing is taken on trust."""

from __future__ import annotations

from surefed.peer.exchange.exchange import Exchange
from surefed.peer.exchange.heard import Heard, Received

__all__ = ["Exchange", "Heard", "Received"]
