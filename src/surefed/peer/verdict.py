"""What became of every neighbour in a round, and why: nobody is left out without a word."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from surefed.core import FAULTS
from surefed.learn import Network
from surefed.rules import Inspection

Finding = Literal["trusted", "distrusted", "missing", "malformed", "equivocated", "not expected"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one neighbour in one round.

    round: that of the belief which was used; None if there was none.
    outside: how many of its weights lay outside the band. weight: the one that lay the most stds (sigmas) away, and the
        layer it belongs to. heading: how well its way from the start agrees with the site's own local one, -1 to 1.
        fault: what it was left out for, one of core.FAULTS. All None where the rule has no such thing.
    """

    verdict: Finding
    round: int | None = None
    why: str = ""
    outside: int | None = None
    sigmas: float | None = None
    weight: int | None = None
    layer: str | None = None
    heading: float | None = None
    fault: str | None = None

    def plain(self) -> dict[str, Any]:
        """As a record has it."""
        return asdict(self)


def verdicts(
    sites: Collection[str],
    *,
    own: str,
    expected: Collection[str],
    used: Mapping[str, int],
    missing: Mapping[str, str],
    malformed: Mapping[str, str],
    equivocated: Collection[str],
    inspection: Inspection,
    network: Network,
) -> dict[str, Verdict]:
    """Everybody's verdict, in the order of the charter.

    used: the round of the belief that was judged, by site. missing, malformed: why there was none.
    """
    found: dict[str, Verdict] = {}
    for place, name in enumerate(sites):
        if name == own:
            continue
        if name in used:
            found[name] = _judged(inspection, place, used[name], network)
        elif name in equivocated:
            found[name] = Verdict("equivocated", why="it signed two different beliefs for one round; both are kept")
        elif name in malformed:
            found[name] = Verdict("malformed", why=malformed[name])
        elif name in expected:
            found[name] = Verdict("missing", why=missing.get(name, "no answer by the deadline"))
        else:
            found[name] = Verdict("not expected", why="it is not a neighbour in this round")
    return found


def _judged(inspection: Inspection, place: int, round: int, network: Network) -> Verdict:
    """What the rule found in one sender's belief."""
    finding: Finding = "trusted" if bool(inspection.trusted[0, place]) else "distrusted"
    heading = None if inspection.heading is None else round_off(float(inspection.heading[0, place]))
    if inspection.outside is None or inspection.worst is None or inspection.sigmas is None:
        return Verdict(finding, round, "" if finding == "trusted" else "the rule left it out", heading=heading)
    outside, weight = int(inspection.outside[0, place]), int(inspection.worst[0, place])
    sigmas, layer = round_off(float(inspection.sigmas[0, place])), network.layer_of(weight)
    fault = None if inspection.fault is None else FAULTS[int(inspection.fault[0, place])]
    why = "" if finding == "trusted" else _why(fault, outside, sigmas, layer, heading)
    return Verdict(finding, round, why, outside, sigmas, weight, layer, heading, fault)


def _why(fault: str | None, outside: int, sigmas: float, layer: str, heading: float | None) -> str:
    """Why a sender was left out: what was wrong with its way, how many weights, which layer, how many stds."""
    lie = "1 weight lies" if outside == 1 else f"{outside} weights lie"
    band = f"{lie} outside the band; the worst is in {layer}, {sigmas:g} stds away"
    if outside == 0:
        band = f"no weight lies outside the band, the farthest, in {layer}, is {sigmas:g} stds away"
    if heading is None:
        return band
    way = {
        "another way": "it goes another way than our data: its heading agrees with ours by",
        "against us": "it has pushed against what we learn, and is not heard again; its heading agrees with ours by",
        "far ahead": "it has pushed harder than data would, and is not heard again; its heading agrees with ours by",
        "another camp": "it pushes, with others, for something that our own side does not, and is not heard as long as "
        "it does; its heading agrees with ours by",
    }.get(fault or "")
    return f"{way} {heading:.2f}; {band}" if way else f"{band}; its heading agrees with ours by {heading:.2f}"


def round_off(value: float) -> float:
    """Four significant digits, and nothing that JSON cannot hold."""
    return float(f"{min(value, 1e30):.4g}")
