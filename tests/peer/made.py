"""A federation of four sites with real keys, made once for each process; tests change copies of it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from surefed.peer.charter import Charter, Draft, admit, propose, sign_charter, trial_federation
from surefed.peer.identity import Authority, Identity, load_identity
from surefed.peer.identity.keys import signing_keys

SITES = ("north", "south", "east", "west")
TERMS: dict[str, Any] = {
    "name": "four sites",
    "members": list(SITES),
    "shape": [5],
    "classes": 3,
    "rounds": 100,
    "deadline": 2.5,
    "seed": 7,
    "chunk": 1024,
    "model": {"name": "linear"},
    "rule": {"name": "surefed", "kappa": 14.0},
}


class Made(NamedTuple):
    folder: Path
    charter: Charter
    identities: dict[str, Identity]


@cache
def made() -> Made:
    folder = Path(tempfile.mkdtemp(prefix="surefed-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    charter = trial_federation(folder, Draft.of(TERMS))
    return Made(folder, charter, {site: load_identity(site, folder / site) for site in SITES})


def copied(folder: Path) -> Path:
    """A copy of the federation's folder that a test may damage."""
    return shutil.copytree(made().folder, folder / "federation")


def signed(charter: Charter, *sites: str, folder: Path | None = None) -> Charter:
    """With the signatures of some sites."""
    for site in sites:
        charter = sign_charter(charter, site, signing_keys(site, (folder or made().folder) / site))
    return charter


def with_fifth(folder: Path) -> tuple[Charter, Identity]:
    """The charter amended by a fifth site, centre, and that site."""
    centre = admit(Authority(folder / "authority"), "centre", folder / "centre")
    keys = {"signing": centre.signing, "certificate": centre.fingerprint}
    proposed = propose(made().charter, "add", "centre", **keys)
    return signed(proposed, "north", "south", "east", "centre", folder=folder), centre
