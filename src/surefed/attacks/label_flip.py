"""Malicious clients train, honestly, on wrong labels."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from surefed.attacks.base import Attack, Victim
from surefed.core import Stream


def label_flip(
    *,
    mode: Literal["mirror", "pairs", "all_to_one", "rfa_emnist"] = "mirror",
    pairs: tuple[tuple[int, int], ...] = (),
    target: int = 0,
) -> Attack:
    """Relabel y as classes - 1 - y, or as asked, then follow the protocol (Karimireddy, He and Jaggi 2021).

    With 10 classes this `mirror` is their 9 - y, whose settings the paper follows.
    `pairs` relabels only the source class of each (source, target), as Tolpegin et al. (2020). `all_to_one` relabels
    everything as `target`. `rfa_emnist` (Pillutla, Kakade and Harchaoui 2022) is for 10 digits, 26 upper-case and 26
    lower-case letters: a digit y becomes (7y + 1) mod 10, a letter changes its case.
    """
    if bool(pairs) != (mode == "pairs"):
        raise ValueError(f"pairs go with mode 'pairs', and only with it: mode is {mode!r} and pairs are {pairs}")
    if len({source for source, _ in pairs}) < len(pairs):
        raise ValueError(f"a class can become one other class only, and {pairs} name a source twice")
    if target < 0:
        raise ValueError(f"target must be a class, counted from 0, and {target} is not")

    def poison(inputs: Tensor, labels: Tensor, who: Victim, rng: Stream) -> tuple[Tensor, Tensor]:
        truth = torch.arange(who.classes, dtype=labels.dtype, device=labels.device)
        for label in (target,) if mode == "all_to_one" else (label for pair in pairs for label in pair):
            if not 0 <= label < who.classes:
                raise ValueError(f"there is no class {label}: there are {who.classes}, counted from 0")
        if mode == "mirror":
            told = truth.flip(0)
        elif mode == "pairs":
            told = truth.clone()
            for source, other in pairs:
                told[source] = other
        elif mode == "all_to_one":
            told = torch.full_like(truth, target)
        else:
            if who.classes != 62:
                raise ValueError(f"mode 'rfa_emnist' is for the 62 classes of EMNIST, and there are {who.classes}")
            told = torch.cat(((7 * truth[:10] + 1) % 10, truth[36:], truth[10:36]))
        return inputs, told[labels.long()]

    return Attack(poison=poison)
