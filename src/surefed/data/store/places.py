"""Where data lies: folders that are looked through in order, and copies that the user has added by name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from surefed.core import ConfigError, DataError, StorageError
from surefed.core.registry import nearest
from surefed.data.store.sources import SOURCES, Source

SHARED = Path("../shared/data")
SYSTEM = Path("/usr/share/datasets")
REGISTER = "registered.json"


class Found(NamedTuple):
    """A dataset on the disk.

    layout: which of the source's layouts it is; folder: where it lies; files: in the order the layout names them.
    """

    layout: str
    folder: Path
    files: tuple[Path, ...]


def source(name: str) -> Source:
    """The dataset of that name."""
    if name not in SOURCES:
        raise ConfigError(
            f"there is no dataset {name!r} to download or add; {nearest(name, SOURCES)} "
            "(data of your own is named by its path in an experiment, see docs/own_data.md)"
        )
    return SOURCES[name]


def folders() -> tuple[Path, ...]:
    """The folders of data: those of SUREFED_DATA, or else the cache and ../shared/data; then what Debian installs."""
    told = [Path(folder).expanduser() for folder in os.environ.get("SUREFED_DATA", "").split(os.pathsep) if folder]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "surefed" / "data"
    return (*(told or (cache, SHARED)), SYSTEM)


def home() -> Path:
    """The folder that downloads and the register are written to: the first one."""
    return folders()[0]


def find(name: str) -> Found:
    """Where the dataset lies, or an error that says which file to bring, from where, and where to put it."""
    of = source(name)
    if name in (added := registered()):
        return look(name, added[name])
    for folder in folders():
        for place in (folder / inside for inside in of.folders):
            if found := _match(of, place):
                return found
        if found := _match(of, folder, of.distinct):
            return found
    looked = ", ".join(map(str, folders()))
    raise DataError(f"there is no {name} in {looked}. `surefed data get {name}` downloads it. {how_to_bring(name)}")


def look(name: str, place: Path) -> Found:
    """The dataset in this folder, or the one that this file is."""
    of = source(name)
    if place.is_file():
        for layout, patterns in of.layouts.items():
            if len(patterns) == 1 and place.suffix == Path(patterns[0]).suffix:
                return Found(layout, place.parent, (place,))
    for folder in (place, *(place / inside for inside in of.folders)):
        if found := _match(of, folder):
            return found
    wanted = "; or ".join(", ".join(patterns) for patterns in of.layouts.values())
    there = f"does not hold {name}" if place.exists() else "is not there"
    raise DataError(f"{place} {there}; expected in that folder: {wanted} (.gz or not)")


def registered() -> dict[str, Path]:
    """The copies that the user has added, by name."""
    added: dict[str, Path] = {}
    for folder in reversed(folders()):
        path = folder / REGISTER
        if path.is_file():
            try:
                added |= {name: Path(place) for name, place in json.loads(path.read_text()).items()}
            except (ValueError, AttributeError, TypeError) as error:
                raise DataError(f"{path} is damaged ({error}); remove it and add your copies again") from error
    return added


def register(name: str, place: Path) -> Found:
    """Remember where the user's copy of a dataset lies, after a look at it."""
    found = look(name, place.expanduser().absolute())
    path = home() / REGISTER
    known = {other: str(at) for other, at in registered().items()}
    fresh = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(known | {name: str(place.expanduser().absolute())}, indent=2) + "\n")
        fresh.replace(path)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    return found


def how_to_bring(name: str) -> str:
    """What to do without the dataset and without a network."""
    of = source(name)
    names = ", ".join(file.name for file in of.files)
    return (
        f"Without a network: bring {names} (from {of.home}) and put it into {home() / name}; "
        f"or say where your copy is: surefed data add {name} PATH"
    )


def _match(of: Source, folder: Path, only: frozenset[str] | None = None) -> Found | None:
    """The first layout whose files are all in the folder."""
    for layout, patterns in of.layouts.items():
        if only is None or layout in only:
            files = [sorted(folder.glob(pattern)) or sorted(folder.glob(f"{pattern}.gz")) for pattern in patterns]
            if all(files):
                return Found(layout, folder, tuple(file for group in files for file in group))
    return None
