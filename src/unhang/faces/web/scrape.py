"""`/metrics` of the page. A count reads what jobs have recorded: however many ask at once, it is made once for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from unhang.core import plain_text
from unhang.core.metrics.exposition import CONTENT_TYPE
from unhang.errors import UnhangError
from unhang.jobs.metrics import OF_A_SCRAPE, metrics_text

if TYPE_CHECKING:
    from starlette.requests import Request


class Scrape:
    """The handler of the route."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._under_way: asyncio.Task[Response] | None = None

    async def answer(self, _: Request) -> Response:
        """GET /metrics."""
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.ensure_future(self._count())
        return await asyncio.shield(self._under_way)  # one who leaves does not end it for the others

    async def _count(self) -> Response:
        headers = {"Cache-Control": "no-store", "Content-Type": CONTENT_TYPE}
        try:
            return Response(await run_in_threadpool(metrics_text, self._home, OF_A_SCRAPE), headers=headers)
        except (UnhangError, OSError) as error:
            return Response(plain_text.one_line(str(error), 300) + "\n", 500, headers, "text/plain")
