"""Peers: a federation between machines that do not trust each other, with the simulator's own rules and numbers."""

from __future__ import annotations

from surefed.peer.charter import Charter, CharterFile, read_charter
from surefed.peer.data import own_data
from surefed.peer.disk import Stopped
from surefed.peer.identity import Identity, load_identity
from surefed.peer.node import Peer, Round
from surefed.peer.opening import open_peer
from surefed.peer.settings import Settings

__all__ = [
    "Charter",
    "CharterFile",
    "Identity",
    "Peer",
    "Round",
    "Settings",
    "Stopped",
    "load_identity",
    "open_peer",
    "own_data",
    "read_charter",
]
