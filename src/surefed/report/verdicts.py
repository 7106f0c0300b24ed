"""How claims are decided: each function looks at the figures and gives a verdict and a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from surefed.report import paper_figures
from surefed.report.evidence import Evidence
from surefed.report.names import ATTACKS, BASELINES, CLEAN, DATASETS, METHODS, NON_STEALTHY, TROJAN, called
from surefed.report.tables import CLOSE, points, signed

FAILURE = 0.10
"""Points below clean that are a significant failure."""
ROBUST = 0.05
"""Points that a robust method may lose."""
LOW = 0.50
"""A backdoor accuracy that is no longer low."""
SHARES = tuple(f"{share / 10:g}" for share in range(10))
ROUNDING, FEW = 1e-9, 4


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    PART = "holds in part"
    NOT = "does not hold here"
    UNKNOWN = "not measured"


Finding = tuple[Verdict, str]


def _missing(figures: Mapping[str, float | None], known: Mapping[str, str]) -> Finding | None:
    """What to say where a cell is missing."""
    gone = [called(name, known) for name, figure in figures.items() if figure is None]
    if not gone:
        return None
    if len(gone) == len(figures):
        return Verdict.UNKNOWN, "No cell that would tell."
    more = f" and {len(gone) - FEW} more" if len(gone) > FEW else ""
    return Verdict.UNKNOWN, f"Missing: {', '.join(gone[:FEW])}{more}."


def _judged(
    figures: Mapping[str, float | None],
    known: Mapping[str, str],
    needed: Iterable[str],
    judge: Callable[[dict[str, float]], Finding],
) -> Finding:
    """The finding, also where figures are missing that could not change it.

    Every figure that may be missing must count in one direction only. Where one could change the verdict, the claim is
    not measured, and the sentence tells what the figures show that are there.

    Args:
        needed: those without which nothing can be told.
        judge: decides from the figures that are there; what it is given is its own to change.
    """
    there, missing = _there(figures), _missing(figures, known)
    if missing is None:
        return judge(there)
    if not set(needed) < there.keys():
        return missing
    verdict, sentence = judge(dict(there))
    least, most = (judge({**dict.fromkeys(figures, value), **there})[0] for value in (-math.inf, math.inf))
    if least is most:
        return least, f"{sentence} {missing[1]} The verdict stands without."
    return Verdict.UNKNOWN, f"{missing[1]} As far as measured: {verdict.value}. {sentence}"


def _there(figures: Mapping[str, float | None]) -> dict[str, float]:
    return {name: figure for name, figure in figures.items() if figure is not None}


def _all_or_some(found: Iterable[bool]) -> Verdict:
    held = list(found)
    return Verdict.HOLDS if all(held) else Verdict.PART if any(held) else Verdict.NOT


def _listed(figures: Mapping[str, float], known: Mapping[str, str]) -> str:
    return ", ".join(f"{called(name, known)} {points(figure)}" for name, figure in figures.items())


def _at(evidence: Evidence, dataset: str) -> str:
    return f"({evidence.extent(dataset)})"


def benign(dataset: str, evidence: Evidence) -> Finding:
    """Whether SureFED reaches the paper's accuracy where nobody lies."""
    evidence = evidence.fair(dataset, ("surefed",), (CLEAN,))
    ours = evidence.score(dataset, "surefed", CLEAN)
    if ours is None:
        return Verdict.UNKNOWN, "No cell that would tell."
    below = paper_figures.BENIGN[dataset] / 100 - ours
    verdict = Verdict.HOLDS if _within(below, CLOSE) else Verdict.PART if _within(below, ROBUST) else Verdict.NOT
    return verdict, f"{points(ours)} % here, {signed(-below)} points {_at(evidence, dataset)}."


def _within(below: float, limit: float) -> bool:
    return below <= limit + ROUNDING


