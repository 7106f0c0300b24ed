"""One round: everybody learns, the malicious lie, everybody judges what the neighbours sent."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from surefed.attacks import Scene, Sent
from surefed.core import Belief
from surefed.learn import Lesson, Rows, distinct, draw_batches, early_stop, outputs, predict, values_at_once
from surefed.rules import Inspection, Outcome, Receivers
from surefed.sim.replay import Replay, steady, without_host
from surefed.sim.setup import Group, Setup
from surefed.sim.world import World


def begin(setup: Setup, senders: int | None = None) -> World:
    """Everybody starts from the same belief. A lone client says how many senders there will be."""
    rows = setup.learner.init(setup.start, setup.clients * len(setup.groups))
    senders = setup.clients if senders is None else senders
    state = setup.rule.init(setup.clients, senders, setup.network.weights)
    state = type(state)(*(value.to(setup.device) for value in state))
    nobody = torch.zeros(setup.clients, senders, dtype=torch.bool, device=setup.device)
    return World(0, rows, state, early_stop.start(setup.clients, setup.device), nobody)


def belief(setup: Setup, world: World, group: Group) -> Belief | None:
    """Everybody's belief of one group, if it is trained; a view that changes with the world. [client, weight]"""
    if group not in setup.groups:
        return None
    first = setup.groups.index(group) * setup.clients
    return world.rows.belief(slice(first, first + setup.clients))


def social(setup: Setup, world: World) -> Belief:
    """Everybody's social belief; a view that changes with the world. [client, weight]"""
    return world.rows.belief(slice(0, setup.clients))


def local(setup: Setup, world: World) -> Belief | None:
    """Everybody's local belief, if there is one; a view. [client, weight]"""
    return belief(setup, world, "local")


def predictions(setup: Setup, world: World, group: Group, inputs: Tensor, *, draws: int = 0) -> Tensor:
    """What everybody's belief of one group predicts for the same inputs. [client, sample, ...]

    Where all have pooled the same, one of them is asked.
    """
    first = setup.groups.index(group) * setup.clients
    rows = world.rows[first : first + setup.clients]
    if not draws and not setup.network.buffer_sizes:
        some, place = distinct(rows.mean)
        return predict(setup.network, rows.belief()[some], inputs)[place]
    noise = setup.streams["draws"]
    return predict(
        setup.network, rows.belief(), inputs, buffers=rows.buffers, draws=draws, noise=noise, round=world.round
    )


def play_round(setup: Setup, world: World, *, detail: bool = False) -> Inspection:
    """Everybody learns, the malicious lie, everybody judges what the neighbours sent. The world moves on by a round.

    On a GPU, rounds that nobody wants to know more about are captured once and replayed.
    """
    fast = not detail and steady(setup, world.round)
    return _replay(setup, world) if fast else _play(setup, world, detail)


def _play(setup: Setup, world: World, detail: bool) -> Inspection:
    previous, sent = speak(setup, world)
    return judge(setup, world, previous, sent, detail=detail)


def _replay(setup: Setup, world: World) -> Inspection:
    """The same round, from the graph that was captured of it; what the host keeps moves on here."""
    round = world.round
    if world.replay is None or not world.replay.serves(setup, round):
        world.replay = Replay(setup, round)

    def body() -> Inspection:
        world.round = round
        return _play(setup, world, False)

    inspection = world.replay.play(round, body)
    world.trusted, world.round = inspection.trusted, round + 1
    return inspection


def speak(setup: Setup, world: World) -> tuple[Belief, Sent]:
    """Everybody learns, the malicious lie: what everybody's social belief was before, and what goes out."""
    edges = setup.edges(world.round) if world.live is None else world.live.edges  # [receiver, sender]
    lying = setup.attack.tamper is not None and setup.attacking(world.round)
    before = social(setup, world)
    previous = before.clone() if lying or "previous" in setup.rule.needs else before
    learn(setup, world)
    return previous, as_sent(setup, lie(setup, world, previous, edges))


def as_sent(setup: Setup, sent: Sent) -> Sent:
    """What arrives of it: the numbers that the experiment's messages can hold."""
    return sent if setup.experiment.learn.published == "float32" else replace(sent, belief=sent.belief.rounded())


def judge(setup: Setup, world: World, previous: Belief, sent: Sent, *, detail: bool = False) -> Inspection:
    """Everybody judges what the neighbours sent, and the world moves on by a round."""
    outcome = setup.rule.step(receivers(setup, world, previous, sent, detail), sent.belief, sent.edges, world.state)
    inspection = by_client(outcome.inspection, sent, setup.clients)
    move_on(setup, world, outcome, inspection)
    return inspection


