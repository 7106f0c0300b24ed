"""From an experiment to the things it names, checked against each other before any work is done."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass
from typing import Any

import networkx as nx
import torch
from torch import Tensor, nn

from surefed.attacks import ATTACKS, Attack
from surefed.core import ConfigError, DataError, Stream, generator
from surefed.core.registry import build, find, options
from surefed.core.streams import key
from surefed.data import DATASETS, Federation, cut
from surefed.graphs import GRAPHS, Graph, from_networkx
from surefed.learn import Learner, Network, Point, Variational
from surefed.models import MODELS
from surefed.rules import RULES, Rule
from surefed.sim.experiment import Experiment

GIVEN = "given"
"""The name of data, a model or a graph that was passed in Python and cannot be found by name."""


@dataclass(frozen=True)
class Setup:
    """Everything a round needs that does not change from round to round.

    clean is what the clients own; seen is what they train on, poisoned where they are malicious.
    sizes: int64 [client], how many samples each trains on; what is left of its samples is held out.
    """

    experiment: Experiment
    clean: Federation
    seen: tuple[Tensor, Tensor]
    sizes: Tensor
    network: Network
    learner: Learner
    rule: Rule[Any]
    attack: Attack
    graph: Graph
    malicious: Tensor
    order: Stream
    noise: Stream
    lies: Stream
    draws: Stream
    device: torch.device
    identity: str

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return self.clean.clients

    @property
    def has_local(self) -> bool:
        """Whether clients train a local belief beside the social one."""
        return "local" in self.rule.needs


def assemble(
    experiment: Experiment,
    *,
    data: Federation | None = None,
    model: nn.Module | None = None,
    graph: Graph | nx.Graph | None = None,
    device: torch.device | str = "cpu",
) -> Setup:
    """Build what an experiment names; data, model and graph may be given instead of named."""
    device = _device(device)
    rule = build(find(experiment.rule.name, RULES, "rule"), "rule", experiment.rule.name, experiment.rule.options)
    attack = build(
        find(experiment.attack.name, ATTACKS, "attack"), "attack", experiment.attack.name, experiment.attack.options
    )
    experiment = resolve(experiment, rule, data=data, model=model, graph=graph)
    clean = (_data(experiment) if data is None else data).to(device)
    sizes = _training_sizes(experiment, clean)
    network = Network((_model(experiment, clean) if model is None else model).to(device))
    network.check(clean.test_inputs, clean.classes)
    wiring = _graph(experiment, clean.clients, graph)
    malicious = _malicious(experiment, clean)
    streams = {purpose: Stream(experiment.seed, purpose, clean.ids, device) for purpose in ("order", "poison", "draws")}
    liars = [name for name, lies in zip(clean.ids, malicious.tolist(), strict=True) if lies]
    rows = [(name, belief) for belief in ("social", "local") for name in clean.ids]
    malicious = malicious.to(device)
    seen = attack.corrupt(clean.inputs, clean.labels, clean.sizes, malicious, clean.classes, streams["poison"])
    layout = repr((network.names, network.shapes, key(0, "weights", network.initial().cpu().numpy().tobytes())))
    identity = "\n".join([experiment.digest(), clean.fingerprint(), layout, repr(wiring.edges(0).cpu().tolist())])
    return Setup(
        experiment=experiment,
        clean=clean,
        seen=seen,
        sizes=sizes,
        network=network,
        learner=_learner(experiment, network),
        rule=rule,
        attack=attack,
        graph=wiring,
        malicious=malicious,
        order=streams["order"],
        noise=Stream(experiment.seed, "noise", rows, device),
        lies=Stream(experiment.seed, "lies", liars, device),
        draws=streams["draws"],
        device=device,
        identity=hashlib.blake2b(identity.encode(), digest_size=16).hexdigest(),
    )


def resolve(
    experiment: Experiment, rule: Rule[Any], *, data: object = None, model: object = None, graph: object = None
) -> Experiment:
    """The experiment with every default written out, so that its record does not depend on this version's."""
    learn = experiment.learn
    kind = rule.learner if learn.kind == "auto" else learn.kind
    if kind == "point" and "local" in rule.needs:
        raise ConfigError(
            f"the rule {experiment.rule.name!r} judges by the uncertainty of beliefs, which the learner 'point' does "
            'not have; set learn.kind to "variational"'
        )
    rate = learn.learning_rate or (1e-3 if kind == "variational" else 1e-2)
    sections: dict[str, Any] = {"learn": learn.model_copy(update={"kind": kind, "learning_rate": rate})}
    for table, known in (("rule", RULES), ("attack", ATTACKS), ("model", MODELS), ("graph", GRAPHS)):
        section = getattr(experiment, table)
        if section.name in known:
            defaults = {name: at.default for name, at in options(known[section.name]).items()}
            every = {name: list(value) if isinstance(value, tuple) else value for name, value in defaults.items()}
            sections[table] = section.model_copy(update={**every, **section.options})
    for table, value in (("data", data), ("model", model), ("graph", graph)):
        if value is not None:
            changes = {"name": GIVEN, "clients": value.clients} if isinstance(value, Federation) else {"name": GIVEN}
            sections[table] = type(getattr(experiment, table))(**changes)
    return experiment.model_copy(update=sections)


