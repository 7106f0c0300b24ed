"""Several files of a folder that change together: whoever reads them finds all the old ones or all the new ones."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from surefed.records import storage, write_text

FRESH, READY = ".fresh", ".ready"
"""Folders inside: of files that are being written, and of files that are whole and on their way to their places."""


def write_together(place: Path, texts: Mapping[str, str]) -> None:
    """Replace files of a folder by these texts. Killed before the rename, all the old ones stand; after it, the new."""
    settle(place)
    fresh = place / FRESH
    with storage(place):
        if fresh.exists():  # somebody was killed here
            shutil.rmtree(fresh)
    for name, text in texts.items():
        write_text(fresh / name, text)
    with storage(place):
        fresh.rename(place / READY)
    settle(place)


def settle(place: Path) -> None:
    """Move files that are ready to their places; to be called before reading, for somebody may have been killed."""
    ready = place / READY
    with storage(place):
        if ready.is_dir():
            for file in sorted(ready.iterdir()):
                file.replace(place / file.name)
            ready.rmdir()
