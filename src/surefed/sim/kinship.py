"""Which runs learn the same local beliefs: they follow from a client's own data, the seed and how it learns."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from surefed.attacks import Attack as Lies
from surefed.learn import Point, Variational
from surefed.learn.base import blocks
from surefed.learn.fast import plan_for
from surefed.rules import Rule as Judge
from surefed.sim.assemble import attack_of, groups_of, rule_of
from surefed.sim.check import checked
from surefed.sim.engine import lesson
from surefed.sim.experiment import Attack, Evaluate, Experiment, Graph, Rule
from surefed.sim.setup import Group, Setup
from surefed.sim.world import World

SHARED: tuple[Group, ...] = ("social", "local")
"""The beliefs of runs that may share their local ones."""


def likeness(experiment: Experiment) -> str | None:
    """A digest of what an experiment says of local beliefs, before its data is read; None where it shares none.

    Where it differs, local beliefs do; where it is equal, `kinship` decides.
    """
    said = checked(experiment)
    rule, attack = rule_of(said), attack_of(said)
    if not _shares(said, rule, attack):
        return None
    others = {"rounds": 1, "graph": Graph(), "rule": Rule(), "evaluate": Evaluate()}
    poison = said.attack if attack.poison is not None else Attack()
    return said.model_copy(update={**others, "attack": poison}).digest()


def kinship(setup: Setup, world: World) -> str | None:
    """A digest of all that decides local beliefs; None where they must be learned beside the social ones."""
    if not _shares(setup.experiment, setup.rule, setup.attack) or not _apart(setup, world):
        return None
    digest = hashlib.blake2b(digest_size=16)
    for part in (
        setup.experiment.learn.model_dump_json(),
        setup.clean.fingerprint(),
        setup.network.fingerprint(),
        str(setup.device),
        _poison(setup),
    ):
        digest.update(f"{part}\n".encode())
    for value in (setup.sizes, setup.start, *setup.streams["order"].keys, *setup.streams["noise"].keys):
        digest.update(_bytes(value))
    return digest.hexdigest()


def one_copy(mine: Setup, kin: Setup) -> Setup:
    """A setup with the samples of its kin, which are the same, so that they are in memory once."""
    arrays = {name: getattr(kin.clean, name) for name in ("inputs", "labels", "sizes", "test_inputs", "test_labels")}
    return replace(mine, clean=replace(mine.clean, **arrays), poisoned=kin.poisoned)


def _shares(experiment: Experiment, rule: Judge[Any], attack: Lies) -> bool:
    """Whether there are local beliefs beside the social ones, and nothing else that is learned or looked at."""
    return groups_of(rule, attack) == SHARED and not experiment.learn.early_stop


def _apart(setup: Setup, world: World) -> bool:
    """Whether social rows learn the same, to the bit, without the local ones beside them.

    The kernels in C take row by row; torch takes blocks of rows, and rounds as it did only where those stay the same.
    On a GPU runs that wait for nobody are faster than runs that learn less.
    """
    if not setup.network.stacked or setup.device.type == "cuda":
        return False
    network, learner, taught = setup.network, setup.learner, lesson(setup, world)
    simple = isinstance(learner, Point) or (isinstance(learner, Variational) and learner.samples == 1)
    if simple and plan_for(network, world.rows, taught) is not None:
        return True
    ends = [part.stop for part in blocks(network, world.rows, taught, None) if isinstance(part, slice)]
    return setup.clients in ends


def _poison(setup: Setup) -> str:
    """A digest of what is trained on instead of the clean samples, and when; empty where nothing is."""
    inputs, labels = setup.poisoned
    if torch.equal(inputs, setup.clean.inputs) and torch.equal(labels, setup.clean.labels):
        return ""
    digest = hashlib.blake2b(repr((setup.experiment.attack.start, setup.experiment.attack.stop)).encode())
    for value in (inputs, labels):
        digest.update(_bytes(value))
    return digest.hexdigest()


def _bytes(value: Tensor) -> bytes:
    """What a tensor holds, and in which shape and type."""
    array = value.cpu().contiguous().numpy()
    return f"{array.dtype}{array.shape}".encode() + array.tobytes()
