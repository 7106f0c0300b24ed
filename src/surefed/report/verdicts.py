"""The claims about the tables: each function looks at the figures and gives a verdict and a sentence."""

from __future__ import annotations

from surefed.report import paper_figures
from surefed.report.evidence import Evidence
from surefed.report.judging import ROUNDING, Finding, Verdict, all_or_some, judged, listed, measured, within
from surefed.report.names import ATTACKS, BASELINES, CLEAN, METHODS, NON_STEALTHY, TROJAN, called
from surefed.report.tables import CLOSE, points, signed

FAILURE = 0.10
"""Points below clean that are a significant failure."""
ROBUST = 0.05
"""Points that a robust method may lose."""
LOW = 0.50
"""A backdoor accuracy that is no longer low."""


def _at(evidence: Evidence, dataset: str) -> str:
    return f"({evidence.extent(dataset)})"


def benign(dataset: str, evidence: Evidence) -> Finding:
    """Whether SureFED reaches the paper's accuracy where nobody lies."""
    evidence = evidence.fair(dataset, ("surefed",), (CLEAN,))
    ours = evidence.score(dataset, "surefed", CLEAN)
    if ours is None:
        return Verdict.UNKNOWN, "No cell that would tell."
    below = paper_figures.BENIGN[dataset] / 100 - ours
    verdict = Verdict.HOLDS if within(below, CLOSE) else Verdict.PART if within(below, ROBUST) else Verdict.NOT
    return verdict, f"{points(ours)} % here, {signed(-below)} points {_at(evidence, dataset)}."


def matches(dataset: str, method: str, attacks: tuple[str, ...], evidence: Evidence) -> Finding:
    """Whether a method is as good under these attacks as SureFED where nobody lies."""
    everything, evidence = evidence, evidence.fair(dataset, {"surefed", method}, (CLEAN, *attacks))
    figures = {attack: evidence.score(dataset, method, attack) for attack in attacks}
    figures[CLEAN] = evidence.score(dataset, "surefed", CLEAN)

    def judge(there: dict[str, float]) -> Finding:
        clean = there.pop(CLEAN)
        verdict = all_or_some(within(clean - figure, CLOSE) for figure in there.values())
        bound = _told_who_lies(dataset, evidence, everything)
        return verdict, f"Clean {points(clean)} %; {listed(there, ATTACKS)} {_at(evidence, dataset)}.{bound}"

    return judged(figures, ATTACKS, (CLEAN,), judge)


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
        held = [pair for pair, lead in ahead.items() if within(-lead, CLOSE)]
        share = len(held) / len(ahead)
        verdict = Verdict.HOLDS if share == 1 else Verdict.PART if share >= 0.5 else Verdict.NOT
        method, attack = min(ahead, key=lambda pair: ahead[pair])
        closest = f"{called(method, METHODS)} under {called(attack, ATTACKS)}, {signed(ahead[method, attack])} points"
        return verdict, f"In {len(held)} of {len(ahead)} pairs; narrowest: {closest} {_at(evidence, dataset)}."

    pairs = {f"{m} / {a}": f"{called(m, METHODS)} under {called(a, ATTACKS)}" for m in names for a in NON_STEALTHY}
    return judged(scores, pairs, (f"surefed / {a}" for a in NON_STEALTHY), judge)


def _worst_of(dataset: str, method: str, evidence: Evidence) -> float | None:
    scores = [evidence.score(dataset, method, attack) for attack in NON_STEALTHY]
    there = [score for score in scores if score is not None]
    return min(there) if len(there) == len(scores) else None


def worst_case(dataset: str, evidence: Evidence) -> Finding:
    """Whether SureFED's worst case is better than the others'."""
    evidence = evidence.fair(dataset, ("surefed", *BASELINES), NON_STEALTHY)
    figures = {method: _worst_of(dataset, method, evidence) for method in ("surefed", *BASELINES)}

    def judge(there: dict[str, float]) -> Finding:
        verdict = all_or_some(there["surefed"] > there[method] for method in BASELINES if method in there)
        return verdict, f"Worst cases: {listed(there, METHODS)} {_at(evidence, dataset)}."

    return judged(figures, METHODS, ("surefed",), judge)


