from __future__ import annotations

import os
from pathlib import Path

import pytest

from surefed.core import IdentityError
from surefed.peer.charter import Charter, CharterFile, load_charter, propose, read_charter, write_charter

from ..made import copied, made, signed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return copied(tmp_path) / "federation.charter"


def revoked(site: str = "west") -> Charter:
    rest = [other for other in made().charter.sites if other != site]
    return signed(propose(made().charter, "revoke", site), *rest)


def test_a_file_is_read_back_and_can_be_read_by_people(path: Path) -> None:
    assert read_charter(path) == made().charter
    assert '\n "rounds": 100,\n' in path.read_text()


def test_a_file_that_is_not_whole_is_refused(path: Path) -> None:
    whole = path.read_text()
    for text, words in ((whole[:-10], "JSON"), (whole.replace('"seed": 7', '"seed": 9'), "altered"), ("", "JSON")):
        path.write_text(text)
        with pytest.raises(IdentityError, match=f"not a charter that can be trusted: .*{words}"):
            load_charter(path)
    path.unlink()
    with pytest.raises(IdentityError, match="surefed federation new"):
        load_charter(path)


def test_a_running_peer_does_not_take_an_unsigned_charter(path: Path) -> None:
    write_charter(path, made().charter.changed(signatures={}))
    assert load_charter(path).unsigned
    with pytest.raises(IdentityError, match="not signed by"):
        CharterFile(path)


def test_an_amendment_comes_into_force_when_the_file_is_replaced(path: Path) -> None:
    watched = CharterFile(path)
    assert watched.poll() is None
    write_charter(path, revoked())
    amended = watched.poll()
    assert amended is not None
    assert amended.amendment == 1
    assert watched.charter is amended
    assert watched.poll() is None


def test_an_amendment_that_waits_changes_nothing(path: Path) -> None:
    watched = CharterFile(path)
    write_charter(path, signed(propose(made().charter, "revoke", "west"), "north"))
    assert watched.poll() is None
    assert watched.charter.amendment == 0


def test_an_old_file_does_not_undo_a_revocation(path: Path) -> None:
    write_charter(path, revoked())
    watched = CharterFile(path)
    write_charter(path, made().charter)
    assert watched.poll() is None
    assert watched.charter.members["west"].revoked


@pytest.mark.parametrize("damage", ["torn", "another", "contradicting", "gone"])
def test_a_bad_file_is_told_once_and_the_charter_in_force_stays(path: Path, damage: str) -> None:
    write_charter(path, revoked())
    watched = CharterFile(path)
    if damage == "torn":
        path.write_text(path.read_text()[:-10])
    elif damage == "gone":
        path.unlink()
    elif damage == "contradicting":
        write_charter(path, revoked("east"))
    else:
        write_charter(path, signed(made().charter.changed(seed=8, signatures={}), *made().charter.sites))
    with pytest.raises(IdentityError):
        watched.poll()
    assert watched.poll() is None
    assert watched.charter.amendment == 1
    longer = signed(propose(watched.charter, "revoke", "east"), "north", "south", "east")
    write_charter(path, longer)
    assert watched.poll() == longer


def test_a_neighbours_copy_extends_ours(path: Path) -> None:
    watched = CharterFile(path)
    assert watched.extend(revoked()) == watched.charter
    assert watched.charter.amendment == 1
    assert watched.extend(made().charter) is None


def test_a_file_that_was_only_touched_is_read_again_and_changes_nothing(path: Path) -> None:
    watched = CharterFile(path)
    os.utime(path)
    assert watched.poll() is None
