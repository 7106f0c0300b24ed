"""What people call methods, attacks, datasets and studies, and the order in which tables have them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

METHODS = {
    "surefed": "SureFED",
    "surefed_without_camps": "SureFED, no camps",
    "surefed_paper": "SureFED, to the letter",
    "surefed_unbounded": "SureFED, stds as claimed",
    "surefed_drifting": "SureFED, adrift = 0",
    "surefed_unguarded": "SureFED, no adrift, no std_ceiling, no camps",
    "bayp2pfl": "BayP2PFL",
    "zeno": "Zeno",
    "trimmed_mean": "Trimmed Mean",
    "clipping": "Clipping",
    "fltrust": "FLTrust",
    "balance": "BALANCE",
    "clipped_gossip": "Clipped Gossip",
    "centered_clipping": "Centered Clipping",
    "ubar": "UBAR",
    "bridge": "BRIDGE",
    "krum": "Krum",
    "multi_krum": "Multi-Krum",
    "median": "Median",
    "geometric_median": "Geometric Median",
    "nnm_trimmed_mean": "NNM + Trimmed Mean",
    "gossip": "Gossip",
    "fedavg": "FedAvg",
    "oracle": "Oracle (a bound)",
    "local_only": "Local only (a bound)",
}
ATTACKS = {
    "label_flip": "Label flip",
    "alie": "ALIE",
    "sign_flip": "Bit flip",
    "general_random": "General random",
    "gaussian": "Gaussian",
    "trojan": "Trojan",
    "none": "Nobody lies",
}
DATASETS = {"mnist": "MNIST by writer", "femnist": "FEMNIST", "cifar10": "CIFAR-10", "digits": "embedded digits"}
STUDIES = {
    "share": "Share of malicious clients",
    "graph": "The graph",
    "which": "Which clients are attacked",
    "kappa": "kappa, the width of the band",
    "c": "c, the share of the self-measured band",
    "heading": "The heading test",
    "record": "The record of pushes",
    "rho": "rho, the first uncertainty",
    "learning_rate": "Learning rate",
    "kl_scale": "Weight of the KL",
    "learner": "How beliefs are learned",
    "band_alone": "The band alone, without headings and record",
    "band_fixed_prior": "The same, with a prior that stays",
    "adrift": "How far the course may go against the pull",
    "std_floor": "How sure a sender may claim to be",
    "std_ceiling": "How unsure a sender may claim to be",
    "introspection": "Introspection",
    "early_stop": "Early stop of the local belief",
    "agreement": "Share of weights that must agree",
    "uncertainty": "Every weight its own std, or all one",
    "bounds": "Between the bounds",
    "rules": "Rules of other people",
    "attacks": "Attacks made against SureFED, and others",
    "table": "Every rule under every attack",
    "sleepers": "Liars that are honest for 300 rounds",
    "horizon": "8000 rounds, the paper's horizon",
    "camps": "How much alike camps must be",
    "camps_skewed": "Camps where honest labels are skewed",
    "camps_mnist": "Camps on few writers of MNIST",
    "camps_femnist": "Camps on few writers of FEMNIST",
}
KEYS = {"attack.malicious": "malicious share", "attack.which": "attacked clients", "graph.name": "graph"}

SWEEPS = ("mnist", "femnist", "cifar10", "ablations", "beyond", "digits", "camps", "rates", "operating")
"""The grids of `configs/paper`, in the order of a page."""
FORMS = ("surefed", "surefed_without_camps")
"""SureFED as it is, and what tells most of it where that was not run."""
BASELINES = ("bayp2pfl", "zeno", "trimmed_mean", "clipping", "fltrust")
"""The methods that the paper compares with."""
BOUNDS = ("oracle", "local_only")
"""Not methods: told who is honest, and hearing nobody."""
NON_STEALTHY = ("label_flip", "alie", "sign_flip", "general_random", "gaussian")
"""The paper's attacks that are to spoil accuracy; the Trojan is to leave it alone."""
CLEAN, TROJAN = "none", "trojan"


def ordered(names: Iterable[str], known: Mapping[str, str]) -> list[str]:
    """Each name once: known ones in their order, then the others as they come."""
    given = list(dict.fromkeys(names))
    return [name for name in known if name in given] + [name for name in given if name not in known]


def called(name: str, known: Mapping[str, str]) -> str:
    """What people call it; a name nobody knows stays as it is, and one of several is a list."""
    return " = ".join(known.get(part, part) for part in name.split("+"))


def few(names: Sequence[str]) -> str:
    """The first three names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def slug(name: str) -> str:
    """A name for files and anchors: letters, digits, - and _; one that had to be changed ends with a digest."""
    plain = re.sub(r"[^a-zA-Z0-9_]+", "-", name).strip("-")[:80]
    return plain if plain == name else f"{plain}-{hashlib.blake2b(name.encode(), digest_size=3).hexdigest()}".strip("-")
