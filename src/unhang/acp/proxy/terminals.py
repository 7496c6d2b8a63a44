"""Terminals for the agent, served by the proxy in a thread with an event loop of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from unhang.acp.proxy import messages
from unhang.agents.base import jsonrpc_message
from unhang.agents.base.jsonrpc_message import encode
from unhang.agents.base.update import preview

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from unhang.acp.host import Host
    from unhang.acp.proxy.thread_results import ThreadResults

# How long the end of the terminals may take; their keepers end them even if it takes longer.
_PATIENCE = 30.0
_MOST_OPEN = 1000  # requests of an agent at once


class ThreadedTerminals:
    """Answers `terminal/*` with the same terminals that a Python client mounts, in an event loop of its own."""

    def __init__(self, options: dict[str, Any], results: ThreadResults, answer: Callable[[Any, bytes], None]) -> None:
        self._options = options
        self._results = results
        self._answer = answer
        self._open = 0  # requests that are not answered yet
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unhang-acp-terminals", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._host: Host
        self._thread.start()  # now: its imports are done while the agent starts

    def _run(self) -> None:
        import asyncio

        from unhang.acp.host import Host

        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._host = Host(**self._options)
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def ask(self, id: Any, method: str, params: Any) -> None:
        """Handle a request; called in the proxy's loop, where its answer is given, too."""
        if self._open >= _MOST_OPEN:
            self._answer(id, messages.error(id, f"{_MOST_OPEN} terminal requests are open"))
            return
        self._open += 1
        self._ready.wait()
        self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._handle(id, method, params)))

    async def _handle(self, id: Any, method: str, params: Any) -> None:
        from unhang.acp.protocol import Refused

        try:
            said = messages.answer(id, await self._host.handle(method, params))
        except Refused as refused:
            said = encode(jsonrpc_message.error(id, refused.code, refused.reason))
        except Exception as error:
            said = messages.error(id, preview(str(error), 500))
        self._results.give(lambda: self._answered(id, said))

    def _answered(self, id: Any, said: bytes) -> None:
        self._open -= 1
        self._answer(id, said)

    def end_session(self, session: str) -> None:
        """End the terminals of a session, without waiting for it."""
        self._ready.wait()
        self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._host.end_session(session)))

    def close(self) -> None:
        """End every terminal that still runs, and the thread."""
        import asyncio

        self._ready.wait()
        try:
            asyncio.run_coroutine_threadsafe(self._host.close(), self._loop).result(_PATIENCE)
        except TimeoutError:
            pass  # their keepers go on without us: the lines to them close when we are gone
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
