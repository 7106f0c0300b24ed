"""Malicious clients teach the network a hidden trigger."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from surefed.attacks.base import Attack, Scene, Trigger, Victim
from surefed.core import Belief, DataError, Stream

Pattern = Literal["auto", "large", "medium", "small"]
"""The size of a trigger."""

# (row, first column, length) of the four local triggers; together they are the global one.
PATTERNS = {
    "large": ((0, 0, 6), (0, 9, 6), (4, 0, 6), (4, 9, 6)),  # DBA's for CIFAR-10, from 32 x 32 on
    "medium": ((0, 0, 4), (0, 6, 4), (3, 0, 4), (3, 6, 4)),  # DBA's for MNIST, from 10 x 10 on
    "small": ((0, 0, 2), (0, 3, 2), (2, 0, 2), (2, 3, 2)),  # half of it, for images of 8 x 8
}


def scaled(scene: Scene, scale: float) -> Tensor:
    """start + scale * update of every malicious client, what it learned if the scale is 1. [malicious, weight]"""
    if scale == 1:
        return scene.own.mean
    start = scene.start.mean.double()
    return (start + scale * (scene.own.mean.double() - start)).to(scene.own.mean.dtype)


def trojan(*, target: int = 2, share: float = 0.3125, pattern: Pattern = "auto", scale: float = 1.0) -> Attack:
    """Stamp a part of a trigger on a share of the samples and label them `target` (DBA: Xie et al. 2020).

    Malicious client k uses local trigger k mod 4; the backdoor is measured with all four at once. Pixels of the
    trigger are the opposite of the background. The malicious otherwise train like everybody else, in every round of
    the attack: the multiple shots of DBA. Its single shot is scale = 100 with attack.stop one round after attack.start.

    Args:
        share: of a malicious client's samples that are poisoned, chosen once; DBA poisons 20 of 64 (MNIST).
        pattern: the size of the trigger; auto takes the largest of DBA's that is made for images of this size.
        scale: the gamma of model replacement (Bagdasaryan et al. 2020): the mean sent is start + scale * update, so
            that averaging with the honest does not wash the backdoor out. The rho stays as learned.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must lie in (0, 1], not {share}")
    if target < 0:
        raise ValueError(f"target must be a class, not {target}")
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale must be a finite number above 0, and {scale} is not")

    def stamp(images: Tensor, parts: tuple[int, ...], background: float) -> Tensor:
        if images.dim() != 4:
            raise DataError(f"a trigger is stamped on images [channel, height, width], not {tuple(images.shape[1:])}")
        height, width = images.shape[-2:]
        size = pattern if pattern != "auto" else "large" if width >= 32 else "medium" if width >= 10 else "small"
        marks = PATTERNS[size]
        needed = max(row for row, _, _ in marks) + 1, max(first + length for _, first, length in marks)
        if height < needed[0] or width < needed[1]:
            raise DataError(f"the {size} trigger needs {needed[0]} x {needed[1]} pixels; images are {height} x {width}")
        stamped = images.clone()
        for row, first, length in (marks[part] for part in parts):
            stamped[..., row, first : first + length] = 1.0 - background
        return stamped

    def poison(inputs: Tensor, labels: Tensor, who: Victim, rng: Stream) -> tuple[Tensor, Tensor]:
        if target >= who.classes:
            raise DataError(f"the backdoor has target {target}, but classes are 0 .. {who.classes - 1}")
        chosen = rng.order(torch.tensor([len(labels)], device=labels.device))[0, : max(1, round(share * len(labels)))]
        inputs, labels = inputs.clone(), labels.clone()
        inputs[chosen] = stamp(inputs[chosen], (who.rank % 4,), who.background)
        labels[chosen] = target
        return inputs, labels

    def trigger(inputs: Tensor, background: float) -> Tensor:
        return stamp(inputs, (0, 1, 2, 3), background)

    def tamper(scene: Scene, rng: Stream) -> Belief:
        return Belief(scaled(scene, scale), scene.own.rho)

    return Attack(poison, None if scale == 1 else tamper, Trigger(trigger, target), steady=True)
