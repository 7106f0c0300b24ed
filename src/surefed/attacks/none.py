"""Nobody lies."""

from __future__ import annotations

from surefed.attacks.base import Attack


def none() -> Attack:
    """Nobody lies: every client is honest, whatever share was asked to be malicious."""
    return Attack()