def move_on(setup: Setup, world: World, outcome: Outcome[Any], inspection: Inspection) -> None:
    """The world after a round: what the rule gave is everybody's social belief."""
    learned = social(setup, world)
    learned.mean.copy_(outcome.social.mean)
    learned.rho.copy_(outcome.social.rho)
    for mine, new in zip(world.state, outcome.state, strict=True):  # in place, where a captured round finds it again
        if new is not mine:
            mine.copy_(new)
    world.trusted = inspection.trusted
    world.round += 1


def learn(setup: Setup, world: World) -> None:
    """All beliefs of a client take its minibatches; a local belief that did worse and worse has stopped.

    Local beliefs that another world has just learned are taken from there.
    """
    plan, taught = setup.experiment.learn, lesson(setup, world)
    if world.lent is not None:
        setup.learner.learn(world.rows[world.own], taught)
        _take(world.rows[world.borrowed], world.lent)
        return
    if "local" not in setup.groups or not plan.early_stop:
        setup.learner.learn(world.rows, taught)
        return
    learn_unless_stopped(setup, world, taught)
    seen = early_stop.look(world.watch, held_out_accuracy(setup, world), plan.early_stop)
    for mine, new in zip(world.watch, seen, strict=True):  # in place, where a captured round finds it again
        mine.copy_(new)


