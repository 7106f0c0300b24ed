"""`surefed federation`: the charter, from a plain file to everybody's signature, and its amendments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from surefed.cli import console
from surefed.cli.commands import FormatOption, own_modules
from surefed.cli.console import Format
from surefed.cli.keys import AUTHORITY, KEYS, AuthorityOption, CharterArgument, FolderOption, SignerOption
from surefed.core import ConfigError, IdentityError, RecordError
from surefed.peer import charter as charters
from surefed.peer import identity
from surefed.peer.charter import Charter, Draft, load_charter, sign_charter, write_charter
from surefed.peer.identity.keys import signing_keys
from surefed.records import write_text

federation_app = typer.Typer(help="Write, sign, amend and compare the charter of a federation.", no_args_is_help=True)

CHARTER = Path("federation.charter")
WIDEST = 1000
"""Characters of a table that are shown."""

TEMPLATE = Path(__file__).with_name("federation.toml")


@federation_app.command()
def init(file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("federation.toml")) -> None:
    """Write a file with all that the founders have to agree on, explained, ready to be edited."""
    if file.exists():
        raise RecordError(f"{file} exists; choose another name")
    write_text(file, TEMPLATE.read_text())
    console.say(f"wrote {file}; when it says what you agreed on: surefed federation new {file}")


@federation_app.command()
def new(
    file: Annotated[Path, typer.Argument(help="The TOML file that says what the founders agreed on.")],
    folder: AuthorityOption = AUTHORITY,
    out: Annotated[Path, typer.Option(help="Where to write the charter.")] = CHARTER,
) -> None:
    """Write the charter of the approved members, for each of them to sign."""
    own_modules()
    if out.exists():
        raise RecordError(f"{out} exists; a charter is amended, not replaced. Choose another --out")
    authority = identity.read_certificate(folder / "ca.pem", "authority's certificate")
    members = identity.read_members(folder / "members.json")
    agreed = Draft.read(file).charter(members, identity.fingerprint(authority))
    write_charter(out, agreed)
    _describe(agreed)
    console.say(f"wrote {out}; each founder signs it: surefed federation sign {out} --as SITE")


@federation_app.command()
def sign(
    charter: CharterArgument,
    signer: SignerOption,
    folder: FolderOption = KEYS,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Sign a charter as a founder, or the amendment that waits, if model and graph built here are those it means.

    Building them runs the code that the charter names, so you are asked first.
    """
    agreed = load_charter(charter)
    signed = sign_charter(agreed, signer, signing_keys(signer, folder))
    if signed == agreed:
        raise IdentityError(f"there is nothing in {charter} for {signer} to sign with the keys in {folder}")
    _describe(agreed)
    if agreed.pending is not None:
        console.say(f"  {agreed.pending.said()}")
    what = f"the model {agreed.model.name!r} and the graph {agreed.graph.name!r}"
    question = f"Build {what} here, and if they are the same, sign as {signer}?"
    if not yes and not _agreed(question):
        raise typer.Exit(1)
    own_modules()
    charters.check_built(agreed)
    write_charter(charter, signed)
    console.say(f"signed by {signer}. {_state(signed)}")


@federation_app.command()
def amend(
    charter: CharterArgument,
    signer: SignerOption,
    folder: FolderOption = KEYS,
    request: Annotated[
        Path | None, typer.Option("--member", help="Add, or renew, the site that made this request ...")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="... with the certificate that the founder approved.")
    ] = None,
    drop: Annotated[bool, typer.Option("--withdraw", help="Take back the amendment that waits.")] = False,
) -> None:
    """Add a site or renew its keys, while the others go on; signed by --as, and by the others with `sign`.

    Keys are revoked with `surefed keys revoke`.
    """
    agreed = load_charter(charter)
    if drop:
        write_charter(charter, charters.withdraw(agreed))
        console.say(f"withdrawn: {agreed.amendments[-1].said()}")
        return
    if request is None or certificate is None:
        raise IdentityError("say who with --member SITE.request and --certificate SITE.pem, or use --withdraw")
    proposed = _proposed(agreed, request, certificate, identity.Places(folder, signer).authority)
    signed = sign_charter(proposed, signer, signing_keys(signer, folder))
    write_charter(charter, signed)
    console.say(_state(signed) if signed.pending is not None else f"{signed.amendments[-1].said()}. {_state(signed)}")


@federation_app.command()
def merge(
    charter: CharterArgument,
    others: Annotated[list[Path], typer.Argument(help="Copies of it, signed elsewhere.")],
) -> None:
    """Take over the signatures and amendments of other copies, so that members can sign at the same time."""
    agreed = load_charter(charter)
    for other in others:
        agreed = charters.merged(agreed, load_charter(other))
    write_charter(charter, agreed)
    console.say(_state(agreed))


