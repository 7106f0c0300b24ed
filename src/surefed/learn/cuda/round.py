"""A round of learning on a GPU: captured once as a CUDA graph, then replayed without the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import torch
import triton
from torch import Tensor

from surefed.core import RHO_MAX, RHO_MIN
from surefed.learn.base import STEEPEST, Lesson, Rows, slopes, values_at_once
from surefed.learn.cuda import chain
from surefed.learn.cuda.chain import Wide
from surefed.learn.cuda.update import bound, descend, draw, update
from surefed.learn.functional import Network
from surefed.learn.half import DITHER
from surefed.learn.masks import Masks
from surefed.learn.native.job import Recipe
from surefed.learn.native.plan import Plan

ROWS = 2048
"""Rows that learn together: what they need beyond their own state stays below a few GiB."""

GROUPS, WARPS = 2, 2
"""Groups of 256 weights to a program of the update; measured best on an H200."""

Slopes = Callable[[Tensor, int], tuple[Tensor, Wide]]
"""(weights [row, weight], turn) -> the slopes of the loss, and what those of the widest layer are made of."""

_CAPTURED: WeakKeyDictionary[Network, dict[tuple[Any, ...], Callable[[Lesson], None]]] = WeakKeyDictionary()


def learn(network: Network, plan: Plan | None, rows: Rows, lesson: Lesson, recipe: Recipe) -> None:
    """All rows take all their batches, in place. What was captured is used again for as long as the arrays stay.

    plan: the layers, where there are kernels for all of them; else torch differentiates. A lesson whose round is a
    tensor belongs to a round that is captured as a whole, and many rows need no capture.
    """
    if isinstance(lesson.round, Tensor) or len(rows.steps) > ROWS:
        _play(network, plan, rows, lesson, recipe)
        return
    arrays = (rows.mean, rows.rho, *rows.moments, rows.steps, lesson.inputs, lesson.labels, *lesson.noise.keys)
    name = (*(value.data_ptr() for value in arrays), tuple(lesson.batches.shape), recipe.rate, recipe.momentum)
    known = _CAPTURED.setdefault(network, {})
    if name not in known:
        if len(known) >= 4:
            known.clear()
        known[name] = _capture(network, plan, rows, lesson, recipe)
    known[name](lesson)


def _capture(
    network: Network, plan: Plan | None, rows: Rows, lesson: Lesson, recipe: Recipe
) -> Callable[[Lesson], None]:
    device = rows.mean.device
    round = torch.full((1,), int(lesson.round), dtype=torch.int64, device=device)
    own = replace(lesson, batches=lesson.batches.clone(), round=round)

    def play() -> None:
        _play(network, plan, rows, own, recipe)

    def with_kernels(again: Callable[[], None]) -> Callable[[Lesson], None]:
        def replay(given: Lesson) -> None:
            own.batches.copy_(given.batches)
            round.fill_(int(given.round))
            again()

        replay.holds = play  # type: ignore[attr-defined]  # a graph holds on to addresses only
        return replay

    if not rows.mean.is_cuda:  # the kernels interpreted, for tests
        return with_kernels(play)
    changed = (rows.mean, rows.rho, *rows.moments, rows.steps)
    saved = [value.clone() for value in changed]
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        play()  # compiles the kernels, which a capture must not
    torch.cuda.current_stream(device).wait_stream(stream)
    for value, before in zip(changed, saved, strict=True):
        value.copy_(before)
    del saved
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):  # its own, since libraries keep scratch by stream
        play()
    return with_kernels(graph.replay)


def _play(network: Network, plan: Plan | None, rows: Rows, lesson: Lesson, recipe: Recipe) -> None:
    """All rows, as many together as there is room for."""
    device, height = rows.mean.device, ROWS
    round = lesson.round
    if not isinstance(round, Tensor):
        round = torch.full((1,), round, dtype=torch.int64, device=device)
    if plan is None:
        per_row = lesson.batches.shape[2] * network.kept(lesson.inputs)
        height = max(1, min(ROWS, values_at_once(device) // per_row))
    costs = None if recipe.cost is None else recipe.cost.float()
    for first in range(0, len(rows.steps), height):
        part = slice(first, first + height)
        block, noise = rows[part], lesson.noise[part]
        turns = lesson.batches[part].transpose(0, 1).contiguous()  # [turn, row, sample]
        inputs, labels = lesson.inputs[turns], lesson.labels[turns]
        if plan is not None:
            by = _by_kernels(plan, block, inputs, labels)
        else:
            by = _by_torch(network, block, inputs, labels, [Masks(noise, round, turn) for turn in range(len(turns))])
        if costs is None:
            _descend(block, by, len(turns), recipe)
        else:
            _believe(block, by, len(turns), noise.keys, costs[part].contiguous(), round, recipe)


def _by_kernels(plan: Plan, block: Rows, inputs: Tensor, labels: Tensor) -> Slopes:
    """inputs: [turn, row, sample, ...]; labels: [turn, row, sample]"""
    out, seen = torch.empty_like(block.mean), chain.framed(plan, inputs)
    wide = chain.widest(plan, labels.shape[2])
    return lambda weights, turn: (out, chain.gradient(plan, weights, seen[turn], labels[turn], out, wide))


def _by_torch(network: Network, block: Rows, inputs: Tensor, labels: Tensor, masks: list[Masks]) -> Slopes:
    def by(weights: Tensor, turn: int) -> tuple[Tensor, Wide]:
        return slopes(network, weights, inputs[turn], labels[turn], masks[turn], block.buffers), Wide()

    return by


def _descend(rows: Rows, by: Slopes, turns: int, recipe: Recipe) -> None:
    """Points: SGD with momentum."""
    (moment,) = rows.moments
    if not recipe.keep:
        rows.steps.zero_()
        moment.zero_()
    count, weights = rows.mean.shape
    sums = rows.mean.new_empty(count)
    for turn in range(turns):
        slope, wide = by(rows.mean, turn)
        _sum(slope, wide, sums)
        descend[(count, triton.cdiv(weights, 1024))](
            slope, sums, rows.mean, moment, recipe.rate, recipe.momentum, STEEPEST, WEIGHTS=weights, BLOCK=1024
        )
    rows.steps.add_(turns)


def _sum(slope: Tensor, wide: Wide, sums: Tensor) -> None:
    """The sum of every row's slopes or a bound on it, into `sums`: no number if one of them is none."""
    if wide.given is None:
        torch.sum(slope, 1, out=sums)
        return
    bound[(len(slope),)](
        slope, wide.given, wide.slopes, sums, WEIGHTS=slope.shape[1], **wide.shape, BLOCK=1024, num_warps=8
    )


