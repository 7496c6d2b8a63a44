"""Events as they come, from a cursor, until the last one. The keeper knows nothing of its followers."""

from __future__ import annotations

import os

from unhang.core import events as ev
from unhang.jobs import reconcile
from unhang.procs import clock, vantage
from unhang.procs.wakeup import Wakeup
from unhang.store import records
from unhang.store.output import ring_path
from unhang.store.reader import EventReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from unhang.store.layout import JobDir

# A follower looks at the record now and then even if nothing wakes it (a lost job, a file system without inotify).
_CHECK = 5.0


class Follower:
    """`new()` never blocks; `wait()` blocks until there may be something. Ends with the last event.

    `output`: streams whose growth wakes it, too.
    """

    def __init__(self, place: JobDir, *, after_seq: int = 0, output: tuple[str, ...] = ()) -> None:
        self.place = place
        self.ended = False
        self._after = after_seq
        self._reader: EventReader | None = None
        self._wakeup = Wakeup()
        self._wakeup.add_file(place.path)
        self._watched_log = self._watched_keeper = False
        paths = [place.stream(stream) for stream in output]
        self._to_watch = paths + [ring_path(path) for path in paths]

    @property
    def fd(self) -> int:
        """Return the descriptor that becomes readable when there may be something new; -1: there is none."""
        return self._wakeup.fd

    def new(self, limit: int | None = None) -> list[ev.Event]:
        """Return the events that are new since the last call."""
        self._open()
        found = self._reader.read_new(limit) if self._reader is not None else []
        ends = any(event["type"] == ev.EXITED for event in found)
        self.ended = self.ended or (ends and not reconcile.is_untrue_end(self.place))
        if not found and not self.ended and self._is_over():
            # the cursor was past the end, or the end was written while we looked
            found = self._reader.read_new(limit) if self._reader is not None else []
            self.ended = True
        return found

    def _open(self) -> None:
        if self._reader is None:
            try:
                self._reader = EventReader(self.place.events, after_seq=self._after)
            except FileNotFoundError:
                return
        if not self._watched_log:
            self._wakeup.add_file(self.place.events)
            self._watched_log = True
        for path in [path for path in self._to_watch if os.path.exists(path)]:
            self._wakeup.add_file(path)
            self._to_watch.remove(path)
        if not self._watched_keeper:
            job = records.job(self.place)
            if job is not None:
                self._watched_keeper = True
                keeper = reconcile.process_named(reconcile.keeper_of(job), "pid", "start")
                if keeper is not None and reconcile.sight_of(job).kind == vantage.HERE:
                    self._wakeup.add_process(keeper.pid)

    def _is_over(self) -> bool:
        return reconcile.settle(self.place)

    def wait(self, timeout: float | None = None) -> bool:
        """Block until something may be new; False: the time is over."""
        return (
            self._wakeup.wait(_CHECK if timeout is None else min(timeout, _CHECK))
            or timeout is None
            or timeout > _CHECK
        )

    def clear(self) -> None:
        """Forget what woke it, before looking."""
        self._wakeup.clear()

    def close(self) -> None:
        """Close every descriptor."""
        self._wakeup.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def follow(place: JobDir, *, after_seq: int = 0, timeout: float | None = None) -> Iterator[ev.Event]:
    """Yield every event after the cursor, as it comes; ends after the last one, or when the time is over."""
    deadline = None if timeout is None else clock.monotonic() + timeout
    with Follower(place, after_seq=after_seq) as follower:
        while True:
            yield from follower.new()
            if follower.ended:
                return
            left = None if deadline is None else deadline - clock.monotonic()
            if left is not None and left <= 0:
                return
            follower.wait(left)


async def follow_async(
    place: JobDir, *, after_seq: int = 0, timeout: float | None = None
) -> AsyncGenerator[ev.Event, None]:
    """Do what `follow` does, without blocking the event loop: inotify's descriptor is one more to wait for."""
    from unhang.jobs.async_readable import CHECK, Readable

    deadline = None if timeout is None else clock.monotonic() + timeout
    with Follower(place, after_seq=after_seq) as follower:
        async with Readable(follower) as readable:
            while True:
                for event in follower.new():
                    yield event
                left = CHECK if deadline is None else deadline - clock.monotonic()
                if follower.ended or left <= 0:
                    return
                await readable.wait(left)


class EventStream:
    """The events of a job as they come, for `for` and for `async for`."""

    def __init__(self, place: JobDir, *, after_seq: int = 0, timeout: float | None = None) -> None:
        self._events = follow(place, after_seq=after_seq, timeout=timeout)
        self._async_events = follow_async(place, after_seq=after_seq, timeout=timeout)

    def __iter__(self) -> Iterator[ev.Event]:
        return self._events

    def __next__(self) -> ev.Event:
        return next(self._events)

    def __aiter__(self) -> AsyncGenerator[ev.Event, None]:
        return self._async_events

    async def __anext__(self) -> ev.Event:
        return await self._async_events.__anext__()

    async def aclose(self) -> None:
        """End an `async for` early."""
        await self._async_events.aclose()


def wait_for_any(places: list[JobDir], timeout: float | None = None) -> list[JobDir]:
    """Return those that have ended, as soon as one has; empty: the time is over."""
    deadline = None if timeout is None else clock.monotonic() + timeout
    with Wakeup() as wakeup:
        while True:
            for place in places:  # a log may only now have come into being; watching twice is watching once
                wakeup.add_file(place.path)
                if os.path.exists(place.events):
                    wakeup.add_file(place.events)
            ended = [place for place in places if reconcile.settle(place)]
            if ended:
                return ended
            left = _CHECK if deadline is None else min(_CHECK, deadline - clock.monotonic())
            if left <= 0:
                return []
            wakeup.wait(left)


def wait_for_all(places: list[JobDir], timeout: float | None = None) -> list[JobDir]:
    """Return those that have ended when all have, or when the time is over."""
    deadline = None if timeout is None else clock.monotonic() + timeout
    ended: list[JobDir] = []
    for place in places:  # one after the other: looking at all of them whenever one ends would cost their square
        left = None if deadline is None else max(0.0, deadline - clock.monotonic())
        ended += wait_for_any([place], left)
    return ended
