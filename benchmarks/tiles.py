"""How large the programs of the fused convolutions should be: microseconds of each candidate on a GPU.

    python benchmarks/tiles.py

The shapes are those of the paper's CNN: minibatches of 5 of 50 and 100 rows, as they learn, and 1000 images that 50
rows are tried on, as Zeno does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from gpu import captured

from surefed.learn.cuda import pooled
from surefed.learn.cuda.pooled import Block, Tile
from surefed.learn.native import plan
from surefed.models.cnn import cnn

LEARN = tuple(Tile(*sizes) for sizes in ((2, 32, 1), (2, 64, 2), (4, 64, 2), (4, 32, 1), (8, 32, 1), (8, 64, 2)))
TRY = tuple(Tile(*sizes) for sizes in ((8, 256, 4), (8, 128, 4), (16, 128, 4), (8, 512, 8), (4, 256, 4), (4, 512, 4)))
SLOPES = ((128, 32, 4), (32, 32, 1), (64, 32, 2), (256, 32, 8), (64, 32, 4))


def timed(name: str, tries: Iterable[Any], field: str, call: Callable[[], Any]) -> None:
    told, before = [], getattr(pooled, field)
    for tile in tries:
        setattr(pooled, field, tile)
        try:
            told.append((1e6 * captured(call), tile))
        except Exception as error:
            print(f"{name}: {tile} fails: {type(error).__name__}", flush=True)
    setattr(pooled, field, before)
    told.sort(key=lambda pair: pair[0])
    print(f"{name}: " + "; ".join(f"{spent:.1f} us {tuple(tile)}" for spent, tile in told), flush=True)


def learning(rows: int, number: int, block: Block, weights: torch.Tensor) -> None:
    """A minibatch of five, forward and backward."""
    own, pool = block
    given = pooled.framed(block, torch.randn(rows, 5, own.channels, own.height, own.width, device="cuda"), fill=False)
    border = (2, 2) if number == 1 else (0, 0)
    forward = partial(pooled.forward, block, weights, given, border, last=number == 1, which=True)
    timed(f"{rows} rows, block {number}", LEARN, "FEW", forward)
    _, index = forward()
    assert index is not None
    slope = torch.randn(rows, 5, own.out_channels, pool.out_height, pool.out_width, device="cuda")
    back = partial(pooled.backward, block, weights, given, index, slope, torch.empty_like(weights))
    timed(f"{rows} rows, slopes {number}", ((tile, tile) for tile in SLOPES), "SLOPE", partial(back, first=True))
    if number > 1:
        timed(f"{rows} rows, slopes and back {number}", LEARN, "BACK", partial(back, first=False))


def tries(blocks: list[Block], weights: torch.Tensor) -> None:
    """A thousand images, the same for all rows, and what the first block makes of them."""
    first, second = blocks
    seen = pooled.framed(first, torch.randn(1, 1000, 1, 28, 28, device="cuda"), fill=True)
    one = partial(pooled.forward, first, weights, seen, (2, 2), last=True, which=False)
    timed("1000 images, block 1", TRY, "MANY", one)
    made, _ = one()
    two = partial(pooled.forward, second, weights, made, (0, 0), last=True, which=False)
    timed("1000 images, block 2", TRY, "MANY", two)


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    layers = plan(cnn((1, 28, 28), 10), (1, 28, 28))
    assert layers is not None
    chain = list(layers.layers)
    blocks = [found for at in range(len(chain)) if (found := pooled.block(chain[at:])) is not None]
    for rows in (50, 100):
        for number, block in enumerate(blocks, 1):
            learning(rows, number, block, torch.randn(rows, layers.weights, device="cuda"))
    tries(blocks, torch.randn(50, layers.weights, device="cuda"))


if __name__ == "__main__":
    main()
