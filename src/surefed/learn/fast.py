"""Teach rows of plain networks with the kernels of the machine, where it has some."""

from __future__ import annotations

import functools

from torch import Tensor

from surefed.core import cuda
from surefed.core.native import fits
from surefed.learn import native
from surefed.learn.base import Lesson, Rows
from surefed.learn.functional import Network
from surefed.learn.likelihood import Categorical
from surefed.learn.native import Plan, Recipe


def plan_for(network: Network, rows: Rows, lesson: Lesson) -> Plan | None:
    """The plan by which kernels can teach this network, or None where torch must."""
    plain = network.certain is None and rows.buffers.numel() == 0 and isinstance(network.likelihood, Categorical)
    arrays = rows.mean, rows.rho, lesson.inputs
    if not plain or not rows.mean.is_contiguous() or not (fits(*arrays) or cuda.fits(*arrays)):
        return None
    return _plan(network, tuple(lesson.inputs.shape[1:]))


@functools.lru_cache(maxsize=16)
def _plan(network: Network, shape: tuple[int, ...]) -> Plan | None:
    return native.plan(network.module, shape)


def teach(network: Network, rows: Rows, lesson: Lesson, active: Tensor | None, recipe: Recipe) -> bool:
    """Let the active rows take all their batches, in place; False, and nothing done, where torch must."""
    plan = plan_for(network, rows, lesson)
    if plan is None:
        return False
    if not rows.mean.is_cuda:
        native.learn(plan, rows, lesson, active, recipe)
        return True
    from surefed.learn.cuda import knows, learn  # here, because it needs Triton

    if not knows(plan) or (active is not None and not bool(active.all())):
        return False
    learn(network, plan, rows, lesson, recipe)
    return True
