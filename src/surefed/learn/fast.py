"""Teach and ask rows of plain networks with the kernels of the machine, where it has some."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from torch import Tensor

from surefed.core import cuda
from surefed.core.native import fits
from surefed.learn import native
from surefed.learn.base import Lesson, Rows
from surefed.learn.functional import Network
from surefed.learn.likelihood import Categorical
from surefed.learn.native import Plan, Recipe

_PLANS: WeakKeyDictionary[Network, dict[tuple[int, ...], Plan | None]] = WeakKeyDictionary()
"""By the shape of inputs; networks that nobody uses any more are not kept for it."""


def plan_for(network: Network, rows: Rows, lesson: Lesson) -> Plan | None:
    """The plan by which kernels can teach this network, or None where torch must."""
    arrays = rows.mean, rows.rho, lesson.inputs
    if not plain(network, rows) or not isinstance(network.likelihood, Categorical):
        return None
    if not (fits(*arrays, *rows.moments) or cuda.fits(*arrays)):
        return None
    return _plan(network, tuple(lesson.inputs.shape[1:]))


def plain(network: Network, rows: Rows) -> bool:
    """Whether every weight has a posterior and nothing else moves while a row learns."""
    return network.certain is None and rows.buffers.numel() == 0 and rows.mean.is_contiguous()


def _plan(network: Network, shape: tuple[int, ...]) -> Plan | None:
    known = _PLANS.setdefault(network, {})
    if shape not in known:
        known[shape] = native.plan(network.module, shape)
    return known[shape]


def teach(network: Network, rows: Rows, lesson: Lesson, active: Tensor | None, recipe: Recipe) -> bool:
    """Let the active rows take all their batches, in place; False, and nothing done, where torch must.

    On a GPU, the slopes of networks that there are no kernels for are torch's; the update has a kernel for any.
    """
    plan = plan_for(network, rows, lesson)
    if not cuda.fits(rows.mean, rows.rho):
        if plan is None:
            return False
        native.learn(plan, rows, lesson, active, recipe)
        return True
    from surefed.learn.cuda import knows, learn  # here, because it needs Triton

    if plan is not None and not knows(plan):
        plan = None
    if plan is None and not (network.stacked and plain(network, rows)):
        return False
    if active is None or bool(active.all()):
        learn(network, plan, rows, lesson, recipe)
        return True
    idle = (~active).nonzero().flatten()
    before = rows[idle]  # a copy
    learn(network, plan, rows, lesson, recipe)
    rows[idle] = before
    return True


def outputs(network: Network, weights: Tensor, inputs: Tensor, buffers: Tensor | None = None) -> Tensor:
    """What `Network.apply` gives in prediction; on a GPU by kernels, where it has some for all layers.

    weights: [row, weight]. inputs: [row, sample, ...], or [1, sample, ...] where they are the same for all rows.
    """
    plan = None
    if network.stacked and not network.buffer_sizes and cuda.fits(weights, inputs):
        plan = _plan(network, tuple(inputs.shape[2:]))
    if plan is not None:
        from surefed.learn.cuda import knows, scores  # here, because it needs Triton

        if knows(plan):
            return scores(plan, weights.contiguous(), inputs)
    own = inputs.expand(len(weights), *inputs.shape[1:])
    return network.apply(network.split(weights), own, buffers=buffers)
