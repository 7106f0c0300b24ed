from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from surefed.data.store import places
from surefed.data.store.sources import SOURCES

from ..data.formats.files import cifar, mnist_like
from ..data.test_store import Server, server
from .test_cli import call

__all__ = ["server"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUREFED_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(places, "SYSTEM", tmp_path / "system")
    return tmp_path / "cache"


def test_list_shows_what_is_here_and_how_to_get_the_rest(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cifar(cache / "cifar10")
    mnist_like(tmp_path / "system" / "fashion-mnist")
    assert call("data", "list") == 0
    said = capsys.readouterr().out
    assert "not here: surefed data get mnist" in said
    assert "not here: surefed data get cifar10" not in said
    assert call("data", "list", "--format", "json") == 0
    listed = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in listed["datasets"]}
    assert [name for name, row in rows.items() if row["here"]] == ["fashion_mnist", "cifar10"]
    assert rows["cifar10"]["bytes"] == 6 * 4 * 3073
    assert rows["fashion_mnist"]["folder"] == str(tmp_path / "system" / "fashion-mnist")
    assert listed["folders"] == [str(cache), str(tmp_path / "system")]


def test_add_remembers_a_copy(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mnist_like(tmp_path / "mine")
    assert call("data", "add", "mnist", "mine") == 0
    assert f"mnist is in {tmp_path / 'mine'}" in capsys.readouterr().out
    assert call("data", "list", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["datasets"][0]["folder"] == str(tmp_path / "mine")
    (tmp_path / "mine").rename(tmp_path / "moved")
    assert call("data", "list") == 0
    assert "mine is not there" in capsys.readouterr().out.replace("\n", "")


def test_get_downloads_and_says_where_it_is(
    cache: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (old,) = SOURCES["cifar10"].files
    server.files[old.name] = b"pictures"
    digest = hashlib.sha256(b"pictures").hexdigest()
    file = replace(old, urls=(f"{server.url}/{old.name}",), sha256=digest)
    monkeypatch.setitem(SOURCES, "cifar10", replace(SOURCES["cifar10"], files=(file,)))
    assert call("data", "get", "cifar10") == 0
    said = capsys.readouterr()
    assert f"cifar10 is in {cache / 'cifar10'} (cifar-10-binary.tar.gz)" in said.out
    assert "cifar-10-binary.tar.gz: 8 bytes" in said.err
    assert call("data", "get", "cifar10", "--format", "json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["bytes"] == 8
    assert said.err == ""


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["get", "mnits"], 2, "did you mean 'mnist'"),
        (["add", "mine", "."], 2, "data of your own is named by its path"),
        (["add", "cifar10", "."], 3, "does not hold cifar10; expected in that folder"),
        (["add", "cifar10", "nowhere"], 3, "is not there"),
        (["get", "cifar10"], 3, "bring cifar-10-binary.tar.gz"),
        (["get", "femnist"], 5, "cannot write"),
    ],
)
def test_every_mistake_has_its_message_and_exit_code(
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    message: str,
) -> None:
    cache.mkdir()
    (cache / "femnist").touch()
    file = replace(SOURCES["cifar10"].files[0], urls=("http://127.0.0.1:1/cifar-10-binary.tar.gz",))
    monkeypatch.setitem(SOURCES, "cifar10", replace(SOURCES["cifar10"], files=(file,)))
    assert call("data", *words) == code
    said = capsys.readouterr().err.replace("\n", " ")
    assert message in said
    assert "Traceback" not in said
