"""kill -9 at any instant leaves the last whole state, never a torn one."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import torch

from surefed.peer.lone import Lone
from surefed.peer.store import Store
from tests.peer.federations import trial


def save_for_ever(store: Store, lone: Lone, told: int) -> None:
    """Save states in which every number is the number of the round, and say after each that it is saved."""
    while True:
        lone.world.round += 1
        lone.world.rows.mean.fill_(lone.world.round)
        store.save(lone, {"round": lone.world.round}, bytes(8))
        os.write(told, lone.world.round.to_bytes(4, "little"))


def test_kill_at_any_instant_leaves_a_whole_state(tmp_path: Path) -> None:
    made, rng = trial(tmp_path), random.Random(0)
    lone, folder = Lone(made.charter, "anna", made.data("anna")), tmp_path / "record"
    folder.mkdir()
    store, saved = Store(folder, "me"), 0
    for _ in range(25):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            save_for_ever(store, lone, write_end)
        os.close(write_end)
        time.sleep(rng.uniform(0.002, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(read_end, "rb") as pipe:
            said = pipe.read()
        saved = int.from_bytes(said[-4:], "little") if said else saved
        found = Store(folder, "me").load(lone)
        if found is None:
            assert saved == 0
            continue
        about, _ = found
        assert about["round"] == lone.round >= saved  # one may be saved and not yet told
        assert torch.equal(lone.world.rows.mean, torch.full_like(lone.world.rows.mean, lone.round))
    assert saved > 0
