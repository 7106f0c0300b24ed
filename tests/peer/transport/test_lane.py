"""Lanes do tasks in order, hold few, and end."""

from __future__ import annotations

import threading
from functools import partial

from surefed.peer.transport.lane import Lane, Turns
from tests.peer.transport.world import eventually


def test_a_lane_takes_a_few_tasks_and_does_them_in_order() -> None:
    done: list[int] = []
    gate = threading.Event()
    lane = Lane("test", 3)
    assert lane.add(lambda: gate.wait() and None)
    assert eventually(lambda: not lane._waiting)
    assert [lane.add(partial(done.append, number)) for number in range(5)] == [True, True, True, False, False]
    gate.set()
    assert eventually(lambda: done == [0, 1, 2])
    lane.close()
    assert not lane.add(gate.set)


def test_a_flood_of_one_site_delays_another_by_one_task_and_the_newest_are_kept() -> None:
    done: list[tuple[str, int]] = []
    gate = threading.Event()
    turns = Turns("test", 3)
    turns.add("first", lambda: gate.wait() and None)
    for number in range(1000):
        turns.add("liar", partial(done.append, ("liar", number)))
    turns.add("honest", partial(done.append, ("honest", 0)))
    gate.set()
    assert eventually(lambda: len(done) == 4)
    assert done == [("liar", 997), ("honest", 0), ("liar", 998), ("liar", 999)]
    turns.close()
