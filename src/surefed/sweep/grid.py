"""A sweep file, read: which experiments it asks for, what they are called, and that all of them are well formed."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from surefed.core import ConfigError
from surefed.core.registry import nearest
from surefed.core.tables import read_table
from surefed.sim import Experiment, toml
from surefed.sim.check import checked
from surefed.sim.experiment import Attack, apply
from surefed.sweep.points import SETTABLE, Point, checked_keys, flat, nested, points

OWN = ("name", "title", "base", "keep_beliefs", "label", "vary", "include", "exclude", "quick")
"""The keys of a sweep file beside those of an experiment."""
ORDER = ("rule", "attack", "data", "graph", "model", "learn", "rounds", "evaluate", "checkpoint_every", "seed")
LONGEST = 80
"""Letters in the name of a cell."""


@dataclass(frozen=True)
class Cell:
    """One experiment of a sweep.

    labels: what people call it, by column. values: the experiment with every default written out, by dotted key.
    digest: equal for equal experiments, whatever they are called.
    """

    name: str
    experiment: Experiment
    labels: Mapping[str, str]
    values: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class Sweep:
    """What a sweep file asks for.

    columns: the labels that cells have. keys: the keys of experiments in which cells differ.
    quick: whether this is the small version, which its title says too.
    keep_beliefs: whether checkpoints stay once a cell is finished.
    """

    name: str
    title: str
    file: Path
    quick: bool
    keep_beliefs: bool
    settings: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    cells: tuple[Cell, ...]

    @property
    def folder_name(self) -> str:
        """What its folder is called unless somebody says otherwise."""
        return re.sub(r"[^\w.-]+", "-", self.name).strip("-.") + ("-quick" if self.quick else "")

    def named(self, patterns: Sequence[str]) -> tuple[Cell, ...]:
        """The cells whose names match one of the patterns, such as "surefed-*-s0"; all of them where there is none."""
        for pattern in patterns:
            if not any(fnmatchcase(cell.name, pattern) for cell in self.cells):
                some = ", ".join(cell.name for cell in self.cells[:3])
                raise ConfigError(f"no cell is called {pattern!r}; cells are called {some}, ... (--dry-run lists them)")
        wanted = [cell for cell in self.cells if any(fnmatchcase(cell.name, one) for one in patterns)]
        return tuple(wanted) if patterns else self.cells


class Draft(NamedTuple):
    """A cell that has no name yet; first, shown: the labels and the keys that its name will tell."""

    experiment: Experiment
    labels: Mapping[str, str]
    values: Mapping[str, Any]
    digest: str
    first: tuple[str, ...]
    shown: frozenset[str]

    def matches(self, wanted: Mapping[str, list[Any]]) -> bool:
        """Whether it has one of the wanted values under every key."""
        return all({**self.values, **self.labels}.get(key) in values for key, values in wanted.items())


def read_sweep(path: Path | str, *, quick: bool = False, settings: Iterable[str] = ()) -> Sweep:
    """Read a sweep file; every cell of it is checked.

    quick: apply the file's [quick] table last. settings: changes of all cells, such as `rounds=100`, after that.
    """
    path, settings = Path(path), tuple(settings)
    file = _read(path)
    name, title = _text(file, "name", path.stem, path), _text(file, "title", "", path)
    if quick and "quick" not in file:
        raise ConfigError(f"{path} has no [quick] table, which says how its small version differs; leave out --quick")
    title = f"quick: {title or name}" if quick else title or name
    last = _last(file["quick"], f"{path}: [quick]") if quick else Point()
    grid, base = _grid(file, path), _base(file, path)
    made = [_draft(title, base, point, (*last.lines(), *settings), str(path)) for point in grid]
    kept = _without(_list_of_tables(file, "exclude", path), made, str(path))
    cells = sorted(_called(_merged(kept), str(path)), key=lambda cell: cell.experiment.seed)
    return Sweep(
        name=name,
        title=title,
        file=path,
        quick=quick,
        keep_beliefs=bool(file.get("keep_beliefs", False)),
        settings=settings,
        columns=tuple(dict.fromkeys(column for cell in cells for column in cell.labels)),
        keys=_different(cells, {key for point in (*grid, last) for key, _ in point.settings}),
        cells=tuple(cells),
    )


def _read(path: Path) -> dict[str, Any]:
    file = read_table(path, "docs/sweeps.md shows how one is written")
    checked_keys({key: value for key, value in file.items() if key not in OWN}, str(path), OWN)
    if not isinstance(file.get("keep_beliefs", False), bool):
        raise ConfigError(f"{path}: keep_beliefs is true or false, not {file['keep_beliefs']!r}")
    return file


def _text(file: Mapping[str, Any], key: str, default: str, path: Path) -> str:
    text = file.get(key, default)
    if not isinstance(text, str) or not text.isprintable():
        raise ConfigError(f"{path}: {key} is one line of text, not {text!r}")
    return text


def _base(file: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The values that all cells start from."""
    if "base" not in file:
        return {}
    if not isinstance(file["base"], str):
        raise ConfigError(f"{path}: base is the path of an experiment file, not {file['base']!r}")
    return Experiment.read(path.parent / file["base"]).model_dump(exclude_unset=True)


