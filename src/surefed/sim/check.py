"""Find what is wrong with an experiment before its data is read, so that a sweep fails in its first second."""

from __future__ import annotations

from typing import Any

from surefed.attacks import ATTACKS, Attack
from surefed.core import ConfigError
from surefed.core.registry import Factory, build, find, nearest, options
from surefed.data import DATASETS
from surefed.graphs import GRAPHS
from surefed.models import MODELS
from surefed.rules import RULES, Rule
from surefed.rules.before import BEFORE, Before
from surefed.sim.experiment import Experiment, Named
from surefed.sim.resolve import resolve


def checked(experiment: Experiment) -> Experiment:
    """The experiment with every default written out, or an error that names what is wrong with it.

    What only the data can tell is left open: a partition or a test part called auto, the number of clients.
    """
    rule: Rule[Any] = _made(experiment.rule, RULES, "rule", Rule)
    _made(experiment.attack, ATTACKS, "attack", Attack)
    if experiment.rule.before is not None:
        name, given = experiment.rule.before, experiment.rule.before_options
        build(find(name, BEFORE, "step before a rule"), "step", name, given, gives=Before)
    _known(experiment.model, MODELS, "model")
    _known(experiment.graph, GRAPHS, "graph")
    find(experiment.data.name, DATASETS, "dataset")
    return resolve(experiment, rule)


def _made(section: Named, known: dict[str, Factory], kind: str, gives: type[Any]) -> Any:
    """What a table names, made with its options."""
    beside = type(section).model_fields
    name: str = section.name  # type: ignore[attr-defined]
    return build(find(name, known, kind), kind, name, section.options, gives=gives, beside=beside)


def _known(section: Named, known: dict[str, Factory], kind: str) -> None:
    """Check the names of a table's options; whoever is named checks their values once there is data."""
    name: str = section.name  # type: ignore[attr-defined]
    factory = find(name, known, kind)
    for option in section.options if name in known else ():
        if option not in options(factory):
            raise ConfigError(f"the {kind} {name!r} has no option {option!r}; {nearest(option, options(factory))}")
