"""Hand a round of learning to the kernels, rows shared out among threads."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_double, c_float, c_int64, c_void_p
from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.core import RHO_MAX, RHO_MIN
from surefed.core.native import library, shared
from surefed.learn.base import STEEPEST, Lesson, Rows
from surefed.learn.native.plan import Layer, Plan


class _Plan(ctypes.Structure):
    _fields_ = [
        ("layers", c_int64),
        ("weights", c_int64),
        ("batch", c_int64),
        ("classes", c_int64),
        ("layer", POINTER(Layer)),
    ]


class _Job(ctypes.Structure):
    """`Job` of learning.c."""

    _fields_ = [
        ("plan", _Plan),
        *((name, c_void_p) for name in ("inputs", "labels", "batches", "mean", "rho")),
        ("moment", c_void_p * 4),
        *((name, c_void_p) for name in ("steps", "key0", "key1", "which", "cost")),
        *((name, c_int64) for name in ("count", "turns", "round", "point", "fixed", "keep")),
        *((name, c_double) for name in ("rate", "decay", "decay_squares", "epsilon")),
        *((name, c_float) for name in ("momentum", "prior_std", "rho_min", "rho_max", "steepest")),
    ]


@dataclass(frozen=True)
class Recipe:
    """How a row is updated.

    cost: what the KL costs in each batch, float32 [row, batch]; None learns a point by SGD.
    prior_std: of a fixed prior around 0; None is the streaming prior.
    """

    rate: float
    keep: bool
    cost: Tensor | None = None
    prior_std: float | None = None
    decay: float = 0.9
    decay_squares: float = 0.999
    epsilon: float = 1e-8
    momentum: float = 0.0


def learn(plan: Plan, rows: Rows, lesson: Lesson, active: Tensor | None, recipe: Recipe) -> None:
    """The active rows take all their batches, in place, as many rows at once as torch has threads."""
    native = library()
    assert native is not None
    inputs, labels, batches = lesson.inputs.contiguous(), lesson.labels.contiguous(), lesson.batches.contiguous()
    keys = [key.contiguous() for key in lesson.noise.keys]
    which = torch.arange(len(rows.steps)) if active is None else active.nonzero().flatten()
    cost = None if recipe.cost is None else recipe.cost.float().contiguous()
    moments = [moment.data_ptr() for moment in rows.moments]
    job = _Job(
        plan=_Plan(len(plan.layers), plan.weights, batches.shape[2], plan.outputs, plan.layers),
        inputs=inputs.data_ptr(),
        labels=labels.data_ptr(),
        batches=batches.data_ptr(),
        mean=rows.mean.data_ptr(),
        rho=rows.rho.data_ptr(),
        moment=(c_void_p * 4)(*(moments + [None] * (4 - len(moments)))),
        steps=rows.steps.data_ptr(),
        key0=keys[0].data_ptr(),
        key1=keys[1].data_ptr(),
        which=which.data_ptr(),
        cost=None if cost is None else cost.data_ptr(),
        count=len(which),
        turns=batches.shape[1],
        round=int(lesson.round),
        point=int(cost is None),
        fixed=int(recipe.prior_std is not None),
        keep=int(recipe.keep),
        rate=recipe.rate,
        decay=recipe.decay,
        decay_squares=recipe.decay_squares,
        epsilon=recipe.epsilon,
        momentum=recipe.momentum,
        prior_std=recipe.prior_std or 0.0,
        rho_min=RHO_MIN,
        rho_max=RHO_MAX,
        steepest=STEEPEST,
    )
    shared(native.learn, len(which), ctypes.byref(job))
