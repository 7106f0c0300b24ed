"""Malicious clients place their mean near the edge of the band that SureFED's receivers inspect with."""

from __future__ import annotations

from surefed.attacks.base import Attack, Scene
from surefed.core import STD_MAX, STD_MIN, Belief, Stream, rho_of


def box_edge(*, fraction: float = 0.5, kappa: float = 16.0, variance: float = 1.0) -> Attack:
    """Push every weight against learning, as far as the victims' band allows (ours, made against SureFED).

    Sends mean - fraction * kappa * std * sign(update): mean and std are those of the victims' local beliefs, averaged
    over the honest clients if these are known, else guessed to be the liar's own; update is the mean update seen.
    With one honest client, known, any fraction below 1 stays inside its band.

    Args:
        fraction: how far towards the edge of the band.
        kappa: the width of the band in stds that the liars reckon with.
        variance: multiplies the std a liar honestly has into the one it claims; below 1 adds precision inflation.
    """
    if not kappa >= 0:
        raise ValueError(f"kappa must not be negative, and {kappa} is")
    if not variance > 0:
        raise ValueError(f"variance must be positive, not {variance}")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        victims = scene.own if scene.own_local is None else scene.own_local
        mean, std = victims.mean.double(), victims.std.double().clamp(max=STD_MAX)
        if scene.honest_local is not None and len(scene.honest_local) > 0:
            mean = scene.honest_local.mean.double().mean(0, keepdim=True)
            std = scene.honest_local.std.double().clamp(max=STD_MAX).mean(0, keepdim=True)
        seen, start = (scene.seen, scene.seen_start) if len(scene.seen) > 0 else (scene.own, scene.start)
        against = -(seen.mean.double() - start.mean.double()).mean(0).sign()
        lie = (mean + fraction * kappa * std * against).to(scene.own.mean.dtype).expand_as(scene.own.mean)
        rho = scene.own.rho
        if variance != 1.0:
            rho = rho_of((variance * scene.own.std.double()).clamp(STD_MIN, STD_MAX)).to(rho.dtype)
        return Belief(lie, rho)

    return Attack(tamper=tamper, local=True, steady=True)
