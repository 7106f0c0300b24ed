"""From an experiment to the things it names, checked against each other before any work is done."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import replace
from typing import Any

import networkx as nx
import torch
from torch import Tensor, nn

from surefed.attacks import ATTACKS, Attack
from surefed.core import ConfigError, DataError, Stream, generator
from surefed.core.registry import build, find
from surefed.core.streams import key, seeding_torch
from surefed.data import Federation
from surefed.graphs import Graph, fitting, from_networkx, named
from surefed.learn import Categorical, Gaussian, Ivon, Learner, Likelihood, Network, Point, Variational
from surefed.models import MODELS
from surefed.rules import RULES, Rule
from surefed.rules.before import BEFORE, Before, preceded
from surefed.sim.data import federated, normalised
from surefed.sim.engine import learn_alone
from surefed.sim.experiment import Experiment
from surefed.sim.resolve import GIVEN, resolve
from surefed.sim.setup import Group, Setup


def assemble(
    experiment: Experiment,
    *,
    data: Federation | None = None,
    model: nn.Module | None = None,
    graph: Graph | nx.Graph | None = None,
    device: torch.device | str = "cpu",
) -> Setup:
    """Build what an experiment names; data, model and graph may be given instead of named."""
    place = _device(device)
    rule, attack = rule_of(experiment), attack_of(experiment)
    experiment = resolve(experiment, rule, data=data, model=model, graph=graph)
    clean, experiment = federated(experiment, data)
    clean = _numbers(clean.to(place))
    groups = groups_of(rule, attack)
    sizes = _training_sizes(experiment, clean, groups)
    if experiment.learn.early_stop and "local" in groups:
        clean = _mixed(clean, experiment.seed)
    likelihood, count = _likelihood(experiment, clean, attack)
    module = normalised(_model(experiment, clean, count, model), experiment, clean)
    network = Network(module.to(place), likelihood, count)
    network.check(clean.test_inputs, count)
    everybody_honest = Setup(
        experiment=experiment,
        clean=clean,
        poisoned=(clean.inputs, clean.labels),
        sizes=sizes,
        groups=("social",),
        network=network,
        learner=_learner(experiment, network),
        rule=rule,
        attack=attack,
        graph=_graph(experiment, clean.ids, graph),
        malicious=torch.zeros(clean.clients, dtype=torch.bool, device=place),
        streams=_streams(experiment.seed, clean.ids, [], ("social",), place),
        device=place,
        identity="",
    )
    malicious = _malicious(everybody_honest)
    liars = [name for name, bad in zip(clean.ids, malicious.tolist(), strict=True) if bad]
    streams = _streams(experiment.seed, clean.ids, liars, groups, place)
    owned = (clean.inputs, clean.labels, clean.sizes, malicious.to(place), clean.classes)
    return replace(
        everybody_honest,
        poisoned=attack.corrupt(*owned, streams["poison"], clean.background),
        groups=groups,
        malicious=malicious.to(place),
        streams=streams,
        identity=_identity(everybody_honest),
    )


def rule_of(experiment: Experiment) -> Rule[Any]:
    """The rule, and what comes before it."""
    section, name = experiment.rule, experiment.rule.before
    factory, beside = find(section.name, RULES, "rule"), type(section).model_fields
    rule: Rule[Any] = build(factory, "rule", section.name, section.options, gives=Rule, beside=beside)
    if name is None:
        if section.before_options:
            raise ConfigError("rule.before_options are options of rule.before, which is not set")
        return rule
    step = build(find(name, BEFORE, "step before a rule"), "step", name, section.before_options, gives=Before)
    return preceded(rule, step)


def attack_of(experiment: Experiment) -> Attack:
    """The attack."""
    section = experiment.attack
    factory, beside = find(section.name, ATTACKS, "attack"), type(section).model_fields
    return build(factory, "attack", section.name, section.options, gives=Attack, beside=beside)


def _identity(setup: Setup) -> str:
    """A digest of all that decides a run: the experiment, every sample, what the network computes, the graph."""
    parts = (
        setup.experiment.digest(),
        setup.clean.fingerprint(),
        setup.network.fingerprint(),
        setup.graph.fingerprint(),
    )
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _device(device: torch.device | str) -> torch.device:
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"cannot use the device {str(device)!r}: {str(error).splitlines()[0]}") from error
    return chosen


def groups_of(rule: Rule[Any], attack: Attack) -> tuple[Group, ...]:
    """Which beliefs have to be trained: only what the rule or the attack looks at."""
    groups: tuple[Group, ...] = ("social",)
    if "local" in rule.needs or attack.local:
        groups += ("local",)
    if "halves" in rule.needs:
        groups += ("half_a", "half_b")
    return groups


def _training_sizes(experiment: Experiment, data: Federation, groups: tuple[Group, ...]) -> Tensor:
    """Samples each client trains on, after holding out what early stopping looks at."""
    learn = experiment.learn
    stops = learn.early_stop and "local" in groups
    held = (data.sizes * learn.held_out).ceil().long() if stops else torch.zeros_like(data.sizes)
    sizes = data.sizes - held
    least = learn.batch_size * (2 if "half_a" in groups else 1)
    short = (sizes < least).nonzero().flatten().tolist()
    if short:
        name, has = data.ids[short[0]], int(sizes[short[0]])
        halves = ", in halves, as rule.kappa = 'auto' needs" if "half_a" in groups else ""
        raise DataError(
            f"client {name} has {has} training samples, fewer than a batch of {learn.batch_size}{halves} "
            f"({len(short)} such clients); lower learn.batch_size, use fewer clients or another partition"
        )
    return sizes


def _mixed(data: Federation, seed: int) -> Federation:
    """Every client's samples in a random order, so that the ones held out are like the others."""
    order = Stream(seed, "held_out", data.ids, data.sizes.device).order(data.sizes)
    inside = torch.arange(order.shape[1], device=order.device) < data.sizes[:, None]
    return data.reordered((order + data.starts[:, None])[inside])