def matches(dataset: str, method: str, attacks: tuple[str, ...], evidence: Evidence) -> Finding:
    """Whether a method is as good under these attacks as SureFED where nobody lies."""
    everything, evidence = evidence, evidence.fair(dataset, {"surefed", method}, (CLEAN, *attacks))
    figures = {attack: evidence.score(dataset, method, attack) for attack in attacks}
    figures[CLEAN] = evidence.score(dataset, "surefed", CLEAN)

    def judge(there: dict[str, float]) -> Finding:
        clean = there.pop(CLEAN)
        verdict = _all_or_some(_within(clean - figure, CLOSE) for figure in there.values())
        bound = _told_who_lies(dataset, evidence, everything)
        return verdict, f"Clean {points(clean)} %; {_listed(there, ATTACKS)} {_at(evidence, dataset)}.{bound}"

    return _judged(figures, ATTACKS, (CLEAN,), judge)


def _told_who_lies(dataset: str, evidence: Evidence, everything: Evidence) -> str:
    """What is reached by who hears no liar, and does not care what these send; on the same seeds, if on any of them."""
    for given in (evidence, everything):
        bounds = [figure for attack in NON_STEALTHY if (figure := given.score(dataset, "oracle", attack)) is not None]
        if bounds:
            seeds = max(given.seeds(dataset, "oracle", attack) for attack in NON_STEALTHY)
            fewer = seeds < evidence.seeds(dataset, "surefed", CLEAN)
            of = f" ({seeds} seed{'s' if seeds > 1 else ''})" if fewer else ""
            return f" Told who lies, without their data: {points(min(bounds))}{of}."
    return ""


def surpasses(dataset: str, evidence: Evidence) -> Finding:
    """Whether SureFED is ahead of each baseline under each attack."""
    names = ("surefed", *BASELINES)
    evidence = evidence.fair(dataset, names, NON_STEALTHY)
    scores = {f"{m} / {a}": evidence.score(dataset, m, a) for m in names for a in NON_STEALTHY}

    def judge(there: dict[str, float]) -> Finding:
        pairs = [(m, a) for m in BASELINES for a in NON_STEALTHY if f"{m} / {a}" in there]
        ahead = {(m, a): there[f"surefed / {a}"] - there[f"{m} / {a}"] for m, a in pairs}
        held = [pair for pair, lead in ahead.items() if _within(-lead, CLOSE)]
        share = len(held) / len(ahead)
        verdict = Verdict.HOLDS if share == 1 else Verdict.PART if share >= 0.5 else Verdict.NOT
        method, attack = min(ahead, key=lambda pair: ahead[pair])
        closest = f"{called(method, METHODS)} under {called(attack, ATTACKS)}, {signed(ahead[method, attack])} points"
        return verdict, f"In {len(held)} of {len(ahead)} pairs; narrowest: {closest} {_at(evidence, dataset)}."

    pairs = {f"{m} / {a}": f"{called(m, METHODS)} under {called(a, ATTACKS)}" for m in names for a in NON_STEALTHY}
    return _judged(scores, pairs, (f"surefed / {a}" for a in NON_STEALTHY), judge)


def _worst_of(dataset: str, method: str, evidence: Evidence) -> float | None:
    scores = [evidence.score(dataset, method, attack) for attack in NON_STEALTHY]
    there = [score for score in scores if score is not None]
    return min(there) if len(there) == len(scores) else None


def worst_case(dataset: str, evidence: Evidence) -> Finding:
    """Whether SureFED's worst case is better than the others'."""
    evidence = evidence.fair(dataset, ("surefed", *BASELINES), NON_STEALTHY)
    figures = {method: _worst_of(dataset, method, evidence) for method in ("surefed", *BASELINES)}

    def judge(there: dict[str, float]) -> Finding:
        verdict = _all_or_some(there["surefed"] > there[method] for method in BASELINES if method in there)
        return verdict, f"Worst cases: {_listed(there, METHODS)} {_at(evidence, dataset)}."

    return _judged(figures, METHODS, ("surefed",), judge)


