"""A round of learning on a GPU: captured once as a CUDA graph, then replayed without the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
import triton
from torch import Tensor

from surefed.core import RHO_MAX, RHO_MIN
from surefed.learn.base import STEEPEST, Lesson, Rows
from surefed.learn.cuda import chain
from surefed.learn.cuda.update import draw, update
from surefed.learn.functional import Network
from surefed.learn.native.job import Recipe
from surefed.learn.native.plan import Plan

ROWS = 2048
"""Rows that learn together: what they need beyond their own state stays below a few GiB."""

GROUPS, WARPS = 2, 4
"""Groups of 256 weights to a program of the update; measured best on an H200."""

_CAPTURED: WeakKeyDictionary[Network, dict[tuple[Any, ...], Callable[[Lesson], None]]] = WeakKeyDictionary()


def learn(network: Network, plan: Plan, rows: Rows, lesson: Lesson, recipe: Recipe) -> None:
    """All rows take all their batches, in place. What was captured is used again for as long as the arrays stay."""
    arrays = (rows.mean, rows.rho, *rows.moments, rows.steps, lesson.inputs, lesson.labels, *lesson.noise.keys)
    name = (*(value.data_ptr() for value in arrays), tuple(lesson.batches.shape), recipe.rate, recipe.momentum)
    known = _CAPTURED.setdefault(network, {})
    if name not in known:
        if len(known) >= 4:
            known.clear()
        known[name] = _capture(plan, rows, lesson, recipe)
    known[name](lesson)


def _capture(plan: Plan, rows: Rows, lesson: Lesson, recipe: Recipe) -> Callable[[Lesson], None]:
    device = rows.mean.device
    batches, round = lesson.batches.clone(), torch.tensor([lesson.round], dtype=torch.int64, device=device)
    keys = tuple(key.contiguous() for key in lesson.noise.keys)
    costs = None if recipe.cost is None else recipe.cost.float().contiguous()

    def play() -> None:
        for first in range(0, len(rows.steps), ROWS):
            part = slice(first, first + ROWS)
            mine = (keys[0][part], keys[1][part])
            _block(plan, rows[part], lesson, batches[part], mine, None if costs is None else costs[part], round, recipe)

    def with_kernels(again: Callable[[], None]) -> Callable[[Lesson], None]:
        def replay(given: Lesson) -> None:
            batches.copy_(given.batches)
            round.fill_(given.round)
            again()

        replay.holds = (play, keys, costs)  # type: ignore[attr-defined]  # a graph holds on to addresses only
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
    with torch.cuda.graph(graph):
        play()
    return with_kernels(graph.replay)


def _block(
    plan: Plan,
    rows: Rows,
    lesson: Lesson,
    batches: Tensor,
    keys: tuple[Tensor, Tensor],
    costs: Tensor | None,
    round: Tensor,
    recipe: Recipe,
) -> None:
    """Some of the rows: all their batches."""
    weights = rows.mean.shape[1]
    slope = torch.empty_like(rows.mean)
    if not recipe.keep:
        rows.steps.zero_()
        for moment in rows.moments:
            moment.zero_()
    count, grid = batches.shape[1], (len(rows.mean), triton.cdiv(weights, 256 * GROUPS))
    if costs is None:
        for turn in range(count):
            _gradient(plan, rows.mean, lesson, batches[:, turn], slope)
            slope.masked_fill_(~torch.isfinite(slope.sum(1, keepdim=True)), 0.0).clamp_(-STEEPEST, STEEPEST)
            rows.moments[0].mul_(recipe.momentum).add_(slope)
            rows.mean.sub_(rows.moments[0], alpha=recipe.rate)
        rows.steps.add_(count)
        return
    drawn, centre, width = (torch.empty_like(rows.mean) for _ in range(3))
    taken = rows.steps[:, None] + torch.arange(1, count + 1, device=slope.device, dtype=torch.float64)
    rest = (1.0 - recipe.decay_squares**taken).sqrt()
    paces = (recipe.rate * rest / (1.0 - recipe.decay**taken)).float()  # [row, turn]
    leasts = (recipe.epsilon * rest).float()
    draw[grid](rows.mean, rows.rho, drawn, centre, width, *keys, round, weights, GROUPS=GROUPS)
    for turn in range(count):
        _gradient(plan, drawn, lesson, batches[:, turn], slope)
        finite = torch.isfinite(slope.sum(1)).to(torch.int32)
        update[grid](
            slope, rows.mean, rows.rho, *rows.moments, drawn, centre, width, *keys, paces, leasts, costs, finite, round,
            weights, turn, count, 1.0 - recipe.decay, recipe.decay_squares, 1.0 - recipe.decay_squares,
            RHO_MIN, RHO_MAX, STEEPEST, recipe.prior_std or 0.0, FIXED=recipe.prior_std is not None, GROUPS=GROUPS, num_warps=WARPS,
        )  # fmt: skip
    rows.steps.add_(count)


def _gradient(plan: Plan, weights: Tensor, lesson: Lesson, seen: Tensor, out: Tensor) -> None:
    inputs, labels = lesson.inputs[seen], lesson.labels[seen]
    chain.gradient(plan, weights, inputs, labels, out)
