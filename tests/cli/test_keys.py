from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import typer

from surefed.cli.keys import keys_app
from surefed.core import SureFEDError
from surefed.peer.charter import read_charter

from ..peer.made import copied

HOSTS = ("--host", "peer.north.example", "--host", "10.0.0.7")


def use(app: typer.Typer, *words: str) -> int:
    """Run a command in this process and give its exit code; what a person is told goes to standard output."""
    try:
        app(list(words), prog_name="surefed")
    except SureFEDError as error:
        print(error)
        return error.exit_code
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def keys(*words: str) -> int:
    return use(keys_app, *words)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_nothing_to_a_site_that_can_start(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert keys("authority", "authority") == 0
    assert "Keep this folder offline" in capsys.readouterr().out
    assert keys("new", "north", "--dir", "keys", *HOSTS) == 0
    made = capsys.readouterr().out
    assert "they stay here and are never sent" in made
    assert keys("show", "north", "--dir", "keys") == 0
    assert "not approved yet" in capsys.readouterr().out
    assert keys("approve", "keys/north.request", "--authority", "authority") == 0
    approved = capsys.readouterr().out
    signing = next(line for line in made.splitlines() if "signing key" in line)
    assert signing in approved  # what both read to each other by telephone
    assert "dialled as peer.north.example, 10.0.0.7" in approved
    assert keys("install", "authority/north.pem", "--ca", "authority/ca.pem", "--dir", "keys") == 0
    assert keys("show", "north", "--dir", "keys") == 0
    shown = capsys.readouterr().out
    assert signing in shown
    assert "364 days left" in shown
    assert keys("show", "north", "--dir", "keys", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["hosts"] == ["peer.north.example", "10.0.0.7"]
    assert told["signing"] == signing.removeprefix("  signing key  ").replace(" ", "")


def test_nothing_secret_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys("authority", "authority")
    keys("new", "north", *HOSTS)
    keys("approve", "keys/north.request")
    keys("install", "authority/north.pem", "--ca", "authority/ca.pem")
    keys("renew", "north", "--new-keys")
    keys("show", "north")
    said = capsys.readouterr()
    secrets = list(here.rglob("*.key*"))
    assert len(secrets) == 5  # of the authority, two in use, two that wait
    for path in secrets:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not any(line in said.out + said.err for line in path.read_text().splitlines()[1:-1])


def test_a_certificate_that_will_soon_expire_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    keys("authority")
    keys("new", "north", *HOSTS)
    keys("approve", "keys/north.request", "--days", "20")
    keys("install", "authority/north.pem", "--ca", "authority/ca.pem")
    capsys.readouterr()
    assert keys("show", "north") == 0
    assert "renew it now" in capsys.readouterr().out


def test_renewal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(copied(here) / "north")
    authority = str(here / "federation" / "authority")
    assert keys("renew", "north", "--dir", folder) == 0
    assert keys("approve", f"{folder}/north.request", "--authority", authority) == 0
    charter = str(here / "federation" / "federation.charter")
    assert keys("install", f"{authority}/north.pem", "--dir", folder, "--charter", charter) == 6
    assert "does not know this certificate of north yet; amend it first" in capsys.readouterr().out
    assert keys("install", f"{authority}/north.pem", "--dir", folder) == 0
    assert keys("renew", "north", "--dir", folder, "--new-keys") == 0
    assert keys("renew", "north", "--dir", folder, "--new-keys") == 4  # the ones that wait are not overwritten
    capsys.readouterr()
    assert keys("approve", f"{folder}/north.request", "--authority", authority) == 6
    assert "approve with --new-keys" in capsys.readouterr().out
    assert keys("approve", f"{folder}/north.request", "--authority", authority, "--new-keys") == 0
    assert keys("install", f"{authority}/north.pem", "--dir", folder) == 0


def test_revocation_of_a_site_and_of_one_key(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(here)
    charter = folder / "federation.charter"
    certificate = read_charter(charter).members["west"].certificates[0]
    spoken = " ".join(certificate[at : at + 4] for at in range(0, 64, 4)).upper()
    words = ("revoke", str(charter), "west", "--as", "north", "--dir", str(folder / "north"))
    assert keys(*words, "--fingerprint", "0" * 64) == 6
    assert "neither a signing key nor a certificate accepted from west" in capsys.readouterr().out
    assert keys(*words, "--fingerprint", spoken) == 0
    assert "it waits for 2 more of the members (1 of 3 signed)" in capsys.readouterr().out
    pending = read_charter(charter).pending
    assert pending is not None
    assert (pending.certificate, pending.signing) == (certificate, None)
    assert keys(*words) == 6
    assert "have it signed or withdraw it first" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["new", "North", "--host", "x"], 2, "no name for a site"),
        (["new", "north"], 2, "--host"),
        (["new", "north", "--host", "x:1"], 2, "leave out the port"),
        (["show", "north"], 6, "there is no request keys/north.request"),
        (["approve", "missing.request"], 6, "there is no request missing.request"),
        (["install", "missing.pem"], 6, "there is no certificate missing.pem"),
        (["renew", "north"], 6, "there is no certificate keys/north.pem"),
        (["revoke", "missing", "west", "--as", "north"], 6, "there is no charter missing"),
    ],
)
def test_what_goes_wrong_says_the_fix(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert keys(*words) == code
    assert message in capsys.readouterr().out