def _numbers(data: Federation) -> Federation:
    """The federation, with labels that are numbers as float32 [sample, target]."""
    if data.classes:
        return data
    labels, tests = (value.float().view(len(value), -1) for value in (data.labels, data.test_labels))
    return replace(data, labels=labels, test_labels=tests)


def _likelihood(experiment: Experiment, data: Federation, attack: Attack) -> tuple[Likelihood, int]:
    """What a network's outputs mean, and how many classes or targets there are."""
    if data.classes:
        return Categorical(), data.classes
    if attack.poison is not None or attack.trigger is not None:
        raise ConfigError(
            f"the attack {experiment.attack.name!r} changes classes, and the labels of this data are numbers; choose "
            "an attack on what is sent"
        )
    noise = experiment.learn.noise
    return Gaussian(None if noise == "learned" else noise), data.labels.shape[1]


def _model(experiment: Experiment, data: Federation, count: int, given: nn.Module | None) -> nn.Module:
    """Build the network under a seed of its own, so that it does not depend on what the process drew before.

    count: how many classes or targets it tells apart.
    """
    section = experiment.model
    if given is not None:
        if not isinstance(given, nn.Module):
            raise DataError(f"the model must be a torch.nn.Module, not a {type(given).__name__}")
        return given
    if section.name == GIVEN:
        raise ConfigError("this experiment's model was given in Python: run it with surefed.run(experiment, model=...)")
    with seeding_torch(key(experiment.seed, "weights") >> 1):
        factory = find(section.name, MODELS, "model")
        if isinstance(factory, nn.Module):
            return factory
        if section.name in MODELS:
            return build(factory, "model", section.name, section.options, data.shape, count, gives=nn.Module)
        return _own_model(factory, section.name, section.options, data.shape, count)


