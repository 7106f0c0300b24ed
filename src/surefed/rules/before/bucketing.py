"""Bucketing: messages are dealt into buckets at random, and the rule sees the averages of the buckets."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Stream
from surefed.rules.before.base import Before, Mixes


def bucketing(*, size: int = 2, seed: int = 0) -> Before:
    """Shuffle the messages, average them in buckets of `size`, show the averages (Karimireddy, He and Jaggi 2022).

    With n messages there are ceil(n / size) averages, the last of what is left over. A liar spoils one of them, so the
    rule is still told of f malicious ones, now among fewer. Receivers that hear the same shuffle alike.

    Args:
        seed: of the shuffles, a new one every round; whoever knows it can choose a bucket to sit in.
    """
    if size < 1:
        raise ValueError(f"size is how many messages share a bucket, 1 or more, not {size}")

    def mixes(apart: Tensor, liars: int, round: int) -> Mixes:
        count = torch.tensor([len(apart)], device=apart.device)
        order = Stream(seed, "bucketing", ["shuffle"], apart.device).order(count, round=round)[0]
        of = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device) // size)
        member = (of == torch.arange(-(-len(order) // size), device=order.device)[:, None]).double()
        return Mixes(member / member.sum(1, keepdim=True), of)

    return Before(mixes)
