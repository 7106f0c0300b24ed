"""What a restart goes on from: the last whole round, never a torn file, and never two beliefs for one round.

The state is replaced whole after a round; what was sent in it is kept with it, for neighbours who are slower. Before a
belief is published its hash is written down; a restarted site that
would publish another belief for the same round keeps silent instead, because two would be an equivocation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from surefed.core import Record, RecordError, pushes
from surefed.peer.lone import Lone
from surefed.records import write_text
from surefed.sim import checkpoint
from surefed.sim.world import World

FORMAT = 1
STATE, PUBLISHED = "state.safetensors", "published.json"
KEPT = 256
"""Rounds whose hashes are remembered."""


class Store:
    """The state of one site on disk.

    identity: whose state it is: the charter's digest and the site.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder, self.identity = folder, identity
        self._published = self._read_published()

    def save(self, lone: Lone, about: dict[str, Any], sent: bytes) -> None:
        """Write what the next round needs, what `about` says beside it, and what was sent in this one."""
        tensors = checkpoint.pack(lone.world)
        del tensors["trusted"]  # it is in the record, and has as many columns as there are members
        tensors["sent"] = torch.from_numpy(np.frombuffer(sent, dtype=np.uint8).copy())
        said = {"format": FORMAT, "identity": self.identity, "round": lone.round, "about": about}
        said["sites"] = list(lone.sites)
        checkpoint.write_tensors(self.folder / STATE, tensors, said)

    def load(self, lone: Lone) -> tuple[dict[str, Any], bytes] | None:
        """Put a site back where it was after its last whole round; what was said about it, and what it had sent.

        None: it never began.
        """
        path = self.folder / STATE
        if not path.exists():
            return None
        try:
            said, tensors = checkpoint.read_tensors(path)
        except (SafetensorError, OSError, ValueError) as error:
            raise RecordError(
                f"{path} is damaged ({error}); it is written whole, so the disk is to blame. Move it away, and the "
                "site begins anew and catches up"
            ) from error
        if said.get("format") != FORMAT or said.get("identity") != self.identity:
            raise RecordError(f"{path} is the state of another site or another charter; choose another folder")
        sent = tensors.pop("sent", torch.zeros(0, dtype=torch.uint8)).numpy().tobytes()
        begun = checkpoint.pack(lone.world)
        tensors["trusted"] = begun["trusted"]
        if isinstance(lone.world.state, Record) and "sites" in said:
            if not {f"rule.{name}" for name in Record._fields} <= tensors.keys():
                raise RecordError(f"{path} was written by an older version; move it away to begin anew")
            record = Record(**{name: tensors[f"rule.{name}"] for name in Record._fields})
            now = pushes.carried(record, said["sites"], lone.sites)
            tensors |= {f"rule.{name}": value for name, value in now._asdict().items()}
        for name, value in begun.items():
            if name.startswith("rule.") and (name not in tensors or tensors[name].shape != value.shape):
                tensors[name] = value  # the rule remembers by sender, and there are more of them now
        world: World | None = checkpoint.unpack(tensors, int(said["round"]), lone.world)
        if world is None:
            raise RecordError(f"{path} does not hold what this version needs; move it away to begin anew")
        lone.world = world
        return said["about"], sent

    def may_publish(self, round: int, sha256: str) -> bool:
        """Whether this belief may go out: no other one was published for its round. Yes is written down first."""
        if round in self._published:
            return self._published[round] == sha256
        if any(later > round for later in self._published):
            return False
        kept = {old: hash for old, hash in self._published.items() if old > round - KEPT} | {round: sha256}
        write_text(self.folder / PUBLISHED, json.dumps({str(old): hash for old, hash in kept.items()}))
        self._published = kept
        return True

    def _read_published(self) -> dict[int, str]:
        path = self.folder / PUBLISHED
        try:
            return {int(round): str(hash) for round, hash in json.loads(path.read_text()).items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError) as error:
            raise RecordError(
                f"{path} is damaged ({error}); without it the site cannot know what it published. Move the folder away "
                "and begin anew under a renewed name, or restore it"
            ) from error