def failures(dataset: str, evidence: Evidence) -> Finding:
    """Whether each baseline fails somewhere."""
    evidence = evidence.fair(dataset, ("surefed", *BASELINES), (CLEAN, *NON_STEALTHY))
    clean = evidence.score(dataset, "surefed", CLEAN)
    figures = {method: _worst_of(dataset, method, evidence) for method in BASELINES}

    def judge(there: dict[str, float]) -> Finding:
        usual = there.pop(CLEAN)
        verdict = all_or_some(not usual - figure < FAILURE - ROUNDING for figure in there.values())
        return verdict, f"Clean {points(usual)} %; worst cases: {listed(there, METHODS)} {_at(evidence, dataset)}."

    return judged({**figures, CLEAN: clean}, {**METHODS, **ATTACKS}, (CLEAN,), judge)


def stealth(dataset: str, evidence: Evidence) -> Finding:
    """Whether the main task stays as it is under the Trojan."""
    evidence = evidence.fair(dataset, ("surefed", *BASELINES), (CLEAN, TROJAN))
    clean = evidence.score(dataset, "surefed", CLEAN)
    figures = {method: evidence.score(dataset, method, TROJAN) for method in ("surefed", *BASELINES)}

    def judge(there: dict[str, float]) -> Finding:
        usual = there.pop(CLEAN)
        verdict = all_or_some(within(usual - figure, ROBUST) for figure in there.values())
        return verdict, f"Clean {points(usual)} %; {listed(there, METHODS)} {_at(evidence, dataset)}."

    return judged({**figures, CLEAN: clean}, {**METHODS, **ATTACKS}, (CLEAN, "surefed"), judge)


def _fooled(dataset: str, evidence: Evidence) -> tuple[dict[str, float | None], str, str]:
    """The backdoors, SureFED's in words, and on what the others stand.

    SureFED's is the highest of all its seeds: one under which a backdoor gets in must not be made up for by others, nor
    left out because nothing else was run under it. The rest are over the seeds that they share with it.
    """
    fair = evidence.fair(dataset, ("surefed", *BASELINES), (TROJAN,))
    figures: dict[str, float | None] = {method: fair.backdoor(dataset, method) for method in BASELINES}
    ours = evidence.backdoors(dataset, "surefed")
    if ours is None:
        return {"surefed": None, **figures}, "", _at(fair, dataset)
    differ = f" ({points(ours.low)} to {points(ours.high)} under {ours.seeds} seeds)" if ours.seeds > 1 else ""
    return {"surefed": ours.high, **figures}, f"{points(ours.mean)} %{differ}", _at(fair, dataset)


def backdoor(dataset: str, evidence: Evidence) -> Finding:
    """Whether the backdoor stays as low as in the paper."""
    figures, here, at = _fooled(dataset, evidence)

    def judge(there: dict[str, float]) -> Finding:
        ours, printed = there.pop("surefed"), paper_figures.BACKDOOR[dataset]["surefed"][1] / 100
        lowest = all(ours < figure for figure in there.values())
        verdict = Verdict.HOLDS if within(ours - printed, ROBUST) else Verdict.PART if lowest else Verdict.NOT
        return verdict, f"{here} here; others: {listed(there, METHODS)} {at}."

    return judged(figures, METHODS, ("surefed",), judge)


def alone(dataset: str, evidence: Evidence) -> Finding:
    """Whether only SureFED keeps the backdoor low."""
    figures, here, at = _fooled(dataset, evidence)

    def judge(there: dict[str, float]) -> Finding:
        ours = there.pop("surefed")
        only = ours < LOW and all(figure >= LOW for figure in there.values())
        lowest = all(ours < figure for figure in there.values())
        verdict = Verdict.HOLDS if only else Verdict.PART if lowest else Verdict.NOT
        return verdict, f"SureFED {here}; others: {listed(there, METHODS)} {at}."

    return judged(figures, METHODS, ("surefed",), judge)


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
    worst_cases = measured(figures)
    ours = worst_cases.pop("surefed")
    average = sum(worst_cases.values()) / len(worst_cases)
    low = within(average, paper_figures.WORST_OF_OTHERS / 100 + FAILURE)
    behind = all(ours - figure >= FAILURE for figure in worst_cases.values())
    verdict = Verdict.HOLDS if low else Verdict.PART if behind else Verdict.NOT
    return verdict, f"{points(average)} % on average; {listed(worst_cases, METHODS)}; SureFED {points(ours)}."
