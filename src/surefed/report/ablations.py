"""The claims about ablations, and what the embedded digits show where they were not run on the paper's data."""

from __future__ import annotations

from collections.abc import Callable

from surefed.report.evidence import Evidence
from surefed.report.judging import Finding, Verdict, all_or_some, listed, measured, missing, within
from surefed.report.names import CLEAN, DATASETS, called
from surefed.report.tables import CLOSE, points
from surefed.report.verdicts import ROBUST

SHARES = tuple(f"{share / 10:g}" for share in range(10))


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
    gone = missing(figures, {share: f"{float(share):.0%}" for share in SHARES})
    if gone:
        return gone
    there = measured(figures)
    kept = [share for share in SHARES if within(there["0"] - there[share], ROBUST)]
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
        gone = missing(figures, {})
        if gone:
            return gone
        there = measured(figures)
        verdict = all_or_some(within(there[usual] - there[other], CLOSE) for other in others)
        where = f"({called(dataset, DATASETS)}, label flip; the paper has 73 for each, on FEMNIST)"
        return verdict, f"{listed(there, {})} {where}."

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
        good = [k for k in both if within(best[0] - hostile[k], CLOSE) and within(best[1] - clean[k], CLOSE)]
        verdict = Verdict.HOLDS if 2 * len(good) >= len(both) else Verdict.PART if good else Verdict.NOT
        told = ", ".join(f"{kappa}: {points(hostile[kappa])} and {points(clean[kappa])}" for kappa in both)
        return verdict, f"Good at {', '.join(good) or 'none'} of {len(both)}; under label flip and clean: {told}."

    return _or_on_digits("mnist", decide)
