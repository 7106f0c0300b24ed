"""Proof of equivocation: two manifests that one site signed for one round, kept for good, one pair a site.

Whoever holds the charter can check the two signatures. A site with a file here is not heard any more, after a restart
too; an operator who has made sure that it was an accident lifts that by moving the file away.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

from surefed.core import StorageError
from surefed.peer.refused import Refused
from surefed.peer.wire import parse_manifest
from surefed.records import write_text

LOG = logging.getLogger("surefed.peer")


class Evidence:
    """The folder, and the sites that are in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "evidence"
        self._sites = {file.stem for file in sorted(self._folder.glob("*.json")) if _proves(file)}

    @property
    def sites(self) -> frozenset[str]:
        """Who equivocated."""
        return frozenset(self._sites)

    def keep(self, site: str, round: int, first: bytes, second: bytes) -> None:
        """Write down the first proof against a site; without room on the disk it is held in memory only."""
        if site in self._sites:
            return
        self._sites.add(site)
        file = self._folder / f"{site}.json"
        LOG.error("%s signed two beliefs for round %d and is not heard any more; the proof is %s", site, round, file)
        proof = {"site": site, "round": round, "first": first.hex(), "second": second.hex()}
        try:
            write_text(file, json.dumps(proof, indent=1) + "\n")
        except StorageError:
            LOG.warning("cannot write %s", file)


def _proves(file: Path) -> bool:
    """Whether the file holds two manifests of its site for one round that differ."""
    try:
        said = json.loads(file.read_text())
        first, second = (parse_manifest(bytes.fromhex(said[name])) for name in ("first", "second"))
    except (OSError, ValueError, KeyError, TypeError, Refused):
        LOG.warning("%s is not evidence of anything and is passed over", file)
        return False
    same = first.sender == second.sender == file.stem and first.round == second.round
    return same and first.sha256 != second.sha256
