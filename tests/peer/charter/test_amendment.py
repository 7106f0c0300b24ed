from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from surefed.core import IdentityError
from surefed.peer.charter import (
    Charter,
    charter_bytes,
    check_membership,
    extended,
    merged,
    parse_charter,
    propose,
    sign_charter,
    withdraw,
)
from surefed.peer.identity import Authority, install, load_identity, read_request, renew
from surefed.peer.identity.signing import public_hex
from surefed.peer.refused import Reason, Refused

from ..made import copied, made, signed, with_fifth


def revoking(site: str = "west") -> Charter:
    return propose(made().charter, "revoke", site)


def test_adding_a_site_takes_three_members_and_the_site_itself(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    longer, centre = with_fifth(folder)
    assert longer.sites == ("north", "south", "east", "west", "centre")
    assert longer.digest == made().charter.digest
    assert longer.amendment == 1
    check_membership(centre, longer)
    keys = {"signing": centre.signing, "certificate": centre.fingerprint}
    proposed = propose(made().charter, "add", "centre", **keys)
    assert proposed.lacks == ["centre, by its new signing key", "3 more of the members (0 of 3 signed)"]
    two = signed(proposed, "north", "south", "centre", folder=folder)
    assert two.lacks == ["1 more of the members (2 of 3 signed)"]
    assert two.amendment == 0
    assert two.sites == made().charter.sites
    assert signed(two, "west").amendment == 1


def test_a_signature_counts_once_however_often_it_is_given() -> None:
    again = signed(revoking(), "north", "north", "south", "north")
    assert again.lacks == ["1 more of the members (2 of 3 signed)"]


def test_a_renewal_takes_approvals_as_well_and_both_keys_serve_meanwhile(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    old = load_identity("north", folder / "north")
    places = renew("north", folder / "north", fresh=True)
    authority = Authority(folder / "authority")
    member = authority.approve(read_request(places.request), new_keys=True)
    proposed = propose(made().charter, "renew", "north", signing=member.signing, certificate=member.certificate)
    assert signed(proposed, "north", folder=folder).lacks == ["2 more of the members (1 of 3 signed)"]
    renewed = signed(proposed, "north", "south", "east", folder=folder)
    assert renewed.members["north"].signing == (member.signing, old.signing)
    check_membership(old, renewed)
    check_membership(install("north", authority.folder / "north.pem", None, folder / "north"), renewed)


def test_a_new_key_has_to_sign(tmp_path: Path) -> None:
    somebody = Ed25519PrivateKey.generate()
    proposed = propose(made().charter, "renew", "north", signing=public_hex(somebody))
    three = signed(proposed, "north", "south", "east")
    assert three.lacks == ["north, by its new signing key"]
    assert sign_charter(three, "south", [somebody]).lacks  # only in the name of the site it is for
    assert sign_charter(three, "north", [somebody]).amendment == 1


def test_a_revoked_site_cannot_start_and_cannot_sign() -> None:
    without = signed(revoking("north"), "south", "east", "west")
    with pytest.raises(IdentityError, match="north was revoked"):
        check_membership(made().identities["north"], without)
    next_one = propose(without, "revoke", "south")
    assert signed(next_one, "north") == next_one
    assert without.members.active == ("south", "east", "west")


def test_whoever_is_left_can_amend() -> None:
    charter = made().charter
    for gone, signers in (("west", ("north", "south", "east")), ("east", ("north", "south", "east"))):
        charter = signed(propose(charter, "revoke", gone), *signers)
    assert charter.members.active == ("north", "south")  # fewer than the three approvals
    last = propose(charter, "revoke", "south")
    assert signed(last, "north").lacks == ["1 more of the members (1 of 2 signed)"]
    assert signed(last, "north", "south").members.active == ("north",)


def forged(charter: Charter, **changes: object) -> Refused:
    values = json.loads(charter_bytes(charter))
    values["amendments"][-1] |= changes
    with pytest.raises(Refused) as refused:
        parse_charter(json.dumps(values).encode())
    return refused.value


def test_an_amendment_cannot_be_altered() -> None:
    longer = signed(revoking("west"), "north", "south", "east")
    assert forged(longer, site="north").reason is Reason.CHARTER
    assert forged(longer, certificate=longer.members["west"].certificates or "0" * 64)
    assert "does not follow" in forged(longer, number=2).why
    assert "does not follow" in forged(longer, previous="0" * 64).why
    signatures = longer.amendments[0].signatures
    assert "not that site's" in forged(longer, signatures=signatures | {"west": signatures["north"]}).why
    assert "not that site's" in forged(longer, signatures=signatures | {"nobody": signatures["north"]}).why


def test_an_amendment_of_one_federation_is_worth_nothing_in_another() -> None:
    longer = signed(revoking(), "north", "south", "east")
    other = made().charter.changed(seed=8, signatures={})
    with pytest.raises(IdentityError, match="does not follow"):
        _ = other.changed(amendments=longer.amendments).members


def test_one_amendment_waits_at_a_time() -> None:
    waiting = signed(revoking(), "north")
    with pytest.raises(IdentityError, match="amendment 1 revokes west, the whole site still waits for 2 more"):
        propose(waiting, "revoke", "east")
    assert propose(withdraw(waiting), "revoke", "east").pending is not None
    with pytest.raises(IdentityError, match="no amendment waits"):
        withdraw(made().charter)
    first, second = revoking().amendments[0], signed(revoking(), "north", "south", "east")
    follows = propose(second, "revoke", "east").amendments[1]
    with pytest.raises(IdentityError, match="only the last may wait"):
        _ = made().charter.changed(amendments=(first, follows)).members


@pytest.mark.parametrize(
    ("action", "keys"),
    [("add", {}), ("add", {"signing": "0" * 64}), ("renew", {})],
)
def test_an_amendment_without_its_keys_is_none(action: str, keys: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="added with its key and its certificate"):
        propose(made().charter, action, "north" if action == "renew" else "centre", **keys)  # type: ignore[arg-type]


def test_signatures_from_several_copies_are_merged() -> None:
    start = revoking()
    copies = [signed(start, site) for site in ("north", "south", "east")]
    together = merged(merged(copies[0], copies[1]), copies[2])
    assert together.amendment == 1
    assert merged(made().charter, together) == together
    assert merged(together, made().charter) == together
    unsigned = made().charter.changed(signatures={})
    halves = signed(unsigned, "north", "south"), signed(unsigned, "east", "west")
    merged(*halves).check()


def test_contradicting_copies_are_not_merged() -> None:
    one, other = signed(revoking("west"), "north"), signed(revoking("east"), "south")
    with pytest.raises(IdentityError, match="contradict each other"):
        merged(one, other)
    with pytest.raises(IdentityError, match="two charters"):
        merged(one, other.changed(seed=8, signatures={}, amendments=()))


def test_a_copy_with_more_amendments_extends_ours_and_never_the_other_way() -> None:
    ours = made().charter
    longer = signed(revoking(), "north", "south", "east")
    assert extended(ours, longer).amendment == 1
    assert extended(longer, ours) is longer
    assert extended(ours, signed(revoking(), "north")) is ours  # what is not in force is not taken over
    assert extended(ours, longer.changed(signatures={})).unsigned == []  # the founders' signatures are our own
    other = signed(revoking("east"), "north", "south", "west")
    with pytest.raises(IdentityError, match=r"two amendments 1 .* contradict each other"):
        extended(longer, other)
    with pytest.raises(IdentityError, match="another charter"):
        extended(ours, ours.changed(name="x", signatures={}))
