"""The dashboard as a web application: a page, what it asks for, and news as they come."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from surefed.core import RecordError
from surefed.core.versions import __version__
from surefed.dashboard import curves, peer, sheets, sweep, trust
from surefed.dashboard.guard import Guard
from surefed.dashboard.library import Group, Library
from surefed.dashboard.pairs import snapshots_of
from surefed.dashboard.run import Run

STATIC = Path(__file__).with_name("static")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
COMPARED = 24
"""Runs that are drawn into one picture at most."""
STREAMS = 64
"""Pages that are told the news at once at most."""
TICK = 0.2
"""Seconds after which a stream looks whether it should end."""
PACE, SILENCE = 5, 75
"""Ticks between two looks for news, and after which a page is told that there are none."""

Answer = Callable[[Request], Response]


def application(paths: Iterable[Path], token: str | None = None, stopping: Callable[[], bool] = lambda: False) -> Guard:
    """A read-only application over the records at and below these paths; its streams end when it is stopping."""
    pages = Pages(Library(paths), stopping)
    tables = {"run": pages.run, "curves": pages.curves, "trust": pages.trust, "overall": pages.overall}
    tables |= {"edge": pages.edge, "sweep": pages.sweep, "peer": pages.peer}
    routes = [Route("/api/runs", pages.runs), Route("/api/events", pages.events), Route("/csv/{view}", pages.csv)]
    routes += [Route(f"/api/{name}", answered(table)) for name, table in tables.items()]
    return Guard(Starlette(routes=[*routes, *files()]), token)


def answered(table: Callable[[Request], dict[str, Any]]) -> Answer:
    """Answer with a table; a record that cannot be read just now is an answer too, in words."""

    def answer(request: Request) -> Response:
        try:
            return JSONResponse(table(request))
        except (RecordError, OSError) as error:
            return JSONResponse({"problem": str(error)})

    return answer


def files() -> list[Route]:
    """The page's own files, read once: nothing else on the disk has an address."""
    routes = []
    for file in sorted(path for path in STATIC.rglob("*") if path.suffix in KINDS):
        name = file.relative_to(STATIC).as_posix()
        path = "/" if name == "index.html" else f"/{name}"
        routes.append(Route(path, _file(file.read_bytes(), KINDS[file.suffix])))
    return routes


def _file(content: bytes, kind: str) -> Answer:
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'

    def answer(request: Request) -> Response:
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return answer


class Pages:
    """What the page asks for."""

    def __init__(self, library: Library, stopping: Callable[[], bool]) -> None:
        self._library, self._stopping, self._streams = library, stopping, 0

    def runs(self, request: Request) -> Response:
        """Everything there is to choose from."""
        found = self._library.found()
        briefs = [run.brief() for run in found.runs.values()]
        groups = [
            {"id": id, "stamp": group.stamp(), "runs": [run.id for run in group.runs]}
            for id, group in found.sweeps().items()
        ]
        return JSONResponse({"runs": briefs, "groups": groups, "cut": found.cut, "version": __version__})

    def run(self, request: Request) -> dict[str, Any]:
        """One run: who takes part, and of which rounds there are snapshots."""
        run = self._chosen(request)
        about, plan = run.about, run.experiment
        names = {str(name) for name in about.get("malicious", [])}
        return run.brief() | {
            "names": run.clients,
            "bad": [name in names for name in run.clients],
            "layers": run.layers,
            "weights": about.get("weights"),
            "snapshots": snapshots_of(run),
            "notices": [str(notice) for notice in about.get("notices", [])],
            "graph": str(plan.get("graph", {}).get("name", "-")) if isinstance(plan.get("graph"), dict) else "-",
            "kappa": trust.kappa(run),
            "started": str(about.get("started", "")),
            "device": str(about.get("device", "")),
        }

    def curves(self, request: Request) -> dict[str, Any]:
        """Figures over rounds of the runs asked for."""
        runs = self._several(request)
        points = curves.POINTS if len(runs) <= 4 else curves.POINTS // 2
        return {"runs": [curves.curves(run, points) for run in runs]}

    def trust(self, request: Request) -> dict[str, Any]:
        """A round's snapshot."""
        return trust.at_round(self._chosen(request), number(request, "round"))

    def overall(self, request: Request) -> dict[str, Any]:
        """All snapshots together."""
        return trust.overall(self._chosen(request))

    def edge(self, request: Request) -> dict[str, Any]:
        """One pair over the rounds."""
        return trust.edge(self._chosen(request), number(request, "receiver"), number(request, "sender"))

    def sweep(self, request: Request) -> dict[str, Any]:
        """A folder of runs as a matrix."""
        group = self._group(request)
        return sweep.matrix(group.path, group.runs)

    def peer(self, request: Request) -> dict[str, Any]:
        """A peer, for its operator."""
        return peer.peer(self._chosen(request))

    def csv(self, request: Request) -> Response:
        """What a view shows, as a table, whole."""
        view = request.path_params["view"]
        try:
            rows = self._sheet(view, request)
            content = sheets.text(rows)
        except (RecordError, OSError) as error:
            return PlainTextResponse(f"{error}\n", 409)
        name = f'attachment; filename="surefed-{view}.csv"'
        return Response(content, media_type="text/csv", headers={"content-disposition": name})

    def _sheet(self, view: str, request: Request) -> Iterable[sheets.Row]:
        if view == "curves":
            return sheets.curves(self._several(request))
        if view == "trust":
            return sheets.at_round(self._chosen(request), number(request, "round"))
        if view == "edge":
            return sheets.edge(self._chosen(request), number(request, "receiver"), number(request, "sender"))
        if view == "sweep":
            group = self._group(request)
            return sweep.sheet(group.path, group.runs)
        if view == "peer":
            return peer.sheet(self._chosen(request))
        raise HTTPException(404, f"there is no table {view!r}")

    async def events(self, request: Request) -> Response:
        """News, as server-sent events: of each run that changed a text that tells its states apart."""
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if self._streams >= STREAMS:
            return PlainTextResponse("too many pages are open\n", 503)
        return StreamingResponse(self._news(request), media_type="text/event-stream")

    async def _news(self, request: Request) -> AsyncIterator[str]:
        told: dict[str, str] = {}
        ticks = 0
        self._streams += 1
        try:
            yield "retry: 2000\n\n"
            while not self._stopping() and not await request.is_disconnected():
                if ticks % PACE == 0:
                    now = await run_in_threadpool(self._library.stamps)
                    changed = {id: stamp for id, stamp in now.items() if told.get(id) != stamp}
                    gone = [id for id in told if id not in now]
                    told = now
                    if changed or gone:
                        yield f"event: changed\ndata: {json.dumps({'changed': changed, 'gone': gone})}\n\n"
                    elif ticks % SILENCE == 0:
                        yield ": no news\n\n"
                await asyncio.sleep(TICK)
                ticks += 1
        finally:
            self._streams -= 1

    def _chosen(self, request: Request) -> Run:
        return self._find(request.query_params.get("id", ""))

    def _several(self, request: Request) -> list[Run]:
        return [self._find(id) for id in request.query_params.getlist("id")[:COMPARED]]

    def _group(self, request: Request) -> Group:
        group = self._library.found().sweeps().get(request.query_params.get("id", ""))
        if group is None:
            raise HTTPException(404, "there is no such folder")
        return group

    def _find(self, id: str) -> Run:
        run = self._library.run(id)
        if run is None:
            raise HTTPException(404, "there is no such run")
        return run


def number(request: Request, name: str) -> int:
    """A whole number from the address."""
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise HTTPException(400, f"{name} must be a whole number")
    return int(text)
