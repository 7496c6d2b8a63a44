"""An event of a job on another machine: from its record to the one who follows it, against plain NATS and Redis.

Three real NATS servers on this machine, with `sync_interval: always`, a publisher as a process of its own, and a Redis
stream whose writes are on disk before they are answered. The references do the least that can be done: a message is
stored, and its reader is told. All take turns.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from bench.fleet import fleet, rows
from bench.measure import Row
from bench.redis import RedisServer

EVENTS = 200
_PATIENCE = 60.0


def fleet_follow(home: str) -> list[Row]:
    """The median and the slowest of a hundred, one event at a time."""
    with fleet(home) as (_, url, machine, other):
        found = asyncio.run(_measure(url, str(machine.home), other))
    note = f"{EVENTS} events, from a log to a follower elsewhere; reference: a NATS message, stored and told"
    return rows("fleet follow", found, note)


async def _measure(url: str, home: str, other: RedisServer | None) -> tuple[list[float], ...]:
    import nats
    from nats.js import api

    from unhang.core import events as ev
    from unhang.fleet.connection import connect
    from unhang.fleet.view import follow
    from unhang.procs import clock
    from unhang.store import layout
    from unhang.store.event_log import EventLog

    place = layout.create(home)
    log = EventLog(place.events, clock.now, begin=True)  # as a keeper writes it, by the same code
    log.append(ev.started(1, "bench", {}))
    connection = await connect(url)
    client = await nats.connect(url.split(","))
    js = client.jetstream(timeout=10)
    told = api.RePublish(src="bench.ev.>", dest="bench.live.>")
    await js.add_stream(api.StreamConfig(name="BENCH", subjects=["bench.ev.>"], num_replicas=3, republish=told))
    hears = await client.subscribe("bench.live.>")
    writer, reader = (await other.connect(), await other.connect()) if other is not None else (None, None)
    following = aiter(follow(connection, "alpha", place.id))
    found: tuple[list[float], ...] = ([], [], [])
    try:
        await anext(following)
        for at in range(EVENTS + 1):
            begun = time.perf_counter()
            log.append(ev.heartbeat(f"{at} " + "x" * 100))
            await asyncio.wait_for(anext(following), _PATIENCE)
            times = [time.perf_counter() - begun]
            begun = time.perf_counter()
            await js.publish("bench.ev.x", b"x" * 200)
            await hears.next_msg(timeout=_PATIENCE)
            times.append(time.perf_counter() - begun)
            if writer is not None and reader is not None:
                times.append(await _through_redis(writer, reader, at))
            if at:  # the first warms everything up
                for each, took in zip(found, times, strict=False):
                    each.append(took)
        log.append_last(ev.exited("completed", "done", {"status": "success", "exitCode": 0}))
        log.close()
    finally:
        for line in (writer, reader):
            if line is not None:
                line.close()
        await client.close()
        await connection.close()
    return found


async def _through_redis(writer: Any, reader: Any, at: int) -> float:
    waiting = asyncio.ensure_future(reader.do("XREAD", "BLOCK", "0", "STREAMS", f"bench-{at}", "0"))
    await asyncio.sleep(0.02)  # it waits when the message comes
    begun = time.perf_counter()
    await writer.do("XADD", f"bench-{at}", "*", "event", "x" * 200)
    await asyncio.wait_for(waiting, _PATIENCE)
    return time.perf_counter() - begun