def _own_model(factory: Any, name: str, given: dict[str, Any], shape: tuple[int, ...], count: int) -> nn.Module:
    """Call somebody's own factory with its options, and with `shape` and `classes` if it asks for them."""
    try:
        asked = inspect.signature(factory).parameters
        told = {"shape": shape, "classes": count}
        module = factory(**{name: value for name, value in told.items() if name in asked}, **given)
    except Exception as error:  # somebody's own code may fail in any way
        raise ConfigError(f"cannot build the model {name!r}: {error}") from error
    if not isinstance(module, nn.Module):
        raise DataError(f"the model {name!r} gave a {type(module).__name__}, not a torch.nn.Module")
    return module


def _graph(experiment: Experiment, ids: tuple[str, ...], given: Graph | nx.Graph | None) -> Graph:
    section = experiment.graph
    if given is not None:
        return fitting(given if hasattr(given, "fingerprint") else from_networkx(given), len(ids))
    if section.name == GIVEN:
        raise ConfigError("this experiment's graph was given in Python: use surefed.run(experiment, graph=...)")
    return named(section.name, section.options, clients=len(ids), seed=experiment.seed, ids=ids)


def _streams(
    seed: int, ids: tuple[str, ...], liars: list[str], groups: tuple[Group, ...], device: torch.device
) -> dict[str, Stream]:
    """Every random number of a run, by purpose."""
    purposes = ("order", "order_a", "order_b", "poison", "draws", "fresh")
    owners: dict[str, list[Any]] = {purpose: list(ids) for purpose in purposes}
    owners["noise"] = [(name, group) for group in groups for name in ids]
    owners["lies"] = list(liars)
    return {purpose: Stream(seed, purpose, whose, device) for purpose, whose in owners.items()}


def _malicious(honest: Setup) -> Tensor:
    """Who is malicious: the same clients whatever the rule, so that rules can be compared. bool [client]"""
    section, ids = honest.experiment.attack, honest.clean.ids
    if section.name == "none":
        return torch.zeros(len(ids), dtype=torch.bool)
    if section.clients is not None:
        unknown = sorted(set(section.clients) - set(ids))
        if unknown:
            raise ConfigError(
                f"attack.clients names {unknown[0]!r}, which is no client; clients are {ids[0]!r} to {ids[-1]!r}"
            )
        if len(set(section.clients)) == len(ids):
            raise ConfigError("attack.clients names everybody; at least one client must be honest")
        return torch.tensor([name in section.clients for name in ids])
    count = min(round(section.malicious * len(ids)), len(ids) - 1)
    if count == 0 and section.malicious > 0:
        raise ConfigError(
            f"a share of {section.malicious} of {len(ids)} clients is nobody; use more clients, or the attack 'none'"
        )
    if section.which == "random":
        # Drawn from sorted names, so that the order in which clients are listed does not matter.
        order = generator(honest.experiment.seed, "malicious").permutation(len(ids))
        chosen = [sorted(ids)[at] for at in order[:count]]
    else:
        quality = dict(zip(ids, learn_alone(honest, section.probe_rounds).tolist(), strict=True))
        ranked = sorted(ids, key=lambda name: (-quality[name], name))
        chosen = ranked[:count] if section.which == "best" else ranked[len(ids) - count :]
    return torch.tensor([name in chosen for name in ids])


def _learner(experiment: Experiment, network: Network) -> Learner:
    learn = experiment.learn
    assert learn.learning_rate is not None
    if learn.kind == "point":
        return Point(network, learn.learning_rate, learn.momentum, learn.rho, learn.keep_moments)
    shared = learn.model_dump(include={"learning_rate", "rho", "samples", "prior_std", "kl_scale", "keep_moments"})
    if learn.kind == "ivon":
        return Ivon(network, **shared)
    return Variational(network, prior=learn.prior, kl_weights=learn.kl_weights, moments=learn.moments, **shared)
