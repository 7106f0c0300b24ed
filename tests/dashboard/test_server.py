from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from surefed.cli import main
from surefed.core import ConfigError
from surefed.dashboard import beside, dashboard
from tests.dashboard.records import begin, play


def changes(lines: Iterator[str]) -> dict[str, str]:
    """The next news."""
    for line in lines:
        if line.startswith("data:"):
            return dict(json.loads(line.removeprefix("data:"))["changed"])
    raise AssertionError("the stream ended")


def test_news_come_as_a_run_grows(tmp_path: Path) -> None:
    made = begin(tmp_path / "one")
    server = dashboard([tmp_path], port=0)
    server.start()
    try:
        with httpx.stream("GET", f"{server.address}api/events", timeout=20) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = answer.iter_lines()
            first = changes(lines)
            play(made, 1, 0.5, apart=False)
            second = changes(lines)
            assert set(first) == set(second) == {f"{tmp_path.name}/one"}
            assert first != second
    finally:
        server.stop()


def test_any_address_but_loopback_has_a_token(tmp_path: Path) -> None:
    server = dashboard([tmp_path], host="0.0.0.0", port=0)
    server.start()
    try:
        plain, _, token = server.address.partition("?token=")
        assert len(token) > 30
        assert server.shared
        assert httpx.get(plain).status_code == 401
        assert httpx.get(server.address).status_code == 303
    finally:
        server.stop()


def test_a_token_that_could_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least 16"):
        dashboard([tmp_path], token="short")


def test_a_taken_port_or_a_foreign_address_is_an_error_with_an_answer(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match="choose another with --port"):
            dashboard([tmp_path], port=taken.getsockname()[1])
    with pytest.raises(ConfigError, match="--host"):
        dashboard([tmp_path], host="no.such.host.invalid", port=0)


def test_without_the_extra_the_command_to_get_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.dashboard.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'surefed\[dashboard\]'"):
        dashboard([tmp_path])


def test_beside_a_run_it_is_there_as_long_as_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    with beside([tmp_path], said.append, wanted=True, stay=False):
        address = said[0].removeprefix("dashboard: ")
        assert httpx.get(address).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    with beside([tmp_path], said.append, wanted=False, stay=False):
        assert len(said) == 1


def call(*words: str) -> int:
    before, sys.argv = sys.argv, ["surefed", *words]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


def test_a_run_with_a_dashboard_is_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    quick = ["--set", "rounds=2", "--set", "data.clients=4", "--set", "model.name=linear"]
    assert call("run", *quick, "--out", str(tmp_path / "run"), "--dashboard", "--format", "json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["rule"] == "surefed"
    assert "dashboard: http://127.0.0.1:" in said.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["dashboard", "nowhere"], 4, "nowhere is no folder"),
        (["dashboard", "--token", "short"], 2, "at least 16"),
        (["dashboard", "--port", "70000"], 2, "65535"),
    ],
)
def test_mistakes_have_their_message_and_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], code: int,
    message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert call(*words) == code
    assert message in capsys.readouterr().err.replace("\n", " ")
