from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from surefed.dashboard.app import application
from surefed.dashboard.guard import host_of, is_loopback
from tests.dashboard.client import Client

TOKEN = "correct-horse-battery"


def client(tmp_path: Path, token: str | None = None, base: str = "http://127.0.0.1:8765") -> Client:
    return Client(application([tmp_path], token), base)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]:8765", "127.9.9.9"])
def test_loopback_names_are_answered_without_a_token(tmp_path: Path, host: str) -> None:
    assert client(tmp_path).get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.7", "", "[::2]"]
)
def test_a_name_that_someone_else_resolves_is_refused(tmp_path: Path, host: str) -> None:
    answer = client(tmp_path).get("/api/runs", headers={"host": host})
    assert answer.status_code == 421
    assert "127.0.0.1" in answer.text


def test_hosts_are_read_without_their_port() -> None:
    assert [host_of(text) for text in ("a:1", "a", "[::1]:2", "::1")] == ["a", "a", "::1", "::1"]
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/runs", "/api/events", "/csv/curves", "/nothing"])
def test_with_a_token_everything_asks_for_it(tmp_path: Path, path: str) -> None:
    answer = client(tmp_path, TOKEN).get(path)
    assert answer.status_code == 401
    assert TOKEN not in answer.text


@pytest.mark.parametrize("given", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ü"])
def test_a_wrong_token_is_none(tmp_path: Path, given: str) -> None:
    asked = client(tmp_path, TOKEN)
    assert asked.get("/", params={"token": given}).status_code == 401
    assert asked.get("/", headers={"authorization": f"Bearer {given}".encode()}).status_code == 401
    assert asked.get("/", headers={"cookie": f"surefed_8765={given}".encode()}).status_code == 401


def test_the_token_is_taken_from_a_header_or_turned_into_a_cookie(tmp_path: Path) -> None:
    asked = client(tmp_path, TOKEN, base="http://gpu.example:8765")
    assert asked.get("/api/runs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    moved = asked.get("/", params={"token": TOKEN, "x": "1"})
    assert moved.status_code == 303
    assert moved.headers["location"] == "/?x=1"  # the token is gone from the address
    cookie = moved.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert asked.get("/api/runs").status_code == 200


@pytest.mark.parametrize("token", ["with spaces & = ? ;", 'quotes "and" \\ more', "percent%20plus+hash#"])
def test_a_token_of_any_characters_goes_through_address_header_and_cookie(tmp_path: Path, token: str) -> None:
    asked = client(tmp_path, token)
    assert asked.get("/", headers={"authorization": f"Bearer {token}"}).status_code == 200
    assert asked.get(f"/?token={quote(token, safe='')}").status_code == 303
    assert asked.get("/api/runs").status_code == 200


def test_the_way_to_the_page_never_leads_elsewhere(tmp_path: Path) -> None:
    moved = client(tmp_path, TOKEN).get(f"http://127.0.0.1:8765//evil.example/?token={TOKEN}")
    assert moved.headers["location"] == "/evil.example/"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_only_reads(tmp_path: Path, method: str) -> None:
    assert client(tmp_path).request(method, "/api/runs").status_code == 405


def test_every_answer_carries_a_strict_policy(tmp_path: Path) -> None:
    asked = client(tmp_path)
    for path in ("/", "/main.js", "/api/runs", "/nothing"):
        headers = asked.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_the_page_holds_no_inline_script_or_style_and_asks_nobody_else() -> None:
    static = Path(application.__code__.co_filename).parent / "static"
    page = (static / "index.html").read_text()
    assert "<style" not in page
    assert "style=" not in page
    assert " on" not in page.replace(" only", "")
    for file in static.rglob("*"):
        if file.suffix in (".js", ".css", ".html"):
            text = file.read_text()
            assert "innerHTML" not in text, file
            assert "insertAdjacentHTML" not in text, file
            assert "eval(" not in text, file
            assert "//" not in text.replace("http://www.w3.org/2000/svg", "").replace("// ", ""), file


def test_every_module_is_asked_for_at_once() -> None:
    static = Path(application.__code__.co_filename).parent / "static"
    page = (static / "index.html").read_text()
    for file in static.rglob("*.js"):
        assert f'"/{file.relative_to(static).as_posix()}"' in page, file
