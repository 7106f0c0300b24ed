"""Asks an application without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from surefed.dashboard.guard import Guard


class Client:
    """Keeps its cookies, follows no redirect."""

    def __init__(self, app: Guard, base: str = "http://127.0.0.1:8765") -> None:
        self._app, self._base, self._cookies = app, base, httpx.Cookies()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url=self._base, cookies=self._cookies) as client:
                answer = await client.request(method, path, **options)
                self._cookies = client.cookies
                return answer

        return asyncio.run(ask())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)
