"""What differs between two charters, in a sentence for each key."""

from __future__ import annotations

from typing import Any

from surefed.peer.charter.charter import Charter, named

MEANS = {
    "model_digest": "the model's layers, code or initial weights differ; use the same model code, seed and torch",
    "graph_digest": "who hears whom differs; use the same graph file, or the same version of what makes it",
    "authority": "the certificates come from different authorities",
}
"""What a difference means where the values do not speak for themselves."""

SHOWN = 60
"""Characters of a value that are shown."""

SENTENCES = 20
"""At most so many are told, since the other charter may be anybody's."""


def differences(ours: Charter, theirs: Charter) -> list[str]:
    """A sentence for each key in which two charters differ: ours first. Equal charters give none."""
    sentences = _compare("", ours.agreed(), theirs.agreed())
    if not sentences and ours.heads != theirs.heads:
        sentences = _chains(ours, theirs)
    rest = len(sentences) - SENTENCES
    return [*sentences[:SENTENCES], f"and {rest} more differences"] if rest > 0 else sentences


def _chains(ours: Charter, theirs: Charter) -> list[str]:
    both = min(ours.amendment, theirs.amendment)
    if ours.heads[both] != theirs.heads[both]:
        first = next(at for at in range(both + 1) if ours.heads[at] != theirs.heads[at])
        here, there = ours.amendments[first - 1].said(), theirs.amendments[first - 1].said()
        return [f"the amendments contradict each other: here {here}, there {there}"]
    longer, where = (ours, "there") if ours.amendment > theirs.amendment else (theirs, "here")
    return [f"missing {where}: {one.said()}" for one in longer.amendments[both : longer.amendment]]


def _compare(where: str, ours: Any, theirs: Any) -> list[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = [*ours, *(key for key in theirs if key not in ours)]
        found = [_key(f"{where}.{named(key)}" if where else named(key), key, ours, theirs) for key in keys]
        return [sentence for sentences in found for sentence in sentences]
    if ours == theirs:
        return []
    key = where.rpartition(".")[2]
    meaning = f" ({MEANS[key]})" if key in MEANS else ""
    return [f"{where} is {_shown(ours)} here and {_shown(theirs)} there{meaning}"]


def _key(where: str, key: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    if key not in theirs:
        return [f"{where} is {_shown(ours[key])} here and not set there"]
    if key not in ours:
        return [f"{where} is not set here and {_shown(theirs[key])} there"]
    if key == "founders":
        return _founders(ours[key], theirs[key])
    return _compare(where, ours[key], theirs[key])


def _founders(ours: list[dict[str, str]], theirs: list[dict[str, str]]) -> list[str]:
    here, there = ({one["site"]: one for one in side} for side in (ours, theirs))
    sentences = [f"{site} is a founder here and not there" for site in here if site not in there]
    sentences += [f"{site} is a founder there and not here" for site in there if site not in here]
    common = [site for site in here if site in there]
    for site in common:
        kinds = [kind for kind in ("signing", "certificate") if here[site][kind] != there[site][kind]]
        words = {"signing": "signing key", "certificate": "certificate"}
        sentences += [
            f"the {words[kind]} of {site} is {here[site][kind][:16]}... here and {there[site][kind][:16]}... there"
            for kind in kinds
        ]
    if common != [site for site in there if site in here]:
        sentences.append(f"the founders stand in another order: here {', '.join(here)}; there {', '.join(there)}")
    return sentences


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
