"""`surefed keys`: private keys made on the site, certificates from the founder, renewal and revocation."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from surefed.cli import console
from surefed.cli.commands import FormatOption
from surefed.cli.console import Format
from surefed.core import IdentityError
from surefed.peer import identity
from surefed.peer.charter import load_charter, propose, read_charter, sign_charter, write_charter
from surefed.peer.identity import SOON, Authority, Facts
from surefed.peer.identity.keys import signing_keys

keys_app = typer.Typer(help="Make, approve, renew and revoke the keys of a site.", no_args_is_help=True)

SiteArgument = Annotated[str, typer.Argument(help="The site's name, such as north.")]
FolderOption = Annotated[Path, typer.Option("--dir", help="The site's folder of keys.")]
AuthorityOption = Annotated[
    Path, typer.Option("--authority", help="The authority's folder; its ca.key belongs offline.")
]
HostOption = Annotated[
    list[str] | None, typer.Option("--host", help="A name or address under which others dial this site; repeatable.")
]
SignerOption = Annotated[str, typer.Option("--as", help="The member who signs.")]
CharterArgument = Annotated[Path, typer.Argument(help="The charter file.")]

KEYS, AUTHORITY = Path("keys"), Path("authority")


@keys_app.command()
def authority(
    folder: Annotated[Path, typer.Argument(help="Where to make it.")] = AUTHORITY,
    name: Annotated[str, typer.Option(help="What certificates call it.")] = "SureFED authority",
) -> None:
    """The founder makes the authority that signs every member's certificate."""
    made = identity.found(folder, name)
    console.say(f"wrote {folder / 'ca.pem'}, which every site gets: {_groups(identity.fingerprint(made.certificate))}")
    console.say(f"wrote {folder / 'ca.key'}: whoever has it can let anybody in. Keep this folder offline")


@keys_app.command()
def new(site: SiteArgument, folder: FolderOption = KEYS, host: HostOption = None) -> None:
    """A site makes its private keys, which never leave it, and a request for the founder."""
    places = identity.new_keys(site, tuple(host or ()), folder)
    console.say(f"wrote {places.tls} and {places.signing}; they stay here and are never sent")
    _told(places)


@keys_app.command()
def approve(
    requests: Annotated[list[Path], typer.Argument(help="Requests that sites sent.")],
    folder: AuthorityOption = AUTHORITY,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long the certificate is valid.")] = 365,
    new_keys: Annotated[
        bool, typer.Option("--new-keys", help="The sites were approved before, and did make new keys.")
    ] = False,
) -> None:
    """The founder signs certificates for what sites asked; compare the keys by telephone before sending them out."""
    signer = Authority(folder)
    for path in requests:
        asked = identity.read_request(path)
        member = signer.approve(asked, days, new_keys=new_keys)
        console.say(
            f"{member.site}, dialled as {', '.join(asked.hosts)}: wrote {folder / (member.site + '.pem')}\n"
            f"  signing key  {_groups(member.signing)}\n  certificate  {_groups(member.certificate)}"
        )
    console.say(
        "read the signing keys to the sites by telephone; `surefed keys show` shows them there. Then send each its "
        ".pem, and ca.pem"
    )


@keys_app.command()
def install(
    certificate: Annotated[Path, typer.Argument(help="The certificate that the founder sent back.")],
    ca: Annotated[Path | None, typer.Option("--ca", help="The authority's ca.pem; needed the first time.")] = None,
    charter: Annotated[
        Path | None, typer.Option(help="The charter; the certificate is put to use only if it is known there.")
    ] = None,
    folder: FolderOption = KEYS,
) -> None:
    """A site puts an approved certificate to use, after every check; the keys it was made for come into use with it."""
    known = identity.facts(identity.read_certificate(certificate))
    site = known.site
    if charter is not None and known.fingerprint not in read_charter(charter).members[site].certificates:
        raise IdentityError(f"{charter} does not know this certificate of {site} yet; amend it first")
    made = identity.install(site, certificate, ca, folder)
    console.say(f"{site} is ready in {folder}, until {made.facts.expires:%Y-%m-%d}")


