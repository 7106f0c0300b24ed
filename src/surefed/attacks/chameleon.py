"""Malicious clients are honest until they are trusted."""

from __future__ import annotations

from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream


def chameleon(*, patience: int = 20, share: float = 0.5, strength: float = 1.0) -> Attack:
    """Earn trust by honesty, strike with the reversed update, earn it again (ours, against rules that remember).

    The liars strike together, with start - strength * update, in every round from `patience` on before which at least
    a share `share` of the honest receivers' links to them were trusted; otherwise they tell the truth. Where they
    cannot know who trusted them, they strike from round `patience` on. The rho stays honest.

    Args:
        patience: how many rounds of honesty come first.
        share: the share of trust they wait for; 0 waits for none, if anybody honest hears them at all.
        strength: the length of the reversed update over the honest one's.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must lie in [0, 1], not {share}")

    def trusted(scene: Scene) -> bool:
        if scene.trusted is None:
            return True
        links = scene.edges & ~scene.malicious[:, None] & scene.malicious
        heard = int(links.sum())
        return heard > 0 and int((links & scene.trusted).sum()) >= share * heard

    def tamper(scene: Scene, rng: Stream) -> Belief:
        if scene.number < patience or not trusted(scene):
            return scene.own
        start = scene.start.mean.double()
        mean = start - strength * (scene.own.mean.double() - start)
        return Belief(mean.to(scene.own.mean.dtype), scene.own.rho)

    return Attack(tamper=tamper)
