"""What a page is told of trust: a round, all rounds together, and one pair over the rounds."""

from __future__ import annotations

from base64 import b64encode
from itertools import accumulate
from typing import Any

import numpy as np

from surefed.core import RecordError
from surefed.dashboard.crowd import crowd
from surefed.dashboard.downsample import evenly
from surefed.dashboard.pairs import DISTRUSTED, NONE, TRUSTED, WHOLE, Pairs, clients_in, pairs, snapshots_of
from surefed.dashboard.run import Run
from surefed.dashboard.snapshots import Array, snapshot
from surefed.dashboard.tail import known

OVERALL = 100
"""Snapshots that the picture over all rounds is made of, at most."""
HISTORY = 160
"""Snapshots that the history of one pair is made of, at most."""


def at_round(run: Run, round: int) -> dict[str, Any]:
    """A snapshot: every pair, or sums over groups where there are too many."""
    clients = clients_in(run, round)
    if clients > WHOLE:
        return {"round": round, "clients": clients, "whole": False, "blocks": crowd(run.path, round)}
    seen = pairs(run, round)
    told: dict[str, Any] = {"round": round, "clients": clients, "whole": True, "flows": flows(seen)}
    for name in ("states", "outside", "worst", "sigmas", "heading", "fault", "merit", "overwritten"):
        value = getattr(seen, name)
        told[name] = None if value is None else packed(value)
    return told


def flows(seen: Pairs) -> dict[str, list[int]] | None:
    """How many neighbours each kind of client has of each kind, and how many of these it trusts; self left out."""
    bad = seen.malicious
    if bad is None or seen.states.shape[0] != seen.states.shape[1]:
        return None
    states = np.where(np.eye(len(bad), dtype=bool), NONE, seen.states)
    kinds = {"honest": ~bad, "malicious": bad}
    told = {}
    for hearer, who in kinds.items():
        for heard, whom in kinds.items():
            part = states[np.ix_(who, whom)]
            told[f"{hearer}-{heard}"] = [int((part == TRUSTED).sum()), int((part != NONE).sum())]
    return told


def overall(run: Run) -> dict[str, Any]:
    """Of every pair the share of rounds in which the one trusted the other, NaN where it never heard it."""
    there = snapshots_of(run)
    if not there:
        raise RecordError("this record has no snapshots of trust")
    if clients_in(run, there[-1]) > WHOLE:
        raise RecordError(f"more than {WHOLE} clients: the picture over all rounds is not made; choose a round")
    chosen = [there[at] for at in evenly(len(there), OVERALL)]
    seen = [states for states in (_states(run, round) for round in chosen) if states is not None]
    if not seen:
        raise RecordError("no snapshot of trust can be read")
    alike = np.stack([states for states in seen if states.shape == seen[-1].shape])  # [round, receiver, sender]
    heard, trusted = (alike != NONE).sum(0), (alike == TRUSTED).sum(0)
    share = np.where(heard > 0, trusted / np.maximum(heard, 1), np.nan).astype(np.float32)
    return {"share": packed(share), "clients": share.shape[1], "sampled": [len(alike), len(there)]}


def _states(run: Run, round: int) -> Array | None:
    try:
        return pairs(run, round).states
    except RecordError:
        return None


def edge(run: Run, receiver: int, sender: int, most: int = HISTORY) -> dict[str, Any]:
    """How one client judged another over the rounds; snapshots that cannot be read are left out."""
    there = snapshots_of(run)
    if there and clients_in(run, there[-1]) > WHOLE:
        chosen, look = there[-1:], _single
    else:
        chosen, look = [there[at] for at in evenly(len(there), most)], _from_pairs
    lines = [line for line in (look(run, round, receiver, sender) for round in chosen) if line is not None]
    told: dict[str, Any] = {name: [line[name] for line in lines] for name in ("round", *FIELDS)}
    return told | {"sampled": [len(lines), len(there)], "layers": by_layer(run, lines), "kappa": kappa(run)}


FIELDS = ("state", "outside", "worst", "sigmas", "heading", "fault")


def _from_pairs(run: Run, round: int, receiver: int, sender: int) -> dict[str, Any] | None:
    try:
        seen = pairs(run, round)
    except RecordError:
        return None
    if receiver >= seen.states.shape[0] or sender >= seen.states.shape[1]:
        return None
    line: dict[str, Any] = {"round": round, "state": int(seen.states[receiver, sender])}
    for name in FIELDS[1:]:
        value = getattr(seen, name)
        line[name] = None if value is None else known(float(value[receiver, sender]))
    return line


def _single(run: Run, round: int, receiver: int, sender: int) -> dict[str, Any] | None:
    """The same from a snapshot too large to be held."""
    with snapshot(run.path, round) as arrays:
        if max(receiver, sender) >= arrays.shape("trusted")[0]:
            return None
        values = {
            name: known(arrays.cell(name, receiver, sender)) if name in arrays.names else None
            for name in ("trusted", "edges", *FIELDS[1:])
        }
    trusted, heard = values.pop("trusted"), values.pop("edges")
    return {"round": round, "state": (TRUSTED if trusted else DISTRUSTED) if heard else NONE} | values


def by_layer(run: Run, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each layer, in how many rounds it held the worst weight while outside, and the most sigmas it was away."""
    layers = run.layers
    ends = list(accumulate(size for _, size in layers))
    told: list[dict[str, Any]] = [{"name": name, "size": size, "rounds": 0, "sigmas": 0.0} for name, size in layers]
    for line in lines:
        if line["worst"] is None or not line["outside"] or line["state"] == NONE:
            continue
        at = int(np.searchsorted(ends, line["worst"], side="right"))
        if at < len(told):
            told[at]["rounds"] += 1
            told[at]["sigmas"] = max(told[at]["sigmas"], line["sigmas"] or 0.0)
    return told


def kappa(run: Run) -> float | None:
    """The width of the band in stds where it is one number."""
    rule = run.experiment.get("rule")
    value = rule.get("kappa") if isinstance(rule, dict) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def packed(values: Array) -> str:
    """An array's bytes, little-endian, as text."""
    return b64encode(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()).decode()
