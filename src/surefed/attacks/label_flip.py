"""Malicious clients train, honestly, on wrong labels."""

from __future__ import annotations

from torch import Tensor

from surefed.attacks.base import Attack, Victim
from surefed.core import Stream


def label_flip() -> Attack:
    """Relabel every sample y of a malicious client as classes - 1 - y, then follow the protocol.

    With 10 classes this is the 9 - y of Karimireddy, He and Jaggi (2021), whose settings the paper follows.
    """

    def poison(inputs: Tensor, labels: Tensor, who: Victim, rng: Stream) -> tuple[Tensor, Tensor]:
        return inputs, who.classes - 1 - labels

    return Attack(poison=poison)
