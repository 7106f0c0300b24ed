"""All that decides a run, in one frozen, documented, checked model: equal experiments give equal records."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from surefed.core import ConfigError
from surefed.core.registry import nearest
from surefed.core.tables import read_table


def plain(value: Any) -> Any:
    """The same value without numpy's types."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return value


class Section(BaseModel):
    """A table of the experiment file. A key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, values: Any) -> Any:
        """Numbers of numpy become Python's, so that a sweep over an array writes the same file as one over a list."""
        return plain(values) if isinstance(values, dict) else values


class Named(Section):
    """A table that names something and holds its options; the options are checked by whatever is named."""

    model_config = ConfigDict(extra="allow")

    @property
    def options(self) -> dict[str, Any]:
        """What was set beyond the known fields."""
        return dict(self.model_extra or {})


class Data(Named):
    """Which samples, and how they are dealt out."""

    name: str = "digits"
    """A dataset (`surefed list datasets`), or your own as `module:function`; its options may follow."""
    clients: int | None = Field(None, ge=1, strict=True)
    """How many clients take part; default: everybody under the partition natural, else 20."""
    partition: str = "auto"
    """How samples are dealt out (`surefed list partitions`). auto: natural where the data says whose each sample is,
    else iid."""
    partition_options: dict[str, Any] = {}
    """Options of the partition, e.g. { alpha = 0.5 } for dirichlet."""
    min_samples: int | None = Field(None, ge=1, strict=True)
    """Fewest training samples a client may have; default: the partition's own."""
    test: Literal["auto", "published", "cut"] = "auto"
    """What is set aside for testing. published: the test part the data came with. cut: a random share, under natural
    of each client's own samples. auto: published where there is one and, under natural, the clients have samples in
    it."""
    test_share: float = Field(0.2, gt=0, lt=1)
    """Share of the samples set aside by `cut`; nobody trains on them."""
    invert: bool = False
    """Whether light and dark are exchanged: inputs become 1 - x, and the background as well."""
    background: float | None = None
    """The input value of an empty pixel, which triggers are painted against: 0 for light on dark, else 1; default: the
    dataset's own, after `invert`."""
    normalise: bool = False
    """Whether the network sees (x - mean) / std, by the dataset's usual figures; triggers are stamped before that."""


class Model(Named):
    """Which network."""

    name: str = "mlp"
    """A model (`surefed list models`) or your own as `module:attribute`; its options may follow."""


class Graph(Named):
    """Who hears whom."""

    name: str = "complete"
    """A graph (`surefed list graphs`) or any function that returns a networkx graph, e.g.
    `networkx:erdos_renyi_graph`, p = 0.3; its n and seed are the experiment's unless given."""