def lesson(setup: Setup, world: World) -> Lesson:
    """What the world's own rows see in this round."""
    plan, rows = setup.experiment.learn, world.own
    first_half = (setup.sizes + 1) // 2

    def drawn(order: str, sizes: Tensor, skip: Tensor | int = 0) -> Tensor:
        batches = draw_batches(setup.streams[order], sizes, world.number, plan.batches, plan.batch_size, setup.longest)
        return batches + (setup.clean.starts + skip)[:, None, None]

    whole = drawn("order", setup.sizes)
    shares = {"social": (whole, setup.sizes), "local": (whole, setup.sizes)}
    if "half_a" in setup.groups:
        shares["half_a"] = (drawn("order_a", first_half), first_half)
        shares["half_b"] = (drawn("order_b", setup.sizes - first_half, first_half), setup.sizes - first_half)
    inputs, labels = setup.seen(world.round)
    groups = setup.groups[: rows.stop // setup.clients]
    return Lesson(
        inputs=inputs,
        labels=labels,
        batches=torch.cat([shares[group][0] for group in groups]),
        sizes=torch.cat([shares[group][1] for group in groups]),
        noise=setup.streams["noise"][rows],
        round=world.number,
    )


def learn_unless_stopped(setup: Setup, world: World, lesson: Lesson) -> None:
    """Social beliefs take the lesson, and so do those of the other groups that have not been stopped.

    A GPU that is to wait for nobody teaches all of them, and then puts those back that have.
    """
    learning = world.watch.learning
    if without_host(setup):
        others = world.rows[setup.clients :]
        before = others.clone()
        setup.learner.learn(world.rows, lesson)
        others.put_back(before, ~learning.repeat(len(setup.groups) - 1))
        return
    active = [torch.ones_like(learning) if group == "social" else learning for group in setup.groups]
    setup.learner.learn(world.rows, lesson, torch.cat(active))


def _take(rows: Rows, lent: Rows) -> None:
    """Rows become what was lent, in place, as far as a round looks at them."""
    rows.mean.copy_(lent.mean)
    rows.rho.copy_(lent.rho)
    rows.buffers.copy_(lent.buffers)


def lie(setup: Setup, world: World, previous: Belief, edges: Tensor) -> Sent:
    """What goes out over the network; the attackers know what their threat model lets them know."""
    learned, mine = social(setup, world), local(setup, world)
    if setup.attack.tamper is None or not setup.attacking(world.round):
        return Sent(learned, torch.arange(setup.clients, device=setup.device), edges)
    (bad, good), sees_all = setup.camps, setup.experiment.attack.knowledge == "omniscient"
    crowd = good if sees_all else bad
    scene = Scene(
        own=learned[bad],
        start=previous[bad],
        seen=learned[crowd],
        seen_start=previous[crowd],
        malicious=setup.malicious,
        edges=edges,
        round=world.number,
        omniscient=sees_all,
        own_local=None if mine is None else mine[bad],
        honest_local=mine[good] if mine is not None and sees_all else None,
        trusted=world.trusted if sees_all and world.round > 0 else None,
    )
    return setup.attack.send(learned, scene, setup.streams["lies"])


def receivers(setup: Setup, world: World, previous: Belief, sent: Sent, detail: bool) -> Receivers:
    """Everybody as a judge, with what the rule asked for and no more."""
    needs, lying = setup.rule.needs, setup.malicious[sent.sender]  # [message]
    return replace(
        judges(setup, world, previous, detail),
        malicious=(sent.edges & lying).sum(1) if "malicious" in needs else None,
        honest=~lying if "honest" in needs else None,
        senders=None if len(sent.sender) == setup.clients else sent.sender,
        degrees=(sent.edges.sum(1) - 1)[sent.sender] if "degrees" in needs else None,
    )


def judges(setup: Setup, world: World, previous: Belief, detail: bool) -> Receivers:
    """Everybody as a judge who knows of nobody but itself."""
    half_a, half_b = belief(setup, world, "half_a"), belief(setup, world, "half_b")
    needs = setup.rule.needs
    return Receivers(
        social=social(setup, world),
        round=world.round,
        rounds=setup.experiment.rounds,
        local=local(setup, world) if "local" in needs else None,
        local_learns=world.watch.learning,
        start=setup.start if "start" in needs else None,
        previous=previous if "previous" in needs else None,
        halves=(half_a, half_b) if half_a is not None and half_b is not None else None,
        loss=(lambda models, count: own_loss(setup, world, models, count)) if "loss" in needs else None,
        layers=setup.network.sizes,
        certain=setup.network.certain,
        detail=detail,
    )


def own_loss(setup: Setup, world: World, models: Tensor, count: int) -> Tensor:
    """Mean loss of every model on `count` samples of each receiver's own training data, fresh every round.

    Running statistics, where the network keeps some, are the receiver's own: nobody sends any.

    models: [model, weight]. Returns [receiver, model].
    """
    inputs, labels = setup.seen(world.round)
    fresh = draw_batches(setup.streams["fresh"], setup.sizes, world.number, 1, count, setup.longest)[:, 0]
    each = Belief(models, torch.zeros_like(models))

    def mean_loss(picked: Tensor, buffers: Tensor | None) -> Tensor:
        """picked: [receiver, sample] -> [receiver, model]"""
        predicted = predict(setup.network, each, inputs[picked.flatten()], buffers=buffers)
        per_sample = setup.network.likelihood.losses(predicted, labels[picked.flatten()])  # [model, receiver * count]
        return per_sample.view(len(models), -1, count).mean(-1).T

    picked = fresh + setup.clean.starts[:, None]
    if not setup.network.buffer_sizes:
        return mean_loss(picked, None)
    own = world.rows.buffers[: setup.clients, None].expand(-1, len(models), -1)
    return torch.cat([mean_loss(picked[at : at + 1], own[at]) for at in range(setup.clients)])


def by_client(inspection: Inspection, sent: Sent, clients: int) -> Inspection:
    """An inspection of messages as one of senders: what each receiver found in the message it heard of each client."""
    if len(sent.sender) == clients:
        return inspection
    heard = torch.zeros(len(sent.edges), clients, dtype=torch.int64, device=sent.edges.device)
    receiver, message = sent.edges.nonzero().T
    heard[receiver, sent.sender[message]] = message
    silent = torch.ones_like(heard, dtype=torch.bool)
    silent[receiver, sent.sender[message]] = False
    found = {
        field.name: value.gather(1, heard).masked_fill(silent, 0)
        for field in fields(inspection)
        if (value := getattr(inspection, field.name)) is not None and value.dim() == 2
    }
    return replace(inspection, **found)


def learn_alone(setup: Setup, rounds: int) -> Tensor:
    """Best mark in the test of every client when all learn honestly and alone; looked at every tenth round. [client]

    In classification the mark is the accuracy.
    """
    world = begin(setup)
    best = torch.full((setup.clients,), -torch.inf, device=setup.device)
    for done in range(1, rounds + 1):
        learn(setup, world)
        world.round += 1
        if done % 10 == 0 or done == rounds:
            predicted = predictions(setup, world, "social", setup.clean.test_inputs)
            marks = setup.network.likelihood.marks(predicted, setup.clean.test_labels)
            best = torch.maximum(best, marks.mean(-1))
    return best


@torch.no_grad()
def held_out_accuracy(setup: Setup, world: World) -> Tensor:
    """Accuracy, or the mean mark, of each local mean on the samples its own client held out of training. [client]"""
    first = setup.groups.index("local") * setup.clients
    mine = world.rows[first : first + setup.clients]
    network = setup.network
    inputs, labels = setup.seen(world.round)
    held = setup.clean.sizes - setup.sizes  # [client]
    turn = torch.arange(setup.most_held_out, device=held.device)
    where = (setup.clean.starts + setup.sizes)[:, None] + torch.minimum(turn, held[:, None] - 1)
    marks = torch.empty(where.shape, device=held.device)
    height = max(1, values_at_once(held.device) // (len(turn) * network.kept(inputs)))
    for at in range(0, setup.clients, height):
        part = slice(at, at + height)
        seen = where[part]
        found = outputs(network, mine.mean[part], inputs[seen], mine.buffers[part])
        marks[part] = network.likelihood.marks(network.likelihood.predictive([found]), labels[seen])
    counted = turn < held[:, None]
    return (marks * counted).sum(1) / held
