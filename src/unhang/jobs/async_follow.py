"""Following events in an event loop: inotify's descriptor is just another one to wait for."""

from __future__ import annotations

from unhang.jobs.follow import Follower
from unhang.jobs.readable import Readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from unhang.core.events import Event
    from unhang.store.layout import JobDir


async def afollow(place: JobDir, after_seq: int) -> AsyncIterator[Event]:
    """Yield every event after the cursor as it comes; ends after the last one."""
    with Follower(place, after_seq=after_seq) as follower:
        async with Readable(follower.fd) as readable:
            while True:
                follower.clear()
                readable.clear()
                for event in follower.new():
                    yield event
                if follower.ended:
                    return
                await readable.wait()