def failures(dataset: str, evidence: Evidence) -> Finding:
    """Whether each baseline fails somewhere."""
    evidence = evidence.fair(dataset, ("surefed", *BASELINES), (CLEAN, *NON_STEALTHY))
    clean = evidence.score(dataset, "surefed", CLEAN)
    figures = {method: _worst_of(dataset, method, evidence) for method in BASELINES}

    def judge(there: dict[str, float]) -> Finding:
        usual = there.pop(CLEAN)
        verdict = _all_or_some(not usual - figure < FAILURE - ROUNDING for figure in there.values())
        return verdict, f"Clean {points(usual)} %; worst cases: {_listed(there, METHODS)} {_at(evidence, dataset)}."

    return _judged({**figures, CLEAN: clean}, {**METHODS, **ATTACKS}, (CLEAN,), judge)


def stealth(dataset: str, evidence: Evidence) -> Finding:
    """Whether the main task stays as it is under the Trojan."""
    evidence = evidence.fair(dataset, ("surefed", *BASELINES), (CLEAN, TROJAN))
    clean = evidence.score(dataset, "surefed", CLEAN)
    figures = {method: evidence.score(dataset, method, TROJAN) for method in ("surefed", *BASELINES)}

    def judge(there: dict[str, float]) -> Finding:
        usual = there.pop(CLEAN)
        verdict = _all_or_some(_within(usual - figure, ROBUST) for figure in there.values())
        return verdict, f"Clean {points(usual)} %; {_listed(there, METHODS)} {_at(evidence, dataset)}."

    return _judged({**figures, CLEAN: clean}, {**METHODS, **ATTACKS}, (CLEAN, "surefed"), judge)


def _fooled(dataset: str, evidence: Evidence) -> dict[str, float | None]:
    return {method: evidence.backdoor(dataset, method) for method in ("surefed", *BASELINES)}


def backdoor(dataset: str, evidence: Evidence) -> Finding:
    """Whether the backdoor stays as low as in the paper."""
    evidence = evidence.fair(dataset, ("surefed", *BASELINES), (TROJAN,))

    def judge(there: dict[str, float]) -> Finding:
        ours, printed = there.pop("surefed"), paper_figures.BACKDOOR[dataset]["surefed"][1] / 100
        lowest = all(ours < figure for figure in there.values())
        verdict = Verdict.HOLDS if _within(ours - printed, ROBUST) else Verdict.PART if lowest else Verdict.NOT
        return verdict, f"{points(ours)} % here; {_listed(there, METHODS)} {_at(evidence, dataset)}."

    return _judged(_fooled(dataset, evidence), METHODS, ("surefed",), judge)


def alone(dataset: str, evidence: Evidence) -> Finding:
    """Whether only SureFED keeps the backdoor low."""
    evidence = evidence.fair(dataset, ("surefed", *BASELINES), (TROJAN,))

    def judge(there: dict[str, float]) -> Finding:
        ours = there.pop("surefed")
        only = ours < LOW and all(figure >= LOW for figure in there.values())
        lowest = all(ours < figure for figure in there.values())
        verdict = Verdict.HOLDS if only else Verdict.PART if lowest else Verdict.NOT
        return verdict, f"SureFED {points(ours)} %; {_listed(there, METHODS)} {_at(evidence, dataset)}."

    return _judged(_fooled(dataset, evidence), METHODS, ("surefed",), judge)


def average_worst(evidence: Evidence) -> Finding:
    """How bad the others' worst cases over all datasets are on average."""
    figures: dict[str, float | None] = {}
    for method in ("surefed", *BASELINES):
        worst = [
            _worst_of(dataset, method, evidence.fair(dataset, ("surefed", *BASELINES), NON_STEALTHY))
            for dataset in paper_figures.ACCURACY
        ]
        there = [share for share in worst if share is not None]
        figures[method] = min(there) if len(there) == len(worst) else None
    if any(figure is None for figure in figures.values()):
        return Verdict.UNKNOWN, "It takes all methods and attacks on all three datasets."
    worst_cases = _there(figures)
    ours = worst_cases.pop("surefed")
    average = sum(worst_cases.values()) / len(worst_cases)
    low = _within(average, paper_figures.WORST_OF_OTHERS / 100 + FAILURE)
    behind = all(ours - figure >= FAILURE for figure in worst_cases.values())
    verdict = Verdict.HOLDS if low else Verdict.PART if behind else Verdict.NOT
    return verdict, f"{points(average)} % on average; {_listed(worst_cases, METHODS)}; SureFED {points(ours)}."


