from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surefed.dashboard import crowd as room
from surefed.dashboard import snapshots
from surefed.dashboard.crowd import crowd, grouping
from surefed.records import Recorder


@pytest.mark.parametrize("chunk", [1, 40, 1 << 20])
def test_sums_are_those_of_the_plain_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(snapshots, "CHUNK", chunk)
    monkeypatch.setattr(room, "BLOCKS", 5)
    clients = 23
    rng = np.random.default_rng(0)
    edges = rng.random((clients, clients)) < 0.6
    trusted = rng.random((clients, clients)) < 0.5
    bad = rng.random(clients) < 0.3
    score = rng.random(clients).astype(np.float32)
    Recorder(tmp_path).trust(7, {"trusted": trusted, "edges": edges, "malicious": bad, "accuracy": score})
    told = crowd(tmp_path, 7)
    order, starts = grouping(bad)
    group = {
        client: int(np.searchsorted(starts, place, side="right")) - 1 for place, client in enumerate(order.tolist())
    }
    wanted = np.zeros((2, len(starts), len(starts)), dtype=int)
    for receiver in range(clients):
        for sender in range(clients):
            if receiver != sender and edges[receiver, sender]:
                wanted[0, group[receiver], group[sender]] += 1
                wanted[1, group[receiver], group[sender]] += trusted[receiver, sender]
    assert told["edges"] == wanted[0].tolist()
    assert told["trusted"] == wanted[1].tolist()
    assert sum(told["sizes"]) == clients
    assert sum(told["histogram"]["honest"]) == int((~bad).sum())


@pytest.mark.parametrize("bad", [[False] * 9, [True] * 9, [False, True] * 4 + [True]])
def test_a_group_holds_clients_of_one_kind(bad: list[bool]) -> None:
    order, starts = grouping(np.array(bad))
    kinds = np.array(bad)[order]
    for first, last in zip(starts, [*starts[1:], len(bad)], strict=True):
        assert first < last
        assert len(set(kinds[first:last].tolist())) == 1
