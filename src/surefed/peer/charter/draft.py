"""A plain TOML file becomes a charter: every default written out, everything it names built and checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import Field, ValidationError, field_validator

from surefed.core import ConfigError, IdentityError
from surefed.core.registry import nearest
from surefed.core.tables import read_table
from surefed.data import Federation
from surefed.graphs import Graph as GraphOfRounds
from surefed.learn import Network
from surefed.peer.charter.charter import Charter
from surefed.peer.charter.file import charter_bytes, parse_charter
from surefed.peer.identity.members import Member
from surefed.peer.refused import Refused
from surefed.sim.assemble import assemble
from surefed.sim.experiment import Experiment, Graph, Learn, Model, Rule, Section
from surefed.sim.resolve import resolve


class Draft(Section):
    """What the founders agree on before anybody signs."""

    name: str
    """What people call the federation."""
    members: Annotated[tuple[str, ...], Field(min_length=1)]
    """The founding sites; their order is that of the simulator's clients."""
    shape: tuple[int, ...]
    """The shape of one input, such as [64] or [1, 28, 28]."""
    classes: int = Field(0, ge=0, strict=True)
    """Classes told apart; 0 where labels are numbers."""
    targets: int = Field(1, ge=1, strict=True)
    """Numbers predicted for each sample, where labels are numbers."""
    rounds: int = Field(ge=1, strict=True)
    """Rounds of the federation."""
    deadline: float = Field(60.0, gt=0)
    """Seconds after which a round goes on with whoever was heard."""
    staleness: int = Field(0, ge=0, strict=True)
    """Rounds that a belief may be older or newer than the round it is used in."""
    seed: int = Field(0, ge=0, lt=2**63, strict=True)
    """Every random number of the run follows from it."""
    approvals: int | None = Field(None, ge=1, strict=True)
    """How many members must sign an amendment; default: more than half of the founders."""
    malicious: int = Field(0, ge=0, strict=True)
    """How many malicious neighbours the rules that must be told reckon with."""
    chunk: int = Field(2**20, ge=1024, le=2**22, strict=True)
    """Bytes that are asked for at a time."""
    model: Model = Model()
    graph: Graph = Graph()
    learn: Learn = Learn()
    rule: Rule = Rule()

    @field_validator("members")
    @classmethod
    def _different(cls, members: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(members)) < len(members):
            raise ValueError("every site is named once")
        return members

    @classmethod
    def read(cls, path: Path) -> Draft:
        """A draft from a TOML file."""
        values = read_table(path, f"`surefed federation init {path}` writes one")
        return cls.of(values)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Draft:
        """A draft from plain values, or one error that names every key at fault."""
        try:
            return cls(**values)
        except ValidationError as error:
            raise ConfigError("\n".join(_explain(problem) for problem in error.errors())) from None

    def charter(self, members: Mapping[str, Member], authority: str) -> Charter:
        """The charter, still without signatures; members: the approved sites; authority: its fingerprint."""
        missing = [site for site in self.members if site not in members]
        if missing:
            raise IdentityError(
                f"no keys of {', '.join(missing)} were approved; approve with `surefed keys approve SITE.request`"
            )
        settled, network, graph = built(self)
        try:
            charter = Charter(
                name=self.name,
                authority=authority,
                founders=tuple(members[site] for site in self.members),
                approvals=self.approvals or len(self.members) // 2 + 1,
                weights=network.weights,
                model_digest=network.fingerprint(),
                graph_digest=graph.fingerprint(),
                **{table: getattr(settled, table) for table in ("model", "learn", "rule", "graph")},
                **self.model_dump(include=_SAME),
            )
            return parse_charter(charter_bytes(charter))
        except ValidationError as error:
            raise ConfigError("\n".join(_explain(problem) for problem in error.errors())) from None
        except (ValueError, Refused):
            raise ConfigError("an option has a value that a charter cannot hold, such as an infinite number") from None


_SAME = {"shape", "classes", "targets", "rounds", "deadline", "staleness", "seed", "malicious", "chunk"}


class Built(NamedTuple):
    """What terms come to: the experiment with every default written out, everybody's first network, the graph."""

    experiment: Experiment
    network: Network
    graph: GraphOfRounds


def built(terms: Draft | Charter) -> Built:
    """Build what the terms name, which runs a model's or a graph's own code, and check that it fits together."""
    sites = terms.members if isinstance(terms, Draft) else tuple(one.site for one in terms.founders)
    plan = Experiment(
        name=terms.name,
        seed=terms.seed,
        rounds=terms.rounds,
        model=terms.model,
        learn=terms.learn,
        rule=terms.rule,
        graph=terms.graph,
    )
    blank = _blank(sites, terms.shape, terms.classes, terms.targets, 2 * terms.learn.batch_size)
    trial = plan.model_copy(update={"learn": terms.learn.model_copy(update={"early_stop": 0})})
    setup = assemble(trial, data=blank)
    if "honest" in setup.rule.needs:
        raise ConfigError(f"the rule {terms.rule.name!r} must be told who is honest, which nobody knows here")
    return Built(resolve(plan, setup.rule), setup.network, setup.graph)


def check_built(charter: Charter) -> None:
    """Refuse a charter whose model or graph is not the one that is built here."""
    _, network, graph = built(charter)
    if network.weights != charter.weights:
        raise IdentityError(
            f"the model {charter.model.name!r} has {network.weights} weights here, and {charter.weights} in the "
            "charter; its code or options differ"
        )
    if network.fingerprint() != charter.model_digest:
        raise IdentityError(
            f"the model {charter.model.name!r} has the right number of weights, but its layers, its code or the "
            "weights it starts from are not those of the charter; use the same model code and the same version of torch"
        )
    if graph.fingerprint() != charter.graph_digest:
        raise IdentityError(
            f"the graph {charter.graph.name!r} is another here than in the charter; use the same file, or the same "
            "version of what makes it"
        )


def _blank(sites: tuple[str, ...], shape: tuple[int, ...], classes: int, targets: int, samples: int) -> Federation:
    """Data that holds nothing, to build things on."""
    count = len(sites) * samples
    labels = torch.zeros(count, dtype=torch.int64) if classes else torch.zeros(count, targets)
    if not shape or min(shape) < 1 or math.prod(shape) > 10**8:
        raise ConfigError(f"shape: the shape of one input is a list of positive numbers, not {list(shape)}")
    one = torch.zeros(1, *shape)
    inputs, sizes = one.expand(count, *shape), torch.full((len(sites),), samples)
    return Federation(inputs, labels, sizes, sites, inputs[:2], labels[:2], classes)


def _explain(problem: Any) -> str:
    """One line on one key: what is wrong and what would be right."""
    *tables, key = [str(part) for part in problem["loc"]] or [""]
    where = ".".join([*tables, key])
    section: Any = Draft if not tables else getattr(Draft.model_fields.get(tables[0]), "annotation", None)
    if problem["type"] == "extra_forbidden":
        return f"unknown key {where!r}; {nearest(key, getattr(section, 'model_fields', {}))}"
    if problem["type"] == "missing":
        return f"{where} is not set, and has no default"
    message = problem["msg"].removeprefix("Value error, ").replace("valid tuple", "list, such as [1, 2]")
    return f"{where}: {message[0].lower()}{message[1:]}" if where else message