def _device(device: torch.device | str) -> torch.device:
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"cannot use the device {str(device)!r}: {str(error).splitlines()[0]}") from error
    return chosen


def _data(experiment: Experiment) -> Federation:
    section = experiment.data
    if section.name == GIVEN:
        raise ConfigError("this experiment's data was given in Python: run it with surefed.run(experiment, data=...)")
    dataset = build(find(section.name, DATASETS, "dataset"), "dataset", section.name, {})
    return cut(
        dataset,
        section.clients,
        partition=section.partition,
        options=section.partition_options,
        test_share=section.test_share,
        seed=experiment.seed,
    )


def _training_sizes(experiment: Experiment, data: Federation) -> Tensor:
    """Samples each client trains on, after holding out what early stopping looks at."""
    learn = experiment.learn
    held = (data.sizes * learn.held_out).ceil().long() if learn.early_stop else torch.zeros_like(data.sizes)
    sizes = data.sizes - held
    short = (sizes < learn.batch_size).nonzero().flatten().tolist()
    if short:
        name, has = data.ids[short[0]], int(sizes[short[0]])
        raise DataError(
            f"client {name} has {has} training samples, fewer than a batch of {learn.batch_size} "
            f"({len(short)} such clients); lower learn.batch_size, use fewer clients or another partition"
        )
    return sizes


def _model(experiment: Experiment, data: Federation) -> nn.Module:
    """Build the network under a seed of its own, so that it does not depend on what the process drew before."""
    section = experiment.model
    if section.name == GIVEN:
        raise ConfigError("this experiment's model was given in Python: run it with surefed.run(experiment, model=...)")
    factory = find(section.name, MODELS, "model")
    if isinstance(factory, nn.Module):
        return factory
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key(experiment.seed, "weights") >> 1)
        if section.name in MODELS:
            module = build(factory, "model", section.name, section.options, data.shape, data.classes)
        else:
            module = _own_model(factory, section.name, section.options, data)
    if not isinstance(module, nn.Module):
        raise DataError(f"the model {section.name!r} gave a {type(module).__name__}, not a torch.nn.Module")
    return module


def _own_model(factory: Any, name: str, given: dict[str, Any], data: Federation) -> Any:
    """Call somebody's own factory with its options, and with `shape` and `classes` if it asks for them."""
    asked = inspect.signature(factory).parameters
    told = {"shape": data.shape, "classes": data.classes}
    try:
        return factory(**{name: value for name, value in told.items() if name in asked}, **given)
    except TypeError as error:
        raise ConfigError(f"cannot build the model {name!r}: {error}") from error


def _graph(experiment: Experiment, clients: int, graph: Graph | nx.Graph | None) -> Graph:
    section = experiment.graph
    if graph is None:
        if section.name == GIVEN:
            raise ConfigError("this experiment's graph was given in Python: use surefed.run(experiment, graph=...)")
        factory = find(section.name, GRAPHS, "graph")
        if section.name in GRAPHS:
            graph = build(factory, "graph", section.name, section.options, clients)
        else:
            try:
                graph = factory(**section.options)
            except (TypeError, ValueError, nx.NetworkXException) as error:
                raise ConfigError(f"cannot build the graph {section.name!r}: {error}") from error
    wiring: Graph = graph if hasattr(graph, "clients") else from_networkx(graph)
    if wiring.clients != clients:
        raise DataError(f"the graph has {wiring.clients} nodes, but there are {clients} clients; make them equal")
    return wiring


def _malicious(experiment: Experiment, data: Federation) -> Tensor:
    """Who is malicious: the same clients whatever the rule, so that rules can be compared. bool [client]"""
    section = experiment.attack
    chosen = torch.zeros(data.clients, dtype=torch.bool)
    if section.name == "none":
        return chosen
    if section.clients is not None:
        unknown = sorted(set(section.clients) - set(data.ids))
        if unknown:
            raise ConfigError(f"attack.clients names {unknown[0]!r}, which is no client; clients are {data.ids[0]} ...")
        names = set(section.clients)
        if len(names) == data.clients:
            raise ConfigError("attack.clients names everybody; at least one client must be honest")
    else:
        # Drawn from sorted names, so that the order in which clients are listed does not matter.
        order = generator(experiment.seed, "malicious").permutation(data.clients)
        count = min(round(section.malicious * data.clients), data.clients - 1)
        names = {sorted(data.ids)[at] for at in order[:count]}
    return torch.tensor([name in names for name in data.ids])


def _learner(experiment: Experiment, network: Network) -> Learner:
    learn = experiment.learn
    assert learn.learning_rate is not None
    if learn.kind == "point":
        return Point(network, learn.learning_rate, learn.momentum, learn.rho, learn.keep_moments)
    return Variational(
        network,
        learning_rate=learn.learning_rate,
        rho=learn.rho,
        samples=learn.samples,
        prior=learn.prior,
        prior_std=learn.prior_std,
        kl_weights=learn.kl_weights,
        kl_scale=learn.kl_scale,
        keep_moments=learn.keep_moments,
    )