def _grid(file: Mapping[str, Any], path: Path) -> list[Point]:
    """All points of the file: its own grid, and those that it includes, which share its single values."""
    body = {key: value for key, value in file.items() if key in SETTABLE}
    single = {key: value for key, value in flat(body).items() if not isinstance(value, list)}
    common = points(nested(single), str(path))[0]
    own = {key: file[key] for key in ("label", "vary") if key in file}
    include = _list_of_tables(file, "include", path)
    alone = len(single) == len(flat(body)) and not own  # the file's own grid is a single point
    made = [] if include and alone else points({**body, **own}, str(path))
    for at, entry in enumerate(include, 1):
        grid = points(entry, f"{path}: include {at}", show="label" not in entry)
        made += [common + point for point in grid]
    return made


def _list_of_tables(file: Mapping[str, Any], key: str, path: Path | str) -> list[dict[str, Any]]:
    entries = file.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and entry for entry in entries):
        raise ConfigError(f"{path}: {key} is a list of tables, each written as [[{key}]]")
    return entries


def _last(body: Any, where: str) -> Point:
    """The one point of a table without lists."""
    if not isinstance(body, dict):
        raise ConfigError(f"{where} is a table, not {body!r}")
    (first, *more) = points(checked_keys(body, where, ()), where)
    if more:
        raise ConfigError(f"{where} holds a list; it changes all cells alike")
    return first


def _draft(title: str, base: dict[str, Any], point: Point, last: Sequence[str], where: str) -> Draft:
    """One cell, checked, without a name."""
    values = apply(base, [*point.lines(), *last])
    try:
        experiment = Experiment.of({**values, "name": title})
        resolved = checked(experiment)
    except ConfigError as error:
        cell = ", ".join([*point.labels.values(), *point.lines(point.shown)])
        raise ConfigError(f"{where}: {error}" + (f" (in the cell {cell})" if cell else "")) from None
    written, shown, same = flat(tomllib.loads(toml.write(resolved))), point.shown, resolved
    if resolved.attack.name == "none":  # nobody lies, so it does not matter who would
        same = resolved.model_copy(update={"attack": Attack()})
        shown = frozenset(key for key in shown if key == "attack.name" or not key.startswith("attack."))
    return Draft(experiment, point.labels, written, same.digest(), tuple(point.labels.values()), shown)


def _merged(drafts: Sequence[Draft]) -> list[Draft]:
    """Equal experiments once; where their labels differ, all of them are kept, with a + between."""
    kept: dict[str, Draft] = {}
    for draft in drafts:
        first = kept.setdefault(draft.digest, draft)
        labels = dict(first.labels)
        for column, text in draft.labels.items():
            known = labels[column].split("+") if column in labels else []
            labels[column] = "+".join(known if text in known else [*known, text])
        kept[draft.digest] = first._replace(labels=labels)
    return list(kept.values())


def _called(drafts: Sequence[Draft], where: str) -> list[Cell]:
    """The cells by their names: labels first, then the values that tell them apart, the seed last."""
    cells: dict[str, Cell] = {}
    seeds = frozenset({"seed"} if len({draft.experiment.seed for draft in drafts}) > 1 else ())
    for draft in drafts:
        parts = [*draft.first]
        parts += [part(key, draft.values.get(key)) for key in sorted(draft.shown | seeds, key=_place)]
        name = re.sub(r"[^\w.=+-]+", "_", "-".join(parts)).strip("._-") or "cell"
        if len(name) > LONGEST:
            name = f"{name[: LONGEST - 9]}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"
        if name in cells:
            raise ConfigError(
                f"{where}: two different cells are called {name!r}; tell them apart by a label, such as "
                'label.study = "graphs" in an include'
            )
        cells[name] = Cell(name, draft.experiment, draft.labels, draft.values, draft.digest)
    return list(cells.values())


def part(key: str, value: Any) -> str:
    """A key and its value in a name: surefed, kappa=4, s0."""
    if key == "seed":
        return f"s{value}"
    if key.endswith(".name"):
        return str(value)
    text = "unset" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{key.rpartition('.')[2]}={text}"


def _place(key: str) -> tuple[int, bool, str]:
    """Where a key stands in a name."""
    table = key.partition(".")[0]
    return ORDER.index(table) if table in ORDER else -1, not key.endswith(".name"), key


def _different(cells: Sequence[Cell], named: set[str]) -> tuple[str, ...]:
    """The keys that the file names and in which cells differ."""
    varied = [key for key in named if len({repr(cell.values.get(key)) for cell in cells}) > 1]
    return tuple(sorted(varied, key=_place))


def _without(exclude: Sequence[Mapping[str, Any]], drafts: list[Draft], where: str) -> list[Draft]:
    """The cells that no entry of `exclude` matches."""
    known = {key for draft in drafts for key in (*draft.values, *draft.labels)}
    for at, entry in enumerate(exclude, 1):
        wanted = {key: value if isinstance(value, list) else [value] for key, value in flat(entry).items()}
        for key in wanted:
            if key not in known:
                raise ConfigError(f"{where}: exclude {at}: no cell has a {key!r}; {nearest(key, known)}")
        left = [draft for draft in drafts if not draft.matches(wanted)]
        if len(left) == len(drafts):
            raise ConfigError(f"{where}: exclude {at} matches no cell; take it out, or look at its values")
        drafts = left
    if not drafts:
        raise ConfigError(f"{where}: everything is excluded, which leaves no cell")
    return drafts
