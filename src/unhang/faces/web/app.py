"""The page as an application: which address is what. Its files are read once; no path of a request names a file.

A browser asks for a file again at each load, with the tag of the one that it has: the hash of what is in it. So an
unhang that was updated is seen at once, and what has not changed is not sent again.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from unhang.alerts import links
from unhang.faces.web.access import Access, Door
from unhang.faces.web.act import Act
from unhang.faces.web.api import Answers, Desk, json_response
from unhang.faces.web.live import Live
from unhang.faces.web.scrape import Scrape
from unhang.faces.web.streams import Streams
from unhang.jobs.overview import Overview

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from unhang.fleet.link import FleetLink
    from unhang.fleet.overview import FleetOverview

_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


def files() -> dict[str, tuple[bytes, str]]:
    """Return the files of the page by name: their bytes and their type."""
    folder = resources.files("unhang.faces.web") / "static"
    return {
        each.name: (each.read_bytes(), _TYPES[each.name.rpartition(".")[2]])
        for each in folder.iterdir()
        if each.name.rpartition(".")[2] in _TYPES
    }


def has_tag(wanted: str, tag: str) -> bool:
    """Return whether a client has the content with this tag, by its `If-None-Match`."""
    return any(each.strip().removeprefix("W/") in ("*", tag) for each in wanted.split(","))


def _local(home: str) -> Callable[[], Overview | FleetOverview]:
    return partial(Overview, home)


def application(home: str, door: Door, fleet: FleetLink | None = None) -> tuple[Access, Callable[[], None]]:
    """Return the application, behind the check of every request; and what ends its event streams, from any thread.

    `fleet`: show the jobs of all machines.
    """
    pages = files()
    tags = {name: f'"{hashlib.sha256(data).hexdigest()[:32]}"' for name, (data, _) in pages.items()}
    desk, look = Desk(home), _local(home)
    if fleet is not None:
        from unhang.faces.web.fleet import FleetDesk
        from unhang.fleet.overview import FleetOverview

        desk, look = FleetDesk(home, fleet), partial(FleetOverview, home, fleet)
    answers = Answers(desk)

    async def page(request: Request) -> Response:
        return _file(request, "index.html")

    async def icon(request: Request) -> Response:
        return _file(request, "icon.svg")

    async def static(request: Request) -> Response:
        return _file(request, request.path_params["name"])

    def _file(request: Request, name: str) -> Response:
        if name not in pages:
            return Response("not found\n", 404, media_type="text/plain")
        data, kind = pages[name]
        headers = {"Cache-Control": "no-cache", "ETag": tags[name]}
        if has_tag(request.headers.get("if-none-match", ""), tags[name]):
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers | {"Content-Type": kind})

    async def overview(_: Request) -> Response:
        live: Live = app.state.live
        with live:
            snapshot = await live.snapshot()
            return Response(
                live.written(snapshot, -1), headers={"Cache-Control": "no-store"}, media_type="application/json"
            )

    async def stream(request: Request) -> Response:
        found: Response = await app.state.streams.overview(request)
        return found

    async def job_stream(request: Request) -> Response:
        found: Response = await app.state.streams.job(request)
        return found

    async def missing(_: Request, __: Exception) -> Response:
        return json_response({"error": "not found"}, 404)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.live = Live(look)
        app.state.streams = Streams(desk, app.state.live, secrets.token_hex(4))
        yield
        app.state.live.close()

    app = Starlette(
        routes=[
            *(Route(path, page) for path in ("/", "/history", "/jobs/{job}", "/sessions/{session}")),
            Route(f"{links.PATH}{{link}}", Act(desk).answer, methods=["GET", "POST"]),
            Route("/favicon.ico", icon),
            Route("/static/{name}", static),
            Route("/metrics", Scrape(home).answer),
            Route("/api/overview", overview),
            Route("/api/stream", stream),
            Route("/api/history", answers.history),
            Route("/api/runs", answers.runs),
            Route("/api/sessions/{session}", answers.session),
            Route("/api/jobs/{job}", answers.job),
            Route("/api/jobs/{job}/stream", job_stream),
            Route("/api/jobs/{job}/events", answers.events),
            Route("/api/jobs/{job}/timeline", answers.timeline),
            Route("/api/jobs/{job}/rows", answers.rows),
            Route("/api/jobs/{job}/search", answers.search),
            Route("/api/jobs/{job}/tree", answers.tree),
            Route("/api/jobs/{job}/download", answers.download),
            Route("/api/jobs/{job}/{action}", answers.do, methods=["POST"]),
        ],
        exception_handlers={404: missing},
        lifespan=lifespan,
    )

    def end_streams() -> None:
        live: Live | None = getattr(app.state, "live", None)
        if live is not None:
            live.close()

    return Access(app, door), end_streams