@federation_app.command()
def show(charter: CharterArgument, format: FormatOption = Format.text) -> None:
    """What a charter says, who belongs to it now, and what it still lacks."""
    agreed = load_charter(charter)
    if format is Format.json:
        console.print_json(_told(agreed))
        return
    _describe(agreed)
    for one in agreed.members:
        state = "revoked" if one.revoked else f"key {one.signing[0][:16]}... certificate {one.certificates[0][:16]}..."
        console.say(f"  {one.place:>3}  {one.site:<20} {state}")
    for amendment in agreed.amendments[: agreed.amendment]:
        console.say(f"  {amendment.said()}")
    console.say(_state(agreed))


@federation_app.command()
def verify(charter: CharterArgument) -> None:
    """Check every signature of a charter, and that model and graph built here are those it means."""
    own_modules()
    agreed = charters.read_charter(charter)
    charters.check_built(agreed)
    console.say(
        f"{agreed.digest}: every signature holds, and model and graph built here are the same. {_state(agreed)}"
    )


@federation_app.command()
def compare(
    charter: CharterArgument,
    other: Annotated[Path, typer.Argument(help="Another charter.")],
    format: FormatOption = Format.text,
) -> None:
    """Say what differs between two charters; exit code 6 if anything does."""
    found = charters.differences(load_charter(charter), load_charter(other))
    if format is Format.json:
        console.print_json({"differences": found})
    else:
        console.say("\n".join(found) or "the charters are the same")
    if found:
        raise typer.Exit(IdentityError.exit_code)


def _proposed(agreed: Charter, request: Path, certificate: Path, ca: Path) -> Charter:
    """The charter with an amendment for what is new in a request and its certificate."""
    asked, approved = identity.read_request(request), identity.read_certificate(certificate)
    authority = identity.read_certificate(ca, "authority's certificate")
    if identity.fingerprint(authority) != agreed.authority:
        raise IdentityError(f"{ca} is not the authority of the charter of {agreed.name!r}")
    known = identity.check_certificate(approved, authority, asked.site)
    if approved.public_key() != asked.csr.public_key():
        raise IdentityError(f"{certificate} is not the certificate for {request}")
    standing = agreed.members.get(asked.site)
    if standing is None:
        return charters.propose(agreed, "add", asked.site, signing=asked.signing, certificate=known.fingerprint)
    key = None if asked.signing in standing.signing else asked.signing
    new = None if known.fingerprint in standing.certificates else known.fingerprint
    if key is None and new is None:
        raise IdentityError(f"the charter knows this key and certificate of {asked.site} already")
    return charters.propose(agreed, "renew", asked.site, signing=key, certificate=new)


def _describe(agreed: Charter) -> None:
    told = agreed.agreed()
    console.say(
        f"{agreed.name}: {len(agreed.sites)} sites, {agreed.rounds} rounds of at most {agreed.deadline:g} s, seed "
        f"{agreed.seed}\n  digest  {agreed.digest}\n  sites   {', '.join(agreed.sites)}\n"
        f"  model   {_line(told['model'])}, {agreed.weights} weights, inputs {list(agreed.shape)}, "
        + (f"{agreed.classes} classes" if agreed.classes else f"{agreed.targets} numbers")
        + f"\n  learn   {_line(told['learn'])}\n  rule    {_line(told['rule'])}\n  graph   {_line(told['graph'])}\n"
        f"  amended by {agreed.approvals} signatures; a belief is {agreed.size} bytes, staleness {agreed.staleness}"
    )


def _line(table: dict[str, Any]) -> str:
    """A table in a line, whoever wrote it: nothing in it reaches the terminal as a command."""
    line = ", ".join(f"{key} {value}" for key, value in table.items() if value not in (None, {}))
    line = line if line.isprintable() else ascii(line)
    return line if len(line) <= WIDEST else f"{line[:WIDEST]}..."


def _agreed(question: str) -> bool:
    """Whether somebody says yes; an error where nobody can be asked."""
    try:
        return typer.confirm(question)
    except typer.Abort:
        raise ConfigError("nothing is signed: nobody could be asked; read the above, then sign with --yes") from None


def _state(agreed: Charter) -> str:
    """What is in force, and what is still missing."""
    if agreed.unsigned:
        return f"still to sign: {', '.join(agreed.unsigned)}"
    if agreed.pending is not None:
        return f"{agreed.pending.said()}; it waits for {'; and for '.join(agreed.lacks)}"
    amended = "" if agreed.amendment == 0 else f" with amendment {agreed.amendment}"
    return f"in force{amended}; give every site this file"


def _told(agreed: Charter) -> dict[str, Any]:
    return agreed.agreed() | {
        "digest": agreed.digest,
        "unsigned": agreed.unsigned,
        "amendment": agreed.amendment,
        "pending": agreed.pending.said() if agreed.pending else None,
        "lacks": agreed.lacks,
        "members": [
            {
                "site": one.site,
                "place": one.place,
                "signing": list(one.signing),
                "certificates": list(one.certificates),
                "revoked": one.revoked,
            }
            for one in agreed.members
        ],
    }
