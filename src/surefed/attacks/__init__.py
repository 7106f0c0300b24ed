"""Attacks: a function of that name per file, returning an `Attack` of two optional hooks."""

from surefed.attacks.base import Attack, Scene, Sent, Trigger, Victim, Whispers
from surefed.core.registry import Factory, discover

ATTACKS: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["ATTACKS", "Attack", "Scene", "Sent", "Trigger", "Victim", "Whispers"]