@keys_app.command()
def show(
    site: SiteArgument,
    folder: FolderOption = KEYS,
    format: FormatOption = Format.text,
) -> None:
    """What a site's folder holds: fingerprints, dates, hosts; after every check that a peer makes before it starts."""
    places = identity.Places(folder, identity.checked_site(site))
    if not places.certificate.exists():
        _asked(places, format)
        return
    known = identity.load_identity(site, folder)
    told: dict[str, Any] = {
        "site": site,
        "signing": known.signing,
        "certificate": known.fingerprint,
        "authority": known.authority,
        "hosts": list(known.facts.hosts),
        "begins": known.facts.begins.isoformat(),
        "expires": known.facts.expires.isoformat(),
    }
    if format is Format.json:
        console.print_json(told)
        return
    console.say(
        f"{site}, dialled as {', '.join(known.facts.hosts)}\n  signing key  {_groups(known.signing)}\n"
        f"  certificate  {_groups(known.fingerprint)}\n  authority    {_groups(known.authority)}\n"
        f"  valid        {_dates(known.facts)}"
    )


@keys_app.command()
def renew(
    site: SiteArgument,
    folder: FolderOption = KEYS,
    host: HostOption = None,
    new_keys: Annotated[
        bool,
        typer.Option("--new-keys", help="Make new private keys as well; the old ones stay in use until `install`."),
    ] = False,
) -> None:
    """A site asks for a newer certificate, for the keys it has or for new ones, while it goes on running."""
    places = identity.renew(site, folder, tuple(host or ()), fresh=new_keys)
    if new_keys:
        console.say(f"new keys wait in {folder}; the old ones are in use until the new certificate is installed")
    _told(places)


@keys_app.command()
def revoke(
    charter: CharterArgument,
    site: SiteArgument,
    signer: SignerOption,
    folder: FolderOption = KEYS,
    fingerprint: Annotated[
        str | None, typer.Option(help="Only this certificate or signing key, in hex; default: the whole site.")
    ] = None,
) -> None:
    """A member proposes to revoke a site, or one of its keys, and signs; the others use `surefed federation sign`."""
    agreed = load_charter(charter)
    standing = agreed.members[site]
    kinds = {"signing": standing.signing, "certificate": standing.certificates}
    given = fingerprint.replace(" ", "").replace(":", "").lower() if fingerprint else None
    which = {kind: given for kind, known in kinds.items() if given in known}
    if given is not None and not which:
        raise IdentityError(f"{given[:16]}... is neither a signing key nor a certificate accepted from {site}")
    amended = sign_charter(propose(agreed, "revoke", site, **which), signer, signing_keys(signer, folder))
    write_charter(charter, amended)
    waits = f"it waits for {'; and for '.join(amended.lacks)}" if amended.pending else "it is in force"
    console.say(f"{amended.amendments[-1].said()}; {waits}. Send {charter} to every site")


def _asked(places: identity.Places, format: Format) -> None:
    asked = identity.read_request(places.request)
    told = {"site": asked.site, "signing": asked.signing, "hosts": list(asked.hosts), "certificate": None}
    if format is Format.json:
        console.print_json(told)
        return
    console.say(
        f"{asked.site}, dialled as {', '.join(asked.hosts)}: not approved yet\n  signing key  {_groups(asked.signing)}"
    )


def _told(places: identity.Places) -> None:
    asked = identity.read_request(places.request)
    console.say(
        f"wrote {places.request}: send it to the founder, who runs `surefed keys approve {places.request.name}`\n"
        f"  signing key  {_groups(asked.signing)}"
    )


def _groups(digits: str) -> str:
    """Hex in groups of four, to be read aloud."""
    return " ".join(digits[at : at + 4] for at in range(0, len(digits), 4))


def _dates(facts: Facts) -> str:
    left = facts.left(datetime.now(UTC))
    soon = "; renew it now with `surefed keys renew`" if left < SOON else ""
    return f"{facts.begins:%Y-%m-%d} to {facts.expires:%Y-%m-%d}, {left.days} days left{soon}"
