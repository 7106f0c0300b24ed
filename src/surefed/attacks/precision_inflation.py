"""Malicious clients claim to be far more certain than they are."""

from __future__ import annotations

from surefed.attacks.base import Attack, Scene
from surefed.core import STD_MAX, STD_MIN, Belief, Stream, rho_of


def precision_inflation(*, factor: float = 1e-3, shift: float = 0.0) -> Attack:
    """Send an honest-looking mean with a forged std, which owns any pool weighed by precision (ours).

    Sends own mean + shift * own std and claims factor * own std: with the default, a liar weighs a million times
    as much as it should. No inspection that looks at means only can tell it from an honest client.

    Args:
        factor: the claimed std over the honest one.
        shift: how far the mean is moved, in the liar's own stds; each liar has its own honest mean where it is 0.
    """
    if not factor > 0:
        raise ValueError(f"factor must be positive, not {factor}")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        mean, std = scene.own.mean.double(), scene.own.std.double().clamp(STD_MIN, STD_MAX)
        claimed = rho_of((factor * std).clamp(STD_MIN, STD_MAX))
        return Belief((mean + shift * std).to(scene.own.mean.dtype), claimed.to(scene.own.rho.dtype))

    return Attack(tamper=tamper, steady=True)
