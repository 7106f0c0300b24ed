"""Save the world and read it again, so that a killed run ends with the same beliefs, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from surefed.core import RecordError
from surefed.learn import Rows, Watch
from surefed.records import replace_file
from surefed.sim.engine import World, begin
from surefed.sim.setup import Setup

FORMAT = 2


def save(path: Path, setup: Setup, world: World) -> None:
    """Write everything the next round needs."""
    tensors: dict[str, Tensor] = {"mean": world.rows.mean, "rho": world.rows.rho, "steps": world.rows.steps}
    tensors |= {f"moments.{at}": moment for at, moment in enumerate(world.rows.moments)}
    tensors["buffers"] = world.rows.buffers
    tensors["trusted"] = world.trusted
    tensors |= {f"watch.{name}": value for name, value in world.watch._asdict().items()}
    tensors |= {f"rule.{name}": value for name, value in world.state._asdict().items()}
    # one entry, because safetensors writes several in an order of its own: equal worlds, equal bytes
    about = {"surefed": json.dumps({"format": FORMAT, "identity": setup.identity, "round": world.round})}
    held = {name: value.contiguous() for name, value in tensors.items()}

    def write(fresh: Path) -> None:
        try:
            save_file(held, fresh, metadata=about)
        except SafetensorError as error:  # it wraps what the operating system said
            raise OSError(str(error)) from error

    replace_file(path, write)


def load(path: Path, setup: Setup) -> World:
    """The world as it was saved, or an error that says what to do."""
    world = begin(setup)
    try:
        with safe_open(path, framework="pt", device=str(setup.device)) as file:
            about = json.loads((file.metadata() or {}).get("surefed", "{}"))
            if about.get("format") != FORMAT:
                raise RecordError(
                    f"{path} has checkpoint format {about.get('format')!r}; this version reads {FORMAT!r}"
                )
            if about.get("identity") != setup.identity:
                raise RecordError(f"{path} is the checkpoint of another experiment; choose another folder with --out")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict
    except (SafetensorError, OSError, ValueError) as error:
        raise RecordError(
            f"{path} is damaged or cut short ({error}); delete it, and --resume computes the run from the beginning"
        ) from error
    expected = {"mean", "rho", "steps", "buffers", "trusted"}
    expected |= {f"moments.{at}" for at in range(len(world.rows.moments))}
    expected |= {f"watch.{name}" for name in Watch._fields} | {f"rule.{name}" for name in world.state._fields}
    if expected != set(tensors) or tensors["mean"].shape != world.rows.mean.shape:
        raise RecordError(f"{path} does not hold what this version needs; delete it to compute the run again")
    moments = tuple(tensors[f"moments.{at}"] for at in range(len(world.rows.moments)))
    rows = Rows(tensors["mean"], tensors["rho"], moments, tensors["steps"], tensors["buffers"])
    state = type(world.state)(**{name: tensors[f"rule.{name}"] for name in world.state._fields})
    watch = Watch(**{name: tensors[f"watch.{name}"] for name in Watch._fields})
    return World(int(about["round"]), rows, state, watch, tensors["trusted"])