class Learn(Section):
    """How a client learns from its own samples within a round."""

    kind: Literal["auto", "variational", "ivon", "point"] = "auto"
    """variational: a belief over weights, by Adam. ivon: one by natural gradients. point: one weight vector, by SGD.
    auto: the rule's usual one."""
    batches: int = Field(5, ge=1, strict=True)
    """Minibatches a round."""
    batch_size: int = Field(5, ge=1, strict=True)
    """Samples in a minibatch."""
    learning_rate: float | None = Field(None, gt=0, le=10)
    """Default: 0.001 for variational (Adam), 0.01 for point (SGD), the paper's values; 0.01 for ivon."""
    rho: float = Field(-3.0, ge=-13.8, le=9.9)
    """Initial rho of every weight; the std is softplus(rho), 0.0486 for -3."""
    init: Literal["model", "zeros"] = "model"
    """Initial mean, the same for all clients: the model's own initialisation, or zeros."""
    samples: int = Field(1, ge=1, strict=True)
    """Weight draws averaged in each step (variational, ivon)."""
    prior: Literal["streaming", "fixed"] = "streaming"
    """streaming: the belief at the start of the round (the paper). fixed: N(0, prior_std^2), which ivon needs."""
    prior_std: float | None = Field(None, ge=1e-6, le=1e6)
    """Std of the fixed prior; default: softplus(rho)."""
    kl_weights: Literal["uniform", "blundell"] = "uniform"
    """How the batches of a round share the KL: alike, or halving from each to the next (variational)."""
    kl_scale: float = Field(1.0, ge=0, le=1e6)
    """Multiplies the KL; 1 is the free energy (variational, ivon)."""
    momentum: float = Field(0.9, ge=0, lt=1)
    """Momentum of SGD (point)."""
    keep_moments: bool = True
    """Whether the optimiser remembers across rounds."""
    moments: Literal["float32", "bfloat16"] = "float32"
    """How Adam's memory is kept; bfloat16 takes half the room, rounded at random (variational)."""
    published: Literal["float32", "bfloat16"] = "float32"
    """How beliefs are sent; bfloat16 takes half the room on the wire, rounded to the nearest."""
    early_stop: int = Field(0, ge=0, strict=True)
    """Stop a local belief after this many rounds in a row below its best held-out accuracy; 0 never stops it."""
    noise: Annotated[float, Field(gt=0, le=1e6)] | Literal["learned"] = 1.0
    """Where labels are numbers: the std of their noise. learned: one more weight per target, shared as any other."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of a client's own training samples that early stopping looks at; used only with early_stop."""


class Rule(Named):
    """How a client aggregates what its neighbours sent."""

    name: str = "surefed"
    """A rule (`surefed list rules`); its options may follow."""
    before: str | None = None
    """What is done to the messages before the rule sees them: nnm or bucketing (`surefed list before`)."""
    before_options: dict[str, Any] = {}
    """Options of the step before, e.g. { size = 2 } for bucketing."""


class Attack(Named):
    """Who lies, and how."""

    name: str = "none"
    """An attack (`surefed list attacks`); its options may follow."""
    malicious: float = Field(0.4, ge=0, lt=1)
    """Share of the clients that are malicious; without effect under the attack `none`."""
    which: Literal["random", "best", "worst"] = "random"
    """Which clients: drawn at random, or those that learn best or worst alone (the paper's third ablation)."""
    probe_rounds: int = Field(200, ge=1)
    """Rounds everybody learns alone, honestly, to find the best or the worst."""
    clients: tuple[str, ...] | None = None
    """Names of the malicious clients, instead of a share."""
    knowledge: Literal["omniscient", "own_data"] = "omniscient"
    """What liars know: every honest message before it is sent, or only what they learned honestly themselves."""
    start: int = Field(0, ge=0)
    """First round of the attack, counted from 0; before it, malicious clients behave."""
    stop: int | None = Field(None, ge=0)
    """Round from which malicious clients behave again."""

    @field_validator("clients", mode="before")
    @classmethod
    def _names(cls, clients: Any) -> Any:
        """Clients of a named dataset are called "0", "1", ...; their numbers will do."""
        return [str(name) for name in clients] if isinstance(clients, (list, tuple)) else clients


class Evaluate(Section):
    """When and how accuracy is measured."""

    every: int = Field(10, ge=1, strict=True)
    """Rounds between evaluations; the first and the last round are always evaluated."""
    draws: int = Field(0, ge=0, strict=True)
    """Also measure the accuracy averaged over this many weight draws; 0 measures that of the mean only."""
    trust: bool = True
    """Keep a snapshot of who trusts whom at each evaluation."""