def _believe(
    rows: Rows, by: Slopes, turns: int, keys: tuple[Tensor, Tensor], costs: Tensor, round: Tensor, recipe: Recipe
) -> None:
    """Beliefs: Adam on mean and rho, with drawn weights."""
    if not recipe.keep:
        rows.steps.zero_()
        for moment in rows.moments:
            moment.zero_()
    count, weights = rows.mean.shape
    grid = (count, triton.cdiv(weights, 256 * GROUPS))
    drawn, centre, width = (torch.empty_like(rows.mean) for _ in range(3))
    sums = rows.mean.new_empty(count)
    taken = rows.steps[:, None] + torch.arange(1, turns + 1, device=sums.device, dtype=torch.float64)
    rest = (1.0 - recipe.decay_squares**taken).sqrt()
    paces = (recipe.rate * rest / (1.0 - recipe.decay**taken)).float()  # [row, turn]
    leasts = (recipe.epsilon * rest).float()
    draw[grid](rows.mean, rows.rho, drawn, centre, width, *keys, round, weights, GROUPS=GROUPS, num_warps=WARPS)
    for turn in range(turns):
        slope, wide = by(drawn, turn)
        _sum(slope, wide, sums)
        update[grid](
            slope, rows.mean, rows.rho, *rows.moments, drawn, centre, width, *keys, paces, leasts, costs,
            sums, round, turn, turns, 1.0 - recipe.decay, recipe.decay_squares, 1.0 - recipe.decay_squares,
            RHO_MIN, RHO_MAX, STEEPEST, recipe.prior_std or 0.0, WEIGHTS=weights,
            FIXED=recipe.prior_std is not None, HALF=rows.moments[0].dtype == torch.bfloat16, DITHER=DITHER, GROUPS=GROUPS, num_warps=WARPS,
        )  # fmt: skip
    rows.steps.add_(turns)
