"""An experiment with every default written out."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from surefed.attacks import ATTACKS
from surefed.core import ConfigError
from surefed.core.registry import nearest, options
from surefed.data import DATASETS, PARTITIONS
from surefed.graphs import GRAPHS
from surefed.models import MODELS
from surefed.rules import RULES, Rule
from surefed.rules.before import BEFORE
from surefed.sim.experiment import Data, Experiment

GIVEN = "given"
"""The name of data, a model or a graph that was passed in Python and cannot be found by name."""

RATES = {"variational": 1e-3, "ivon": 0.01, "point": 1e-2}
"""The usual learning rate of each learner."""


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
    if kind == "ivon" and (learn.prior != "fixed" or learn.kl_scale == 0):
        raise ConfigError(
            'IVON weighs all samples of a client against a prior that stays: set learn.prior to "fixed", '
            "learn.prior_std to its std, such as 0.3, and leave learn.kl_scale above 0"
        )
    rate = learn.learning_rate or RATES[kind]
    changes: dict[str, Any] = {"kind": kind, "learning_rate": rate}
    if learn.prior == "fixed" and learn.prior_std is None:
        changes["prior_std"] = float(nn.functional.softplus(torch.tensor(learn.rho, dtype=torch.float64)))
    sections: dict[str, Any] = {"learn": learn.model_copy(update=changes)}
    for table, known in (("rule", RULES), ("attack", ATTACKS), ("model", MODELS), ("graph", GRAPHS)):
        section = getattr(experiment, table)
        if section.name in known:
            written = {**_defaults(known[section.name]), **section.options}
            sections[table] = section.model_copy(update=_inner(written) if table == "graph" else written)
    if experiment.rule.before in BEFORE:
        step = {**_defaults(BEFORE[experiment.rule.before]), **experiment.rule.before_options}
        sections["rule"] = sections.get("rule", experiment.rule).model_copy(update={"before_options": step})
    sections["data"] = written_out(experiment.data)
    for table, value in (("data", data), ("model", model), ("graph", graph)):
        if value is not None:
            section = getattr(experiment, table)
            kept = section.model_dump(include={"background", "normalise"}) if table == "data" else {}
            sections[table] = type(section)(name=GIVEN, **kept)
    return experiment.model_copy(update=sections)


def written_out(section: Data) -> Data:
    """[data] with the options of its dataset and of its partition written out, and no key that neither knows."""
    update: dict[str, Any] = {}
    if section.name in DATASETS:
        defaults = _defaults(DATASETS[section.name])
        known = {*options(DATASETS[section.name]), *Data.model_fields}
        for key in section.options:
            if key not in known:
                raise ConfigError(
                    f"unknown key 'data.{key}', neither a field of [data] nor an option of the dataset "
                    f"{section.name!r}; {nearest(key, known)}"
                )
        update = {key: value for key, value in defaults.items() if key not in Data.model_fields} | section.options
    if section.partition in PARTITIONS:
        least = {} if section.min_samples is None else {"min_samples": section.min_samples}
        if least and section.partition_options.get("min_samples", section.min_samples) != section.min_samples:
            raise ConfigError("data.min_samples and data.partition_options.min_samples differ; give one of them")
        dealt = _defaults(PARTITIONS[section.partition]) | section.partition_options | least
        update |= {"partition_options": dealt, "min_samples": None}  # one place, so that equal experiments look equal
    return section.model_copy(update=update)


def _defaults(factory: Any) -> dict[str, Any]:
    """The default of every option that has one, in the types that a file can hold."""
    defaults = {name: at.default for name, at in options(factory).items() if at.default is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in defaults.items()}


def _inner(options: dict[str, Any]) -> dict[str, Any]:
    """A graph's options with those of the graphs it is made of (`of`, or `graphs` in turn) written out as well."""
    of, given, turns = options.get("of"), options.get("of_options") or {}, options.get("graphs")
    if isinstance(of, str) and of in GRAPHS and isinstance(given, dict):
        options = {**options, "of_options": _inner({**_defaults(GRAPHS[of]), **given})}
    if isinstance(turns, (list, tuple)) and all(isinstance(turn, dict) for turn in turns):
        options = {**options, "graphs": [_inner({"rounds": 1, **turn}) for turn in turns]}
    return options
