"""One round: everybody learns, the malicious lie, everybody judges what the neighbours sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from surefed.attacks import Scene
from surefed.core import Belief
from surefed.learn import Lesson, Rows, Watch, draw_batches, early_stop
from surefed.rules import Inspection, Receivers
from surefed.sim.setup import Setup


@dataclass(slots=True)
class World:
    """All that changes from round to round.

    round: how many rounds are complete.
    rows: everybody's social beliefs, then, if the rule needs them, everybody's local ones.
    state: what the rule remembers.
    watch: what early stopping remembers.
    """

    round: int
    rows: Rows
    state: Any
    watch: Watch


def begin(setup: Setup) -> World:
    """Everybody starts from the same belief."""
    mean = setup.network.initial().to(setup.device)
    if setup.experiment.learn.init == "zeros":
        mean = torch.zeros_like(mean)
    rows = setup.learner.init(mean, setup.clients * (2 if setup.has_local else 1))
    state = setup.rule.init(setup.clients, setup.clients)
    return World(0, rows, state, early_stop.start(setup.clients, setup.device))


def social(setup: Setup, world: World) -> Belief:
    """Everybody's social belief; a view that changes with the world. [client, weight]"""
    return world.rows.belief(slice(0, setup.clients))


def local(setup: Setup, world: World) -> Belief | None:
    """Everybody's local belief, if there is one; a view. [client, weight]"""
    return world.rows.belief(slice(setup.clients, None)) if setup.has_local else None


def play_round(setup: Setup, world: World, *, detail: bool = False) -> Inspection:
    """Everybody learns, the malicious lie, everybody judges what the neighbours sent. The world moves on by a round."""
    edges = setup.graph.edges(world.round).to(setup.device)  # [receiver, sender]
    remembers = setup.attack.tamper is not None or "previous" in setup.rule.needs
    previous = social(setup, world).clone() if remembers else social(setup, world)
    learn(setup, world)
    learned = social(setup, world)
    sent = setup.attack.send(Scene(learned, previous, setup.malicious, edges, world.round), setup.lies)
    at = Receivers(
        social=learned,
        round=world.round,
        rounds=setup.experiment.rounds,
        local=local(setup, world),
        local_learns=world.watch.learning,
        previous=previous if remembers else None,
        malicious=(edges & setup.malicious).sum(1) if "malicious" in setup.rule.needs else None,
        detail=detail,
    )
    outcome = setup.rule.step(at, sent, edges, world.state)
    learned.mean.copy_(outcome.social.mean)
    learned.rho.copy_(outcome.social.rho)
    world.state = outcome.state
    world.round += 1
    return outcome.inspection


def learn(setup: Setup, world: World) -> None:
    """Social and local beliefs take the same minibatches; a local belief whose accuracy fell has stopped."""
    section, copies = setup.experiment.learn, 2 if setup.has_local else 1
    batches = draw_batches(setup.order, setup.sizes, world.round, section.batches, section.batch_size)
    lesson = Lesson(
        inputs=setup.seen[0],
        labels=setup.seen[1],
        batches=(batches + setup.clean.starts[:, None, None]).repeat(copies, 1, 1),
        sizes=setup.sizes.repeat(copies),
        noise=setup.noise,
        round=world.round,
    )
    if not (setup.has_local and section.early_stop):
        setup.learner.learn(world.rows, lesson)
        return
    active = torch.cat((torch.ones_like(world.watch.learning), world.watch.learning))
    setup.learner.learn(world.rows, lesson, active)
    world.watch = early_stop.look(world.watch, held_out_accuracy(setup, world), section.early_stop)


@torch.no_grad()
def held_out_accuracy(setup: Setup, world: World) -> Tensor:
    """Accuracy of each local mean on the samples its own client held out of training. [client]"""
    belief = local(setup, world)
    assert belief is not None
    held = setup.clean.sizes - setup.sizes  # [client]
    turn = torch.arange(int(held.max()), device=held.device)
    where = (setup.clean.starts + setup.sizes)[:, None] + torch.minimum(turn, held[:, None] - 1)
    right = torch.empty(where.shape, dtype=torch.bool, device=held.device)
    for part in torch.arange(setup.clients, device=held.device).split(64):
        seen = where[part]
        scores = setup.network.apply(setup.network.split(belief.mean[part]), setup.seen[0][seen])
        right[part] = scores.argmax(-1) == setup.seen[1][seen]
    counted = turn < held[:, None]
    return (right & counted).sum(1) / held