class Experiment(Section):
    """All that decides a run: equal experiments give equal records."""

    name: str = "experiment"
    """For people; also names the default output folder."""
    seed: int = Field(0, ge=0, lt=2**63, strict=True)
    """Every random number of the run follows from it."""
    rounds: int = Field(1200, ge=1, strict=True)
    """Communication rounds."""
    checkpoint_every: int = Field(50, ge=1, strict=True)
    """Rounds between checkpoints; a killed run goes on from the last one."""
    data: Data = Data()
    model: Model = Model()
    graph: Graph = Graph()
    learn: Learn = Learn()
    rule: Rule = Rule()
    attack: Attack = Attack()
    evaluate: Evaluate = Evaluate()

    def __init__(self, **values: Any) -> None:
        """An experiment from plain values, or one error that names every key at fault."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError("\n".join(explain(problem) for problem in error.errors())) from None

    @field_validator("name")
    @classmethod
    def _one_line(cls, name: str) -> str:
        if not name.strip() or not name.isprintable():
            raise ValueError("a name is one line of text")
        return name

    @classmethod
    def of(cls, values: dict[str, Any]) -> Experiment:
        """An experiment from a table of plain values."""
        return cls(**values)

    @classmethod
    def read(cls, path: Path | str, settings: Iterable[str] = ()) -> Experiment:
        """An experiment from a TOML file, changed by settings such as `rule.kappa=4`."""
        path = Path(path)
        values = read_table(path, f"`surefed init {path}` writes one")
        return cls.of(apply(values, settings))

    def change(self, settings: Iterable[str]) -> Experiment:
        """The same experiment with settings such as `rule.kappa=4`."""
        return Experiment.of(apply(self.model_dump(exclude_unset=True), settings))

    def digest(self) -> str:
        """A digest of every value that decides the result; the name and the pace of checkpoints do not.

        That moments and messages are float32 goes without saying.
        """
        silent = {key for key in ("moments", "published") if getattr(self.learn, key) == "float32"}
        told = self.model_dump(exclude={"name": True, "checkpoint_every": True, "learn": silent})
        values = json.dumps(_canonical(told), sort_keys=True)
        return hashlib.blake2b(values.encode(), digest_size=16).hexdigest()


def apply(values: dict[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """Plain values changed by settings `a.b=value`, the value being TOML or, failing that, text."""
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set takes key=value, such as rule.kappa=4; not {setting!r}")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        *tables, last = key.strip().split(".")
        inner = values = _copy(values)
        for table in tables:
            inner = inner.setdefault(table, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"--set {setting}: {table!r} is a value, not a table")
        if last == "name" and len(tables) == 1:
            _forget_options(tables[0], inner, value)
        inner[last] = value
    return values


def _forget_options(table: str, values: dict[str, Any], name: Any) -> None:
    """Drop the options of what was named before: they belong to it, not to what is named now."""
    section: Any = Experiment.model_fields[table].annotation if table in Experiment.model_fields else None
    if not (isinstance(section, type) and issubclass(section, Named)):
        return
    if name != values.get("name", section.model_fields["name"].default):
        for option in set(values) - set(section.model_fields):
            del values[option]


def _canonical(value: Any) -> Any:
    """Equal values look equal: 14 and 14.0, a list and a tuple."""
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _copy(values: dict[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, dict) else value for key, value in values.items()}


def explain(problem: Any, root: type[BaseModel] | None = None) -> str:
    """One line on one key of an experiment, or of another model: what is wrong and what would be right."""
    *tables, key = [str(part) for part in problem["loc"]]
    where, given = ".".join([*tables, key]), problem["input"]
    section: Any = Experiment if root is None else root
    for table in tables:
        section = getattr(section, "model_fields", {}).get(table)
        section = section.annotation if section is not None else None
    if problem["type"] == "extra_forbidden":
        return f"unknown key {where!r}; {nearest(key, section.model_fields)}"
    if problem["type"] in ("model_type", "model_attributes_type"):
        return f"{where} is a table, not {given!r}; did you mean {where}.name = {given!r}?"
    message = problem["msg"].removeprefix("Value error, ").replace("valid tuple", "list, such as [1, 2]")
    if where == "attack.malicious":
        message += " (it is a share of the clients, such as 0.4)"
    return f"{where}: {message[0].lower()}{message[1:]}, not {given!r}"
