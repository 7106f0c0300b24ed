"""How often each neighbour was expected, heard, trusted, left out or missing: the history of trust in short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefed.peer.verdict import Verdict

COUNTED = ("trusted", "distrusted", "missing", "malformed", "equivocated")


class Tally:
    """Counts of rounds by neighbour and verdict; saved with the state, so that a restart loses none."""

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        self.neighbours: dict[str, dict[str, Any]] = {site: dict(counts) for site, counts in (saved or {}).items()}

    def add(self, round: int, found: Mapping[str, Verdict]) -> None:
        """Count a round."""
        for site, one in found.items():
            counts = self.neighbours.setdefault(site, _blank())
            if one.verdict == "not expected":
                continue
            counts["expected"] += 1
            counts[one.verdict] += 1
            if one.round is not None:
                counts["heard"] += 1
                counts["last_heard"] = round

    def refuse(self, refused: Mapping[str, Mapping[str, int]]) -> list[tuple[str, str]]:
        """Count what was refused since the last call; the reasons that are new for their neighbour."""
        new = []
        for site, reasons in refused.items():
            counts = self.neighbours.setdefault(site, _blank())["refused"]
            for reason, times in reasons.items():
                if times and reason not in counts:
                    new.append((site, str(reason)))
                counts[str(reason)] = counts.get(str(reason), 0) + times
        return new

    def plain(self) -> dict[str, Any]:
        """As the state and the record have it."""
        return {site: {**counts, "refused": dict(counts["refused"])} for site, counts in self.neighbours.items()}


def _blank() -> dict[str, Any]:
    return {"expected": 0, "heard": 0, **dict.fromkeys(COUNTED, 0), "last_heard": None, "refused": {}}
