"""Following events in an event loop: inotify's descriptor is just another one to wait for."""

from __future__ import annotations

import asyncio

from unhang.jobs.follow import Follower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from unhang.core.events import Event
    from unhang.store.layout import JobDir

_CHECK = 1.0
_NAP = 0.05


async def afollow(place: JobDir, after_seq: int) -> AsyncIterator[Event]:
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()
    with Follower(place, after_seq=after_seq) as follower:
        watched = follower.fd
        if watched >= 0:
            loop.add_reader(watched, woken.set)
        try:
            while True:
                follower.clear()
                woken.clear()
                for event in follower.new():
                    yield event
                if follower.ended:
                    return
                try:
                    await asyncio.wait_for(woken.wait(), _CHECK if watched >= 0 else _NAP)
                except TimeoutError:
                    continue
        finally:
            if watched >= 0:
                loop.remove_reader(watched)
