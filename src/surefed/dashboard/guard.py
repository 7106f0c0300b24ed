"""What is let in, and how it is sent out: reading only, from this machine or with the token, a strict policy.

Without a token only loopback names are answered, so that a page elsewhere whose name is pointed at 127.0.0.1 (DNS
rebinding) gets nothing. With a token any name is answered: such a page has no token to show.
"""

from __future__ import annotations

from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse with a sentence."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why this request is not answered, or the way to the page for one that brings the token in its address."""
        headers = Headers(scope=scope)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("The dashboard only reads.\n", 405, {"allow": "GET, HEAD"})
        if self._token is None:
            if is_loopback(host_of(headers.get("host", ""))):
                return None
            return PlainTextResponse("Open the dashboard under http://127.0.0.1 or http://localhost.\n", 421)
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        if any(name == "token" and same(given, self._token) for name, given in query):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            answer = RedirectResponse(f"{_path(scope)}?{rest}" if rest else _path(scope), 303)
            answer.set_cookie(cookie_name(scope), self._token, httponly=True, samesite="lax", path="/")
            return answer
        if same(_shown(scope, headers), self._token):
            return None
        text = "The dashboard asks for its token: open the address that it printed when it was started.\n"
        return PlainTextResponse(text, 401, {"www-authenticate": 'Bearer realm="surefed dashboard"'})


def _path(scope: Scope) -> str:
    """The path on this site; several slashes at its start would name another one."""
    return "/" + str(scope["path"]).lstrip("/\\")


def _shown(scope: Scope, headers: Headers) -> str:
    """The token that a request shows, in a header or a cookie."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(cookie_name(scope))
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def cookie_name(scope: Scope) -> str:
    """A name with the port in it: two dashboards on one machine share their cookies."""
    server = scope.get("server")
    return f"surefed_{server[1] if server else 0}"


def same(given: str, token: str) -> bool:
    """Whether two tokens are equal, in a time that does not tell how far they agree."""
    return compare_digest(given.encode(), token.encode())


def host_of(header: str) -> str:
    """The name in a Host header, its port left off."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header


def is_loopback(host: str) -> bool:
    """Whether a name or number means this machine and is resolved by nobody else."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
