"""A charter is all that the members of a federation agreed on, signed by each of them, amended by signature only."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from surefed.core import IdentityError
from surefed.peer import canonical
from surefed.peer.charter.amendment import Amendment
from surefed.peer.identity.members import Member, Members
from surefed.peer.identity.names import Hex32, Hex64, Site, Stated
from surefed.peer.identity.signing import signed_by
from surefed.sim.experiment import Graph, Learn, Model, Rule

PURPOSE = b"surefed charter 1"
"""What the founders' signatures are for."""

WEIGHTS = 2**30
"""No model has more weights; a belief of so many would be 8 GiB."""


class _Chain(NamedTuple):
    """What the amendments in force come to."""

    members: Members
    heads: tuple[str, ...]
    lacks: list[str]


class Charter(Stated):
    """All that decides a federation's results, who its members are, and their signatures."""

    version: Literal[1] = 1
    """Of this layout."""
    name: Annotated[str, Field(min_length=1, max_length=80)]
    """What people call the federation."""
    authority: Hex32
    """SHA-256 of the certificate of the authority that every member's TLS certificate is signed by."""
    founders: Annotated[tuple[Member, ...], Field(min_length=1, max_length=1000)]
    """The founding members, in the order that stands for clients 0, 1, ... of the simulator."""
    approvals: Annotated[int, Field(ge=1, le=1000)]
    """How many members must sign an amendment."""
    model: Model
    """Which network."""
    shape: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, max_length=8)]
    """The shape of one input."""
    classes: Annotated[int, Field(ge=0, le=10**6)]
    """Classes told apart; 0 where labels are numbers."""
    targets: Annotated[int, Field(ge=1, le=10**6)] = 1
    """Numbers predicted for each sample, where labels are numbers."""
    weights: Annotated[int, Field(ge=1, le=WEIGHTS)]
    """How many weights the network has, which is the size of every message."""
    model_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    """What the network computes: its layers, their names and shapes, and the weights everybody starts from."""
    learn: Learn
    """How a site learns within a round."""
    rule: Rule
    """How a site judges and aggregates."""
    graph: Graph
    """Who hears whom, round by round."""
    graph_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    """Who hears whom among the founders in every round, however the graph was made."""
    malicious: Annotated[int, Field(ge=0, le=1000)] = 0
    """How many malicious neighbours the rules that must be told reckon with."""
    rounds: Annotated[int, Field(ge=1, le=10**9)]
    """Rounds of the federation."""
    deadline: Annotated[float, Field(gt=0, le=7 * 86400)]
    """Seconds after which a round goes on with whoever was heard."""
    staleness: Annotated[int, Field(ge=0, le=1000)] = 0
    """Rounds that a belief may be older or newer than the round it is used in."""
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    """Every random number of the run follows from it."""
    chunk: Annotated[int, Field(ge=1024, le=2**22)] = 2**20
    """Bytes that are asked for at a time."""
    signatures: dict[Site, Hex64] = Field({})
    """The founders' signatures."""
    amendments: Annotated[tuple[Amendment, ...], Field(max_length=10_000)] = ()
    """Changes of membership, one after the other; the last one may still lack signatures."""

    @field_validator("name")
    @classmethod
    def _one_line(cls, name: str) -> str:
        if not name.strip() or not name.isprintable():
            raise ValueError("a name is one line of text")
        return name

    @model_validator(mode="after")
    def _fits(self) -> Charter:
        if self.approvals > len(self.founders):
            raise ValueError(f"approvals: {self.approvals} signatures cannot come from {len(self.founders)} founders")
        try:
            Members.founding(self.founders)
        except IdentityError as error:
            raise ValueError(str(error)) from None
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that was agreed on at the founding; amendments do not change it."""
        return hashlib.sha256(canonical.encode(self.agreed())).hexdigest()

    def agreed(self) -> dict[str, Any]:
        """All that the founders sign, as plain values of one spelling."""
        values: dict[str, Any] = plain(self.model_dump(exclude={"signatures", "amendments"}))
        return values

    @property
    def message(self) -> bytes:
        """What the founders sign."""
        return self.digest.encode()

    @property
    def size(self) -> int:
        """Bytes of a belief on the wire: mean and rho of every weight, four bytes each or two."""
        return (8 if self.learn.published == "float32" else 4) * self.weights

    @property
    def chunks(self) -> int:
        """How many pieces a belief is pulled in."""
        return -(-self.size // self.chunk)

    @property
    def members(self) -> Members:
        """Who belongs to the federation, by the amendments in force."""
        return self._chain.members

    @property
    def sites(self) -> tuple[str, ...]:
        """Every site's name in order, those added later last, revoked ones included: a site's place never changes."""
        return self.members.sites

    @property
    def amendment(self) -> int:
        """The number of the last amendment in force; 0 for none."""
        return len(self._chain.heads) - 1

    @property
    def heads(self) -> tuple[str, ...]:
        """The digest of the charter and of each amendment in force."""
        return self._chain.heads

    @property
    def pending(self) -> Amendment | None:
        """The amendment that is not in force yet; `lacks` says what it waits for."""
        return self.amendments[-1] if len(self.amendments) > self.amendment else None

    @property
    def lacks(self) -> list[str]:
        """Whose signatures the pending amendment lacks."""
        return self._chain.lacks

    @property
    def unsigned(self) -> list[str]:
        """The founders who have not signed yet."""
        return [founder.site for founder in self.founders if founder.site not in self.signatures]

    def check(self) -> None:
        """Refuse a charter that somebody did not sign, or in which any signature or amendment is wrong."""
        self.check_signatures()
        if self.unsigned:
            raise IdentityError(
                f"the charter of {self.name!r} is not signed by {', '.join(self.unsigned)}; each of them signs with "
                "`surefed federation sign`"
            )

    def check_signatures(self) -> None:
        """Refuse a charter in which a signature or an amendment is wrong; signatures may still be missing."""
        keys = {founder.site: founder.signing for founder in self.founders}
        for site, signature in self.signatures.items():
            if site not in keys or not signed_by((keys[site],), PURPOSE, self.message, signature):
                raise IdentityError(
                    f"the charter of {self.name!r} holds a signature in the name of {site} that is not that site's; it "
                    "was altered, or signed with another key"
                )
        _ = self._chain

    def changed(self, **values: Any) -> Charter:
        """The same charter with other signatures or amendments."""
        return Charter(**{name: getattr(self, name) for name in Charter.model_fields} | values)

    @cached_property
    def _chain(self) -> _Chain:
        members, heads = Members.founding(self.founders), [self.digest]
        lacks: list[str] = []
        for at, amendment in enumerate(self.amendments):
            if amendment.number != at + 1 or amendment.previous != heads[-1]:
                raise IdentityError(
                    f"amendment {amendment.number} of the charter of {self.name!r} does not follow the one before it; "
                    "take the file from another member"
                )
            after = amendment.apply(members)
            lacks = amendment.lacks(members, self.approvals)
            if lacks and at + 1 < len(self.amendments):
                raise IdentityError(
                    f"{amendment.said()} lacks signatures, and others follow it; only the last may wait"
                )
            if not lacks:
                members = after
                heads.append(amendment.digest)
        return _Chain(members, tuple(heads), lacks)


def plain(value: Any) -> Any:
    """Equal values look equal: 14 and 14.0, a list and a tuple."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value


def named(key: object) -> str:
    """A key as it can be shown to people, whoever wrote it."""
    text = str(key)
    return text if len(text) <= 40 and text.isascii() and text.isprintable() else f"{ascii(text)[:40]}..."
