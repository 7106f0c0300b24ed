"""The claims of the paper's section 5, each decided by code from the cells that were measured.

A claim is not measured where a cell is missing that could change the verdict; rehearsals (`--quick`) measure nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from surefed.report import ablations, paper_figures, verdicts
from surefed.report.evidence import Evidence
from surefed.report.judging import Finding, Verdict
from surefed.report.names import ATTACKS, DATASETS, FORMS, METHODS, NON_STEALTHY, called
from surefed.report.results import Sweep
from surefed.report.table import Entry, Table, Tone

LOUD = tuple(attack for attack in NON_STEALTHY if attack != "alie")
TONES: dict[Verdict, Tone] = {Verdict.HOLDS: "good", Verdict.PART: "fair", Verdict.NOT: "bad", Verdict.UNKNOWN: "dim"}


@dataclass(frozen=True)
class Claim:
    """text: what is claimed; source: where; test: how it is decided, in words and in code."""

    text: str
    source: str
    test: str
    decide: Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Decided:
    """A claim, its verdict, and a sentence with the figures."""

    claim: Claim
    verdict: Verdict
    sentence: str


def decide(sweeps: Iterable[Sweep]) -> list[Decided]:
    """Every claim, decided; where SureFED was not run as it is, another form of it is told of beside."""
    sweeps = list(sweeps)
    evidence, others = Evidence(sweeps), {form: Evidence(sweeps, form) for form in FORMS[1:]}
    return [Decided(claim, *_decided(claim, evidence, others)) for claim in claims()]


def _decided(claim: Claim, evidence: Evidence, others: Mapping[str, Evidence]) -> Finding:
    verdict, sentence = claim.decide(evidence)
    if verdict is not Verdict.UNKNOWN:
        return verdict, sentence
    found = {form: claim.decide(other) for form, other in others.items()}
    told = [
        f"{called(form, METHODS)}: {one.value}. {said}" for form, (one, said) in found.items() if one is not verdict
    ]
    return verdict, " ".join([sentence, *told])


def table(decided: Iterable[Decided]) -> Table:
    """The claims as a table."""
    rows = [
        [Entry(one.claim.text, (one.claim.source,)), Entry(one.verdict.value, tone=TONES[one.verdict]),
         Entry(one.sentence, (f"Test: {one.claim.test}",))]
        for one in decided
    ]  # fmt: skip
    return Table("claims", "The paper's claims", ["Claim", "Verdict", "Figures"], rows, words=frozenset({0, 1, 2}))


def claims() -> list[Claim]:
    """The claims, dataset by dataset, then the ablations."""
    found: list[Claim] = []
    for dataset, benign in paper_figures.BENIGN.items():
        found += _of_tables(dataset, benign)
        if dataset in paper_figures.BACKDOOR:
            found += _of_trojan(dataset)
    found += [
        Claim(
            "In their worst case over datasets and attacks, the other methods have 6 % accuracy on average",
            "Section 5, Results; Fig. worst",
            "at most 16 %; in part: each at least 10 points below SureFED's worst case",
            verdicts.average_worst,
        ),
        Claim(
            "SureFED is robust at every share of malicious clients, from none to 90 %",
            "Section 5, first ablation; Fig. mnist:maj",
            "at most 5 points below the accuracy with none; in part: so up to half or more",
            ablations.shares,
        ),
        Claim(
            "Incomplete and time-varying graphs do not hurt",
            "Section 5, second ablation; tab:cifar10:graph",
            "both within 1 point of the complete graph",
            partial(ablations.like, "graph", "graph.name", "complete", ("drop_edges", "time_varying")),
        ),
        Claim(
            "It does not matter whether the best or the worst clients are attacked",
            "Section 5, third ablation; tab:clientchoose",
            "both within 1 point of clients chosen at random",
            partial(ablations.like, "which", "attack.which", "random", ("best", "worst")),
        ),
        Claim(
            "kappa is easily tuned to be robust and to do well when nobody lies",
            "Section 3, on the aggregation rule, which promises it of the experiments",
            "half or more of the values tried are within 1 point of the best, under label flip and when nobody "
            "lies; in part: one is",
            ablations.kappa,
        ),
    ]
    return found


def _of_tables(dataset: str, benign: int) -> list[Claim]:
    name, source = called(dataset, DATASETS), f"Section 5, Results; tab:{dataset}:table"
    names = ", ".join(called(attack, ATTACKS).lower() for attack in LOUD).replace("gaussian", "Gaussian")
    return [
        Claim(
            f"{name}: benign training reaches {benign} %", source, "at most 1 point below; in part: at most 5",
            partial(verdicts.benign, dataset),
        ),
        Claim(
            f"{name}: SureFED matches benign training under {names}", source, "at most 1 point below, under each",
            partial(verdicts.matches, dataset, "surefed", LOUD),
        ),
        Claim(
            f"{name}: SureFED matches benign training under ALIE", source, "at most 1 point below",
            partial(verdicts.matches, dataset, "surefed", ("alie",)),
        ),
        Claim(
            f"{name}: so does the paper's rule to the letter, kappa 2, under all five", f"{source}; appendix, kappa",
            "at most 1 point below SureFED's benign training, under each",
            partial(verdicts.matches, dataset, "surefed_paper", NON_STEALTHY),
        ),
        Claim(
            f"{name}: SureFED surpasses each baseline under each attack", source,
            "not below it by more than a point, in all 25 pairs; in part: in half or more",
            partial(verdicts.surpasses, dataset),
        ),
        Claim(
            f"{name}: SureFED's worst case is better than each baseline's", f"{source}; Fig. worst",
            "higher than all five; in part: than some", partial(verdicts.worst_case, dataset),
        ),
        Claim(
            f"{name}: each baseline fails significantly under some attack", source,
            "10 points or more below benign training, each; in part: some", partial(verdicts.failures, dataset),
        ),
    ]  # fmt: skip


def _of_trojan(dataset: str) -> list[Claim]:
    name, source = called(dataset, DATASETS), "Section 5, Trojan; tab:trojan"
    printed = paper_figures.BACKDOOR[dataset]["surefed"][1]
    return [
        Claim(
            f"{name}: the Trojan leaves the main task alone, whatever the method", source,
            "at most 5 points below benign training, each; in part: some", partial(verdicts.stealth, dataset),
        ),
        Claim(
            f"{name}: the backdoor reaches {printed} % under SureFED", source,
            "at most 5 points more, under every seed; in part: less than under each baseline",
            partial(verdicts.backdoor, dataset),
        ),
        Claim(
            f"{name}: SureFED alone keeps the backdoor low", source,
            "below 50 % under SureFED, with every seed, and not under any baseline; in part: lowest under SureFED",
            partial(verdicts.alone, dataset),
        ),
    ]  # fmt: skip
