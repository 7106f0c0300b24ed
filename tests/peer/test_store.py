"""What a restart goes on from is the last whole round, and no round has two beliefs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from surefed.core import RecordError
from surefed.peer.lone import Lone
from surefed.peer.store import PUBLISHED, STATE, Store
from surefed.sim import checkpoint
from tests.peer.federations import Trial, trial


@pytest.fixture
def made(tmp_path: Path) -> Trial:
    return trial(tmp_path, learn={"early_stop": 3})


def played(made: Trial, rounds: int) -> Lone:
    lone = Lone(made.charter, "anna", made.data("anna"))
    for _ in range(rounds):
        lone.judge(lone.learn(), {})
    return lone


def test_a_site_put_back_plays_on_bit_for_bit(made: Trial, tmp_path: Path) -> None:
    store, lone = Store(tmp_path, "me"), played(made, 2)
    store.save(lone, {"any": 1}, b"sent")
    again = Lone(made.charter, "anna", made.data("anna"))
    assert Store(tmp_path, "me").load(again) == ({"any": 1}, b"sent")
    assert again.round == 2
    for one in (lone, again):
        one.judge(one.learn(), {})
    assert torch.equal(lone.belief.mean, again.belief.mean)
    assert torch.equal(lone.belief.rho, again.belief.rho)
    assert torch.equal(lone.world.watch.best, again.world.watch.best)


def test_signs_are_a_sites_own_and_last(made: Trial, tmp_path: Path) -> None:
    """Who knew the signs of a site's sketches could lean where none of them shows it."""
    lone, other, again = (Lone(made.charter, "anna", made.data("anna")) for _ in range(3))
    assert not torch.equal(lone.world.state.signs, other.world.state.signs)
    Store(tmp_path, "me").save(lone, {}, b"")
    Store(tmp_path, "me").load(again)
    assert torch.equal(lone.world.state.signs, again.world.state.signs)
    assert set(again.world.state.signs.unique().tolist()) == {-1, 1}


def test_what_is_remembered_of_a_site_is_found_under_its_name(made: Trial, tmp_path: Path) -> None:
    store, lone = Store(tmp_path, "me"), played(made, 1)
    first, *others = lone.sites
    lone.sites = (*others, first)  # as an older charter may have listed them
    lone.world.state.verdict[0] = torch.arange(len(lone.sites), dtype=torch.uint8)
    store.save(lone, {}, b"")
    again = Lone(made.charter, "anna", made.data("anna"))
    Store(tmp_path, "me").load(again)
    assert again.world.state.verdict[0].tolist() == [len(others), *range(len(others))]


def test_without_a_state_there_is_nothing_to_go_on_from(made: Trial, tmp_path: Path) -> None:
    assert Store(tmp_path, "me").load(Lone(made.charter, "anna", made.data("anna"))) is None


def test_the_state_of_another_is_refused(made: Trial, tmp_path: Path) -> None:
    lone = played(made, 1)
    Store(tmp_path, "me").save(lone, {}, b"")
    with pytest.raises(RecordError, match="another site"):
        Store(tmp_path, "you").load(lone)


def test_a_damaged_state_is_refused(made: Trial, tmp_path: Path) -> None:
    lone = played(made, 1)
    Store(tmp_path, "me").save(lone, {}, b"")
    whole = (tmp_path / STATE).read_bytes()
    (tmp_path / STATE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RecordError, match="damaged"):
        Store(tmp_path, "me").load(lone)


def test_the_state_of_a_version_that_remembered_less_is_refused(
    made: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lone = played(made, 1)
    pack = checkpoint.pack
    with monkeypatch.context() as before:
        before.setattr(checkpoint, "pack", lambda world: {n: v for n, v in pack(world).items() if n != "rule.longest"})
        Store(tmp_path, "me").save(lone, {}, b"")
    with pytest.raises(RecordError, match="older version; move it away"):
        Store(tmp_path, "me").load(lone)


def test_one_round_has_one_belief_even_after_a_restart(tmp_path: Path) -> None:
    store = Store(tmp_path, "me")
    assert store.may_publish(4, "a" * 64)
    assert store.may_publish(5, "b" * 64)
    for one in (store, Store(tmp_path, "me")):
        assert one.may_publish(5, "b" * 64)  # the same again is no second belief
        assert not one.may_publish(5, "c" * 64)
        assert one.may_publish(4, "a" * 64)
        assert not one.may_publish(3, "d" * 64)  # whether it was published is not known any more
    assert store.may_publish(6, "c" * 64)


def test_a_damaged_list_of_hashes_is_refused(tmp_path: Path) -> None:
    (tmp_path / PUBLISHED).write_text("{")
    with pytest.raises(RecordError, match="damaged"):
        Store(tmp_path, "me")
