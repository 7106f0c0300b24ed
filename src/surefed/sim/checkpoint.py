"""Save the world and read it again, so that a killed run ends with the same beliefs, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from surefed.core import RecordError
from surefed.learn import Rows, Watch
from surefed.records import replace_file
from surefed.sim.engine import begin
from surefed.sim.setup import Setup
from surefed.sim.world import World

FORMAT = 2


def pack(world: World) -> dict[str, Tensor]:
    """Everything the next round needs, by name."""
    rows = world.whole()
    tensors: dict[str, Tensor] = {"mean": rows.mean, "rho": rows.rho, "steps": rows.steps}
    tensors |= {f"moments.{at}": moment for at, moment in enumerate(rows.moments)}
    tensors["buffers"] = rows.buffers
    tensors["trusted"] = world.trusted
    tensors |= {f"watch.{name}": value for name, value in world.watch._asdict().items()}
    tensors |= {f"rule.{name}": value for name, value in world.state._asdict().items()}
    return {name: value.contiguous() for name, value in tensors.items()}


def unpack(tensors: dict[str, Tensor], round: int, like: World) -> World | None:
    """The world that was packed after `round` rounds, or None if these tensors are not those of a world like this."""
    expected = pack(like)
    if {name: value.shape for name, value in expected.items()} != {name: one.shape for name, one in tensors.items()}:
        return None
    moments = tuple(tensors[f"moments.{at}"] for at in range(len(like.rows.moments)))
    rows = Rows(tensors["mean"], tensors["rho"], moments, tensors["steps"], tensors["buffers"])
    state = type(like.state)(**{name: tensors[f"rule.{name}"] for name in like.state._fields})
    watch = Watch(**{name: tensors[f"watch.{name}"] for name in Watch._fields})
    return World(round, rows, state, watch, tensors["trusted"])


def write_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Replace a file by these tensors and what is said about them; equal tensors, equal bytes."""
    # one entry, because safetensors writes several in an order of its own
    said = {"surefed": json.dumps(about)}

    def write(fresh: Path) -> None:
        try:
            save_file(tensors, fresh, metadata=said)
        except SafetensorError as error:  # it wraps what the operating system said
            raise OSError(str(error)) from error

    replace_file(path, write)


def save(path: Path, setup: Setup, world: World) -> None:
    """Write everything the next round needs."""
    write_tensors(path, pack(world), {"format": FORMAT, "identity": setup.identity, "round": world.round})


def read_tensors(path: Path, device: torch.device | str = "cpu") -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What is said about the tensors of a file, and the tensors."""
    with safe_open(path, framework="pt", device=str(device)) as file:
        about = json.loads((file.metadata() or {}).get("surefed", "{}"))
        return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict


def load(path: Path, setup: Setup) -> World:
    """The world as it was saved, or an error that says what to do."""
    try:
        about, tensors = read_tensors(path, setup.device)
    except (SafetensorError, OSError, ValueError) as error:
        raise RecordError(
            f"{path} is damaged or cut short ({error}); delete it, and --resume computes the run from the beginning"
        ) from error
    if about.get("format") != FORMAT:
        raise RecordError(f"{path} has checkpoint format {about.get('format')!r}; this version reads {FORMAT!r}")
    if about.get("identity") != setup.identity:
        raise RecordError(f"{path} is the checkpoint of another experiment; choose another folder with --out")
    saved = unpack(tensors, int(about["round"]), begin(setup))
    if saved is None:
        raise RecordError(f"{path} does not hold what this version needs; delete it to compute the run again")
    return saved
