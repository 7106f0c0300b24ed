"""The figures that the paper prints, in %, each with the table or sentence that has it.

Only what stands in its tables and sentences: its plots come without data, and nothing here was read off a curve.
"""

from __future__ import annotations

from typing import NamedTuple

from surefed.report.names import CLEAN, NON_STEALTHY, TROJAN

ACCURACY = {
    "mnist": {
        "surefed": (96, 96, 96, 96, 96),
        "bayp2pfl": (89, 78, 10, 10, 22),
        "zeno": (82, 90, 35, 10, 10),
        "trimmed_mean": (89, 56, 96, 96, 10),
        "clipping": (82, 82, 80, 80, 94),
        "fltrust": (10, 68, 10, 96, 96),
    },
    "femnist": {
        "surefed": (73, 73, 73, 73, 73),
        "bayp2pfl": (63, 4, 2, 2, 4),
        "zeno": (51, 2, 29, 2, 51),
        "trimmed_mean": (51, 16, 70, 73, 2),
        "clipping": (67, 22, 53, 34, 57),
        "fltrust": (61, 59, 54, 68, 57),
    },
    "cifar10": {
        "surefed": (71, 71, 71, 71, 71),
        "bayp2pfl": (68, 67, 10, 10, 62),
        "zeno": (53, 67, 39, 10, 69),
        "trimmed_mean": (55, 61, 71, 70, 10),
        "clipping": (68, 70, 64, 14, 67),
        "fltrust": (62, 70, 64, 68, 69),
    },
}
"""Under label flip, ALIE, bit flip, general random and Gaussian, in this order: appendix, tab:DATASET:table."""
BENIGN = {"mnist": 96, "femnist": 73, "cifar10": 71}
"""The row "Clean" of the same tables; also a sentence of section 5, Results."""
BACKDOOR = {
    "mnist": {
        "surefed": (96, 24),
        "bayp2pfl": (96, 100),
        "zeno": (96, 100),
        "trimmed_mean": (96, 100),
        "clipping": (96, 100),
        "fltrust": (96, 100),
    },
    "femnist": {
        "surefed": (73, 23),
        "bayp2pfl": (73, 79),
        "zeno": (73, 82),
        "trimmed_mean": (60, 64),
        "clipping": (73, 79),
        "fltrust": (73, 79),
    },
}
"""Main task accuracy and backdoor accuracy under Trojan: appendix, tab:trojan."""
GRAPHS = {"complete": 73, "drop_edges": 73, "time_varying": 73}
"""SureFED under label flip on FEMNIST: section 5, tab:cifar10:graph."""
ATTACKED = {"best": 73, "worst": 73, "random": 73}
"""SureFED under label flip on FEMNIST: section 5, tab:clientchoose."""
WORST_OF_OTHERS = 6
"""The worst case of the other methods over datasets and attacks, on average: a sentence of section 5, Results."""

ROUNDS, CLIENTS = 8000, 50
"""Appendix, Model Training Details ("maximum number of epochs"); section 5, its first sentence."""

SAME_AS = {"surefed_paper": "surefed", "surefed_without_camps": "surefed"}
"""Forms of SureFED are compared with the same figures."""


class Printed(NamedTuple):
    """A figure of the paper. share: between 0 and 1; source: where it is printed."""

    share: float
    source: str


def accuracy(dataset: str, method: str, attack: str) -> Printed | None:
    """The final accuracy of a method under an attack, where the paper prints one."""
    method = SAME_AS.get(method, method)
    source = f"tab:{dataset}:table"
    if attack == CLEAN and method == "surefed" and dataset in BENIGN:
        return Printed(BENIGN[dataset] / 100, source)
    if attack == TROJAN and method in BACKDOOR.get(dataset, {}):
        return Printed(BACKDOOR[dataset][method][0] / 100, "tab:trojan")
    if attack in NON_STEALTHY and method in ACCURACY.get(dataset, {}):
        return Printed(ACCURACY[dataset][method][NON_STEALTHY.index(attack)] / 100, source)
    return None


def backdoor(dataset: str, method: str) -> Printed | None:
    """The share of stamped images taken for the target, where the paper prints one."""
    row = BACKDOOR.get(dataset, {}).get(SAME_AS.get(method, method))
    return None if row is None else Printed(row[1] / 100, "tab:trojan")


def worst(dataset: str, method: str) -> Printed | None:
    """The lowest entry of a method's row."""
    row = ACCURACY.get(dataset, {}).get(SAME_AS.get(method, method))
    return None if row is None else Printed(min(row) / 100, f"tab:{dataset}:table")


def ablation(study: str, dataset: str, method: str, setting: str) -> Printed | None:
    """The accuracy of a setting of the paper's second or third ablation."""
    if dataset != "femnist" or SAME_AS.get(method, method) != "surefed":
        return None
    tables = {"graph": (GRAPHS, "tab:cifar10:graph"), "which": (ATTACKED, "tab:clientchoose")}
    figures, source = tables.get(study, ({}, ""))
    return Printed(figures[setting] / 100, source) if setting in figures else None
