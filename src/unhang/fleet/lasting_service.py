"""Serving at the fleet's server for as long as a process lives: it connects again whenever the server was away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from unhang.fleet.connection import ServerAway, ServerRefused, connect
from unhang.fleet.end_tasks import end

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    from unhang.fleet.connection import Connection

# Until a server that has refused is asked again: a person has to change something first.
_REFUSED = 10.0


class LastingService:
    """Connects, serves until that ends, and connects again, until `over` is set. A person is told of each change once.

    `consequence`: what becomes of jobs while the server is away, for people. `changed` is called with True when the
    connection is there again, and with False when the server is found to be away.
    """

    def __init__(
        self,
        address: str,
        over: asyncio.Event,
        tell: Callable[[str], None],
        consequence: str,
        changed: Callable[[bool], None],
    ) -> None:
        self.begun = False  # it has served once: from then on a server may go and come
        self._address = address
        self._over = over
        self._tell = tell
        self._consequence = consequence
        self._changed = changed
        self._away = False
        self._closing = False

    async def run(self, serve: Callable[[Connection], Awaitable[None]], pause: float, *, patient: bool) -> None:
        """Serve by `serve`, with a `pause` between attempts. `patient`: also wait for a server that was never there."""
        while not self._over.is_set():
            after = pause
            try:
                connection = await self._unless_over(connect(self._address, lasting=True, on_change=self._on_change))
                if connection is None:
                    return
                self._closing = False
                try:
                    await serve(connection)
                finally:
                    self._closing = True
                    await connection.close()
            except ServerRefused as error:
                if not self.begun:
                    raise
                after = _REFUSED
                self._say_away(str(error))
            except ServerAway as error:
                if not (self.begun or patient):
                    raise
                self._say_away(str(error))
            await self._unless_over(asyncio.sleep(after))

    def say_back(self) -> None:
        """Tell that the server is there again, if it was away."""
        if self._away:
            self._away = False
            self._tell("connected to the server again")

    def _say_away(self, why: str) -> None:
        self._changed(False)
        if not self._away:
            self._away = True
            self._tell(f"the server is away: {why}; {self._consequence}")

    def _on_change(self, there: bool) -> None:
        if self._closing:
            return  # by ourselves
        if there:
            self._changed(True)
            self.say_back()
        else:
            self._say_away("the connection was lost")

    async def _unless_over(self, what: Coroutine[Any, Any, Any]) -> Any:
        """Wait for something, or for the end of the service; None then."""
        task, over = asyncio.ensure_future(what), asyncio.ensure_future(self._over.wait())
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
        await end([over])
        if task.done():
            return task.result()
        await end([task])
        return None
