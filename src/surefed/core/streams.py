"""Named random streams: the same numbers for the same (seed, owner, purpose, round, draw, index), however stacked.

The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011). It has no state to carry: the key names the stream, the counter says where in it we are. One client or a
thousand in a block, in a simulator or alone on its own machine, on a CPU or a GPU: each draws the same bits. (Normal
numbers pass through log, sin and cos, whose last digit differs between machines.)
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from surefed.core import cuda

_MULTIPLY = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF
_LANES = 64

Round = int | Tensor
"""The number of a round; a round that is captured on a GPU has a tensor that holds it, and is read at every replay."""


def key(seed: int, purpose: str, owner: object = "") -> int:
    """The 64-bit name of a stream."""
    name = f"surefed/{seed}/{purpose}/{owner}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


_SEEDING = threading.RLock()


@contextmanager
def seeding_torch(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Let torch's own generator, for code that knows no other, follow from a seed; afterwards it is as it was before.

    A process has one such generator, so threads take turns.
    """
    devices = [device] if device is not None and device.type == "cuda" else []
    with _SEEDING, torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def generator(seed: int, purpose: str, owner: object = "") -> np.random.Generator:
    """A numpy generator for work done once, such as cutting a dataset into clients."""
    return np.random.Generator(np.random.PCG64(key(seed, purpose, owner)))


def philox(counter: tuple[Tensor, Tensor, Tensor, Tensor], keys: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """Philox4x32-10. Words are int64 tensors holding 32 bits; the counter's four are overwritten.

    Torch has no unsigned 32-bit arithmetic, so products are taken in 64 bits and cut to words. Only what is
    multiplied next needs the cut; the rest is carried with its upper half dirty and cut once at the end.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = keys
    p0, p1 = torch.empty_like(c0), torch.empty_like(c0)
    for _ in range(10):
        torch.mul(c0, _MULTIPLY[0], out=p0)
        torch.mul(c2, _MULTIPLY[1], out=p1)
        torch.bitwise_right_shift(p1, 32, out=c0)
        c0.bitwise_xor_(c1).bitwise_xor_(k0).bitwise_and_(_WORD)
        torch.bitwise_right_shift(p0, 32, out=c2)
        c2.bitwise_xor_(c3).bitwise_xor_(k1).bitwise_and_(_WORD)
        c1, p1 = p1, c1
        c3, p0 = p0, c3
        k0 = (k0 + _WEYL[0]) & _WORD
        k1 = (k1 + _WEYL[1]) & _WORD
    return c0, c1.bitwise_and_(_WORD), c2, c3.bitwise_and_(_WORD)


class Stream:
    """Random numbers for one purpose, one row per owner, addressed by (round, draw, index)."""

    def __init__(self, seed: int, purpose: str, owners: Sequence[object], device: torch.device | str = "cpu") -> None:
        names = [key(seed, purpose, owner) for owner in owners]
        self._keys = (
            torch.tensor([name & _WORD for name in names], dtype=torch.int64, device=device).view(-1, 1),
            torch.tensor([name >> 32 for name in names], dtype=torch.int64, device=device).view(-1, 1),
        )

    def __len__(self) -> int:
        return self._keys[0].shape[0]

    @property
    def keys(self) -> tuple[Tensor, Tensor]:
        """The two words of every owner's key, for code that draws by itself. int64 [owner] each"""
        return self._keys[0][:, 0], self._keys[1][:, 0]

    def __getitem__(self, owners: slice | Tensor) -> Stream:
        """The stream of some of the owners."""
        part = object.__new__(Stream)
        part._keys = (self._keys[0][owners], self._keys[1][owners])
        return part

    def _words(self, count: int, round: Round, draw: int) -> tuple[Tensor, ...]:
        """Four words of each counter needed for `count` numbers. int64 [owner, group, lane] each

        Number i is word (i // 64) % 4 of counter 64 * (i // 256) + i % 64: its address does not depend on how
        many are asked for, and runs of 64 neighbours come from the same word, which suits vector units.
        """
        groups, device = -(-count // (4 * _LANES)), self._keys[0].device
        index = torch.arange(groups * _LANES, device=device).expand(len(self), -1).contiguous()
        fill = torch.full_like
        words = philox((index, fill(index, draw), fill(index, int(round)), fill(index, 0)), self._keys)
        return tuple(word.view(len(self), groups, _LANES) for word in words)

    def bits(self, count: int, *, round: Round = 0, draw: int = 0) -> Tensor:
        """Uniform 32-bit integers. int64 [owner, count]"""
        if cuda.here(self._keys[0]):
            from surefed.core.cuda.noise import bits  # here, because it needs Triton

            return bits(self.keys, count, round, draw)
        words = torch.stack(self._words(count, round, draw), dim=2)
        return words.view(len(self), -1)[:, :count]

    def uniform(self, count: int, *, round: Round = 0, draw: int = 0) -> Tensor:
        """Uniform numbers inside (0, 1). float32 [owner, count]"""
        # 23 bits and a half: with 24, the largest would round to 1 in float32
        return ((self.bits(count, round=round, draw=draw) >> 9).float() + 0.5) * 2.0**-23

    def normal(self, count: int, *, round: Round = 0, draw: int = 0) -> Tensor:
        """Standard normal numbers, by Box and Muller. float32 [owner, count]"""
        if cuda.here(self._keys[0]):
            from surefed.core.cuda.noise import normal  # here, because it needs Triton

            return normal(self.keys, count, round, draw)
        a, b, c, d = self._words(count, round, draw)
        rows, groups, lanes = a.shape
        out = a.new_empty((rows, groups, 4, lanes), dtype=torch.float32)
        for pair, (one, other) in enumerate(((a, b), (c, d))):
            radius = one.float().add_(0.5).mul_(2.0**-32).log_().mul_(-2.0).sqrt_()
            angle = other.float().mul_(2.0**-32 * math.tau)
            torch.mul(radius, angle.cos(), out=out[:, :, 2 * pair])
            torch.mul(radius, angle.sin_(), out=out[:, :, 2 * pair + 1])
        return out.view(rows, -1)[:, :count]

    def order(self, sizes: Tensor, *, round: Round = 0, draw: int = 0, longest: int | None = None) -> Tensor:
        """A random order of 0 .. sizes[owner]-1 for each owner; entries past an owner's size are padding.

        longest: max(sizes), for callers who know it; a GPU would have to be waited for. int64 [owner, longest]
        """
        longest = int(sizes.max()) if longest is None else longest
        tickets = self.bits(longest, round=round, draw=draw)
        beyond = torch.arange(longest, device=tickets.device) >= sizes[:, None]
        return tickets.masked_fill(beyond, _WORD + 1).argsort(dim=1, stable=True)
