from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from surefed.cli.federation import federation_app
from surefed.peer.charter import admit, read_charter
from surefed.peer.identity import Authority

from ..peer.made import copied
from .test_keys import keys, use

SITES = ("north", "south", "east", "west", "centre")


def federation(*words: str) -> int:
    return use(federation_app, *words)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    return tmp_path


def test_five_hospitals_found_a_federation(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert keys("authority") == 0
    for site in SITES:
        assert keys("new", site, "--dir", site, "--host", f"{site}.example") == 0
    assert keys("approve", *(f"{site}/{site}.request" for site in SITES)) == 0
    assert federation("init") == 0
    assert federation("new", "federation.toml") == 0
    assert "each founder signs it" in capsys.readouterr().out
    for at, site in enumerate(SITES):
        assert keys("install", f"authority/{site}.pem", "--ca", "authority/ca.pem", "--dir", site) == 0
        capsys.readouterr()
        assert federation("sign", "federation.charter", "--as", site, "--dir", site, "--yes") == 0
        said = capsys.readouterr().out
        assert f"signed by {site}" in said
        assert ("in force" in said) == (at == 4)
    assert federation("verify", "federation.charter") == 0
    assert "every signature holds, and model and graph built here are the same" in capsys.readouterr().out
    charter = read_charter(here / "federation.charter")
    assert charter.sites == SITES
    assert charter.weights == 64 * 32 + 32 + 32 * 10 + 10  # the mlp's hidden layer of 32


def test_signing_asks_first(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(here)
    charter = folder / "federation.charter"
    text = charter.read_text()
    values = json.loads(text) | {"signatures": {}}
    charter.write_text(json.dumps(values))
    monkeypatch.setattr("typer.confirm", lambda question: question == "n")
    words = ("sign", str(charter), "--as", "north", "--dir", str(folder / "north"))
    assert federation(*words) == 1
    assert json.loads(charter.read_text())["signatures"] == {}
    assert federation(*words, "--yes") == 0
    assert list(json.loads(charter.read_text())["signatures"]) == ["north"]
    capsys.readouterr()
    assert federation(*words, "--yes") == 6
    assert "there is nothing in" in capsys.readouterr().out


def test_a_charters_code_is_not_run_before_one_agreed_to_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied(here)
    charter = folder / "federation.charter"
    values = json.loads(charter.read_text()) | {"signatures": {}, "model": {"name": "hostile:net"}}
    charter.write_text(json.dumps(values))
    (here / "hostile.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    asked = []
    monkeypatch.setattr("typer.confirm", lambda question: asked.append(question))
    assert federation("show", str(charter)) == 0
    assert federation("compare", str(charter), str(charter)) == 0
    assert federation("sign", str(charter), "--as", "north", "--dir", str(folder / "north")) == 1
    assert federation("verify", str(charter)) == 6
    assert asked == [
        "Build the model 'hostile:net' and the graph 'complete' here, and if they are the same, sign as north?"
    ]
    assert not (here / "ran").exists()


def test_nobody_signs_a_model_that_is_another_here(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(here)
    charter = folder / "federation.charter"
    values = json.loads(charter.read_text()) | {"signatures": {}, "model_digest": "0" * 32}
    charter.write_text(json.dumps(values))
    assert federation("sign", str(charter), "--as", "north", "--dir", str(folder / "north"), "--yes") == 6
    assert "are not those of the charter; use the same model code" in capsys.readouterr().out


def test_a_site_joins_by_an_amendment(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(here)
    charter = folder / "federation.charter"
    admit(Authority(folder / "authority"), "centre", folder / "centre")
    joining = ("--member", str(folder / "centre/centre.request"), "--certificate", str(folder / "centre/centre.pem"))
    assert federation("amend", str(charter), "--as", "north", "--dir", str(folder / "north"), *joining) == 0
    assert "amendment 1 adds centre" in capsys.readouterr().out
    copies = []
    for site in ("south", "east", "centre"):  # at the same time, each on its own copy
        copies.append(str(shutil.copy(charter, folder / site / "copy.charter")))
        assert federation("sign", copies[-1], "--as", site, "--dir", str(folder / site), "--yes") == 0
    capsys.readouterr()
    assert federation("merge", str(charter), *copies) == 0
    assert "in force with amendment 1" in capsys.readouterr().out
    assert read_charter(charter).sites[-1] == "centre"
    assert federation("show", str(charter)) == 0
    said = capsys.readouterr().out
    assert "4  centre" in said
    assert federation("amend", str(charter), "--as", "north", "--dir", str(folder / "north"), *joining) == 6
    assert "knows this key and certificate of centre already" in capsys.readouterr().out


def test_a_renewed_certificate_is_amended_and_can_be_withdrawn(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(here)
    charter, south = folder / "federation.charter", folder / "south"
    assert keys("renew", "south", "--dir", str(south)) == 0
    assert keys("approve", str(south / "south.request"), "--authority", str(folder / "authority")) == 0
    new = ("--member", str(south / "south.request"), "--certificate", str(folder / "authority/south.pem"))
    words = ("amend", str(charter), "--as", "north", "--dir", str(folder / "north"))
    assert federation(*words, *new) == 0
    said = capsys.readouterr().out
    assert "amendment 1 renews south: certificate" in said
    assert "key" not in said.split("amendment 1 renews south")[1].splitlines()[0]
    assert federation("show", str(charter), "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["lacks"] == ["2 more of the members (1 of 3 signed)"]
    assert federation(*words, "--withdraw") == 0
    assert read_charter(charter).pending is None
    wrong = ("--member", str(south / "south.request"), "--certificate", str(folder / "authority/east.pem"))
    capsys.readouterr()
    assert federation(*words, *wrong) == 6
    assert "the certificate is of 'east', not of 'south'" in capsys.readouterr().out
    assert federation(*words) == 6
    assert "--member SITE.request and --certificate SITE.pem" in capsys.readouterr().out


def test_a_certificate_of_another_authority_is_not_amended_in(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(here)
    assert keys("authority", "other") == 0
    assert keys("new", "centre", "--dir", "centre", "--host", "x") == 0
    assert keys("approve", "centre/centre.request", "--authority", "other") == 0
    joining = ("--member", "centre/centre.request", "--certificate", "other/centre.pem")
    charter = str(folder / "federation.charter")
    capsys.readouterr()
    assert federation("amend", charter, "--as", "north", "--dir", str(folder / "north"), *joining) == 6
    assert "not signed by this authority" in capsys.readouterr().out


def test_a_hostile_charter_does_not_reach_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    charter = copied(here) / "federation.charter"
    values = json.loads(charter.read_text()) | {"signatures": {}}
    values["rule"] |= {"x\x1b[2J": "\x1b]0;x\x07" * 1000}
    charter.write_text(json.dumps(values))
    assert federation("show", str(charter)) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\x07" not in said
    assert len(said) < 5000


def test_compare_says_what_differs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(here)
    charter = folder / "federation.charter"
    assert federation("compare", str(charter), str(charter)) == 0
    assert "the charters are the same" in capsys.readouterr().out
    values = json.loads(charter.read_text()) | {"signatures": {}, "seed": 8, "deadline": 9}
    (here / "other").write_text(json.dumps(values))
    assert federation("compare", str(charter), "other") == 6
    assert capsys.readouterr().out == "deadline is 2.5 here and 9 there\nseed is 7 here and 8 there\n"
    assert federation("compare", str(charter), "other", "--format", "json") == 6
    assert len(json.loads(capsys.readouterr().out)["differences"]) == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["new", "missing.toml"], 6, "there is no authority's certificate"),
        (["sign", "missing", "--as", "north"], 6, "surefed federation new"),
        (["verify", "missing"], 6, "there is no charter missing"),
    ],
)
def test_what_goes_wrong_says_the_fix(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert federation(*words) == code
    assert message in capsys.readouterr().out


def test_nothing_is_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert federation("init") == 0
    assert federation("init") == 4
    (here / "federation.charter").write_text("")
    assert federation("new", "federation.toml") == 4
    assert "a charter is amended, not replaced" in capsys.readouterr().out
