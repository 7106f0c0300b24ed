from __future__ import annotations

import pytest

from surefed.core import IdentityError
from surefed.peer.identity import Member, Members


def key(digit: str) -> str:
    return digit * 64


FOUNDING = Members.founding(
    [
        Member(site="north", signing=key("1"), certificate=key("a")),
        Member(site="south", signing=key("2"), certificate=key("b")),
    ]
)


def test_places_are_in_order_and_never_change() -> None:
    members = FOUNDING.add("east", key("3"), key("c")).revoke("south", None, None).add("west", key("4"), key("d"))
    assert [(one.site, one.place) for one in members] == [("north", 0), ("south", 1), ("east", 2), ("west", 3)]
    assert members.sites == ("north", "south", "east", "west")
    assert members.active == ("north", "east", "west")


def test_a_renewal_is_accepted_beside_the_one_before_it_and_no_older_one() -> None:
    once = FOUNDING.renew("north", key("5"), key("e"))
    assert once["north"].signing == (key("5"), key("1"))
    assert once["north"].certificates == (key("e"), key("a"))
    twice = once.renew("north", None, key("f"))
    assert twice["north"].signing == (key("5"), key("1"))
    assert twice["north"].certificates == (key("f"), key("e"))
    assert twice["south"] == FOUNDING["south"]


def test_one_key_can_be_revoked_and_the_site_goes_on() -> None:
    members = FOUNDING.renew("north", key("5"), None).revoke("north", key("1"), None)
    assert members["north"].signing == (key("5"),)
    assert not members["north"].revoked


def test_a_site_without_a_key_or_a_certificate_is_revoked() -> None:
    assert FOUNDING.revoke("north", key("1"), None)["north"].revoked
    assert FOUNDING.revoke("north", None, key("a"))["north"].revoked
    assert FOUNDING.revoke("north", None, None)["north"].revoked


def test_a_revoked_site_comes_back_with_new_keys_only() -> None:
    revoked = FOUNDING.revoke("north", None, None)
    back = revoked.renew("north", key("6"), key("7"))
    assert not back["north"].revoked
    assert back["north"].signing == (key("6"),)
    with pytest.raises(IdentityError, match="written down before"):
        revoked.renew("north", key("1"), key("7"))


def test_no_key_belongs_to_two_sites() -> None:
    for signing, certificate in ((key("1"), key("c")), (key("3"), key("b"))):
        with pytest.raises(IdentityError, match="written down before"):
            FOUNDING.add("east", signing, certificate)


def test_what_cannot_be_done() -> None:
    with pytest.raises(IdentityError, match="member already"):
        FOUNDING.add("north", key("3"), key("c"))
    with pytest.raises(IdentityError, match="no member 'east'; the members are north, south"):
        FOUNDING.renew("east", key("3"), None)
    with pytest.raises(IdentityError, match="cannot be revoked"):
        FOUNDING.revoke("north", key("2"), None)
