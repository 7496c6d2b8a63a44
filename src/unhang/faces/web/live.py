"""One overview for all viewers: a thread reads, the event loop sends.

Each viewer has a number, that of the last revision it was sent, and no queue: one that reads slowly gets less, and
later, but never makes the others wait or this process grow. What several viewers are behind by is written out once.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING

from unhang.core import values
from unhang.errors import UnhangError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unhang.fleet.overview import FleetOverview
    from unhang.jobs.overview import Overview, Snapshot

# Changes within so many seconds are sent together: twenty a second are ten messages, and the eye sees no difference.
_PAUSE = 0.08
# After an error that should not be, so long until the next look.
_STUMBLED = 5.0
# Without a viewer for so long, nothing is read any more.
_REST = 30.0


class Live:
    """The newest snapshot, and waiting for a newer one. Everything but the thread is used in one event loop."""

    def __init__(self, look: Callable[[], Overview | FleetOverview]) -> None:
        self._look = look
        self._snapshot: Snapshot | None = None
        self._newer = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._written: dict[tuple[int, int], bytes] = {}
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self.viewers = 0
        self.ended = False
        self._thread = threading.Thread(target=self._read, name="overview", daemon=True)
        self._thread.start()

    # --- the thread -----------------------------------------------------------------------------------------

    def _read(self) -> None:
        with self._look() as overview:
            first = True
            while not self._stopped.is_set():
                if not self._wanted.wait(_REST):
                    continue
                try:
                    changed = overview.refresh()
                except (UnhangError, OSError):
                    changed = False  # the home cannot be read just now: what was seen last stays
                except Exception as error:  # what was seen last stays, and the next look may be better
                    changed = False
                    print(f"unhang: web: the jobs could not be read: {error!r:.200}", file=sys.stderr, flush=True)
                    self._stopped.wait(_STUMBLED)
                if changed or first:
                    first = False
                    self._publish(overview.snapshot())
                if not self._stopped.wait(_PAUSE):
                    overview.wait()

    def _publish(self, snapshot: Snapshot) -> None:
        try:
            self._loop.call_soon_threadsafe(self._take, snapshot)
        except RuntimeError:
            self._stopped.set()  # the loop has ended

    # --- the event loop -------------------------------------------------------------------------------------

    def _take(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._written.clear()
        newer, self._newer = self._newer, asyncio.Event()
        newer.set()

    def __enter__(self) -> Live:
        self.viewers += 1
        self._wanted.set()
        return self

    def __exit__(self, *_: object) -> None:
        self.viewers -= 1
        if not self.viewers:
            self._wanted.clear()

    def close(self) -> None:
        """End every wait for a newer snapshot, and the thread; that may take a second. From any thread."""
        self.ended = True
        self._stopped.set()
        self._wanted.set()
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._newer.set()

    async def snapshot(self) -> Snapshot:
        """Return the newest snapshot; the first one is waited for."""
        while self._snapshot is None:
            await self._newer.wait()
            if self.ended and self._snapshot is None:
                raise asyncio.CancelledError
        return self._snapshot

    async def newer(self, revision: int, timeout: float) -> Snapshot | None:
        """Return a snapshot that is newer than a revision; None: there is none in time."""
        newest = await self.snapshot()
        if newest.revision != revision:
            return newest
        try:
            await asyncio.wait_for(self._newer.wait(), timeout)
        except TimeoutError:
            return None
        return await self.snapshot()

    def written(self, snapshot: Snapshot, since: int) -> bytes:
        """Return what a viewer at revision `since` (-1: none) is behind by, as JSON in one line."""
        key = (since, snapshot.revision)
        found = self._written.get(key)
        if found is None:
            missed = None if since < 0 else snapshot.since(since)
            entries = snapshot.in_order() if missed is None else missed[0]
            gone = [] if missed is None else missed[1]
            message: dict[str, Any] = {
                "revision": snapshot.revision,
                "atMs": snapshot.at_ms,
                "whole": missed is None,
                "entries": entries,
                "gone": gone,
                "counts": snapshot.counts(),
            }
            if snapshot.machines is not None and since < snapshot.machines_at:
                message["machines"] = snapshot.machines
            found = self._written[key] = values.dump(message, compact=True).encode()
        return found
