"""An experiment with every default written out."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from surefed.attacks import ATTACKS
from surefed.core import ConfigError
from surefed.core.registry import options
from surefed.data import PARTITIONS, Federation
from surefed.graphs import GRAPHS
from surefed.models import MODELS
from surefed.rules import RULES, Rule
from surefed.sim.experiment import Experiment

GIVEN = "given"
"""The name of data, a model or a graph that was passed in Python and cannot be found by name."""


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
    changes: dict[str, Any] = {"kind": kind, "learning_rate": rate}
    if learn.prior == "fixed" and learn.prior_std is None:
        changes["prior_std"] = float(nn.functional.softplus(torch.tensor(learn.rho, dtype=torch.float64)))
    sections: dict[str, Any] = {"learn": learn.model_copy(update=changes)}
    for table, known in (("rule", RULES), ("attack", ATTACKS), ("model", MODELS), ("graph", GRAPHS)):
        section = getattr(experiment, table)
        if section.name in known:
            sections[table] = section.model_copy(update={**_defaults(known[section.name]), **section.options})
    if experiment.data.partition in PARTITIONS:
        dealt = {**_defaults(PARTITIONS[experiment.data.partition]), **experiment.data.partition_options}
        sections["data"] = experiment.data.model_copy(update={"partition_options": dealt})
    for table, value in (("data", data), ("model", model), ("graph", graph)):
        if value is not None:
            section = getattr(experiment, table)
            kept = {"background": experiment.data.background} if table == "data" else {}
            if isinstance(value, Federation):
                kept["clients"] = value.clients
            sections[table] = type(section)(name=GIVEN, **kept)
    return experiment.model_copy(update=sections)


def _defaults(factory: Any) -> dict[str, Any]:
    """The default of every option that has one, in the types that a file can hold."""
    defaults = {name: at.default for name, at in options(factory).items() if at.default is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in defaults.items()}