def _or_on_digits(dataset: str, decide: Callable[[str], Finding]) -> Finding:
    """The finding on the paper's dataset; where that was not run, what the embedded digits show is told beside."""
    verdict, sentence = decide(dataset)
    smaller, said = decide("digits")
    if verdict is not Verdict.UNKNOWN or smaller is Verdict.UNKNOWN:
        return verdict, sentence
    return verdict, f"{sentence} On the embedded digits, which are far smaller: {smaller.value}. {said}"


def shares(evidence: Evidence) -> Finding:
    """Whether SureFED stands any share of malicious clients."""
    return _or_on_digits("mnist", lambda dataset: _shares(dataset, evidence))


def _shares(dataset: str, evidence: Evidence) -> Finding:
    found = evidence.study("share", dataset, "surefed", "label_flip", "attack.malicious")
    figures = {share: found.get(share) for share in SHARES}
    missing = _missing(figures, {share: f"{float(share):.0%}" for share in SHARES})
    if missing:
        return missing
    there = _there(figures)
    kept = [share for share in SHARES if _within(there["0"] - there[share], ROBUST)]
    verdict = Verdict.HOLDS if len(kept) == len(SHARES) else Verdict.NOT
    if verdict is Verdict.NOT and all(share in kept for share in SHARES if float(share) <= 0.5):
        verdict = Verdict.PART
    lowest = min(there, key=lambda share: there[share])
    told = f"{points(there['0'])} % with none malicious, {points(there['0.9'])} % with 90 %"
    where = f"({called(dataset, DATASETS)}, label flip)"
    return verdict, f"{told}, lowest {points(there[lowest])} % with {float(lowest):.0%} {where}."


def like(study: str, axis: str, usual: str, others: tuple[str, ...], evidence: Evidence) -> Finding:
    """Whether SureFED is as good at other settings of a study as at the usual one."""

    def decide(dataset: str) -> Finding:
        found = evidence.study(study, dataset, "surefed", "label_flip", axis)
        figures = {setting: found.get(setting) for setting in (usual, *others)}
        missing = _missing(figures, {})
        if missing:
            return missing
        there = _there(figures)
        verdict = _all_or_some(_within(there[usual] - there[other], CLOSE) for other in others)
        where = f"({called(dataset, DATASETS)}, label flip; the paper has 73 for each, on FEMNIST)"
        return verdict, f"{_listed(there, {})} {where}."

    return _or_on_digits("femnist", decide)


def kappa(evidence: Evidence) -> Finding:
    """Whether some kappa, or most, are good both under attack and in peace."""

    def decide(dataset: str) -> Finding:
        hostile = evidence.study("kappa", dataset, "surefed", "label_flip", "rule.kappa")
        clean = evidence.study("kappa", dataset, "surefed", CLEAN, "rule.kappa")
        both = [kappa for kappa in hostile if kappa in clean]
        if len(both) < 2:
            return Verdict.UNKNOWN, "It takes several values of kappa, under label flip and with nobody lying."
        best = max(hostile[kappa] for kappa in both), max(clean[kappa] for kappa in both)
        good = [k for k in both if _within(best[0] - hostile[k], CLOSE) and _within(best[1] - clean[k], CLOSE)]
        verdict = Verdict.HOLDS if 2 * len(good) >= len(both) else Verdict.PART if good else Verdict.NOT
        told = ", ".join(f"{kappa}: {points(hostile[kappa])} and {points(clean[kappa])}" for kappa in both)
        return verdict, f"Good at {', '.join(good) or 'none'} of {len(both)}; under label flip and clean: {told}."

    return _or_on_digits("mnist", decide)
