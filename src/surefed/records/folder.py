"""What a run leaves behind: a folder that can be understood without the program.

    experiment.toml        the experiment, resolved: every value that decided it
    run.json               identity, versions, device, when it started
    rounds.jsonl           a line per evaluated round; equal for equal experiments, byte for byte
    timing.jsonl           a line per evaluated round: seconds, which are never equal
    trust/000100.npz       who trusted whom in that round, how far outside, and each client's accuracy
    checkpoint.safetensors beliefs, optimiser and rule state after the last saved round
    result.json            the final figures; present only once the run is finished

Everything is written atomically or, for the .jsonl files, line by line; a torn last line is left out when read.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from surefed.core import RecordError
from surefed.records.atomic import append_line, replace_file, storage, write_text

EXPERIMENT, RUN, ROUNDS, TIMING, RESULT = (
    "experiment.toml", "run.json", "rounds.jsonl", "timing.jsonl", "result.json",
)  # fmt: skip
CHECKPOINT = "checkpoint.safetensors"
DEPTH = 4
"""How deep below a given folder runs are looked for."""


def below(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """A folder and those below it, by name; those of runs are not looked into, nor those that are hidden or closed."""
    yield folder
    if depth == 0 or (folder / RUN).is_file():
        return
    try:
        inner = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        return
    for entry in inner:
        yield from below(entry, depth - 1)


@dataclass(frozen=True)
class Record:
    """A run's folder, read."""

    path: Path
    experiment: dict[str, Any]
    run: dict[str, Any]
    rounds: list[dict[str, Any]]
    timing: list[dict[str, Any]]
    result: dict[str, Any] | None

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.result is not None

    @property
    def last(self) -> dict[str, Any]:
        """The figures of the last evaluated round."""
        if not self.rounds:
            raise RecordError(f"{self.path} holds no evaluated round yet")
        return self.rounds[-1]

    def trust_rounds(self) -> list[int]:
        """The rounds of which there is a snapshot of trust."""
        return sorted(int(file.stem) for file in (self.path / "trust").glob("*.npz") if file.stem.isdecimal())

    def trust(self, round: int) -> dict[str, np.ndarray[Any, Any]]:
        """The snapshot of one round: trusted [receiver, sender], accuracy [client] and more."""
        path = self.path / "trust" / f"{round:06d}.npz"
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except FileNotFoundError:
            raise RecordError(f"{self.path} has no snapshot of round {round}; it has {self.trust_rounds()}") from None
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise RecordError(f"{path} is damaged: {error}") from error


def read(path: Path | str) -> Record:
    """Read a run's folder, finished or still running."""
    path = Path(path)
    if not (path / RUN).exists():
        raise RecordError(f"{path} is not the folder of a run (it has no {RUN})")
    try:
        experiment = tomllib.loads((path / EXPERIMENT).read_text())
        run = json.loads((path / RUN).read_text())
        result = json.loads((path / RESULT).read_text()) if (path / RESULT).exists() else None
    except (OSError, ValueError) as error:
        raise RecordError(f"{path} is damaged: {error}") from error
    return Record(path, experiment, run, _lines(path / ROUNDS), _lines(path / TIMING), result)


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a .jsonl file; a torn last one is left out."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_bytes().split(b"\n"):
        try:
            line = json.loads(text)
        except ValueError:
            break
        if not isinstance(line, dict) or "round" not in line:
            raise RecordError(f"{path} is damaged: a line is no round")
        lines.append(line)
    return lines


class Recorder:
    """Writes a run's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def begun(self) -> bool:
        """Whether the folder is that of a run already."""
        with storage(self.path):
            return (self.path / RUN).exists()

    def experiment(self) -> str:
        """The experiment file as it stands in the folder."""
        return (self.path / EXPERIMENT).read_text(errors="replace")

    @property
    def checkpoint(self) -> Path:
        """Where the checkpoint is."""
        return self.path / CHECKPOINT

    def begin(self, experiment: str, run: Mapping[str, Any]) -> None:
        """Start an empty record. run.json comes last: with it, the folder is a run."""
        write_text(self.path / EXPERIMENT, experiment)
        write_text(self.path / RUN, _pretty(run))

    def rewind(self, round: int) -> None:
        """Forget what was written after `round`, as it is about to be computed again."""
        for name in (ROUNDS, TIMING):
            kept = [line for line in _lines(self.path / name) if line["round"] <= round]
            write_text(self.path / name, "".join(_line(line) + "\n" for line in kept))
        for later in read(self.path).trust_rounds():
            if later > round:
                (self.path / "trust" / f"{later:06d}.npz").unlink()
        (self.path / RESULT).unlink(missing_ok=True)

    def round(self, metrics: Mapping[str, Any], timing: Mapping[str, Any]) -> None:
        """Add an evaluated round."""
        append_line(self.path / ROUNDS, _line(metrics))
        append_line(self.path / TIMING, _line(timing))

    def trust(self, round: int, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Keep a snapshot of who trusted whom."""

        def write(path: Path) -> None:
            with path.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)

        replace_file(self.path / "trust" / f"{round:06d}.npz", write)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the final figures."""
        write_text(self.path / RESULT, _pretty(result))


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":"), allow_nan=False)


def _pretty(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2, allow_nan=False) + "\n"
