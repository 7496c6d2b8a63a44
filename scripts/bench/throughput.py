"""How many events a second get from the logs of a machine to the servers, against plain NATS and Redis.

Three real NATS servers on this machine, with `sync_interval: always`, a publisher as a process of its own, and a Redis
stream whose writes are on disk before they are answered. Ours are counted from the first record to the moment when the
servers have the last one of every job. The references store each event as a message of its own, one behind the other
for each job, as a program does that waits for its acknowledgement. All take turns.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from bench.fleet import fleet
from bench.measure import Row, quantile
from bench.redis import RedisServer

JOBS, EVENTS, ROUNDS = 20, 250, 3
_PATIENCE = 120.0
_TEXT = "x" * 100


def fleet_throughput(home: str) -> list[Row]:
    """Events a second, the median of the rounds."""
    with fleet(home) as (_, url, machine, other):
        ours, plain, in_redis = asyncio.run(_measure(url, str(machine.home), other))
    note = f"{JOBS} jobs of {EVENTS} events at once; reference: NATS, a message an event, each acknowledged"
    made = [_row(ours, plain, note)]
    return made + ([_row(ours, in_redis, "reference: Redis streams, one process without replicas")] if in_redis else [])


def _row(ours: list[float], reference: list[float], note: str) -> Row:
    rates = (JOBS * EVENTS / quantile(times, 0.5) for times in (ours, reference))
    return Row("fleet throughput", next(rates), next(rates), None, "events/s", at_least=True, note=note)


async def _measure(url: str, home: str, other: RedisServer | None) -> tuple[list[float], ...]:
    import nats
    from nats.js import api

    from unhang.fleet.connection import connect

    connection = await connect(url)
    client = await nats.connect(url.split(","))
    js = client.jetstream(timeout=_PATIENCE)
    await js.add_stream(api.StreamConfig(name="BENCH", subjects=["bench.ev.>"], num_replicas=3))
    clients = [await other.connect() for _ in range(JOBS)] if other is not None else []
    found: tuple[list[float], ...] = ([], [], [])
    try:
        for at in range(ROUNDS + 1):
            times = [await _published(connection, home), await _timed([_stored(js, f"{at}.{n}") for n in range(JOBS)])]
            if clients:
                times.append(await _timed([_added(each, f"{at}.{n}") for n, each in enumerate(clients)]))
            if at:  # the first warms everything up
                for each, took in zip(found, times, strict=False):
                    each.append(took)
    finally:
        for line in clients:
            line.close()
        await client.close()
        await connection.close()
    return found


async def _published(connection: Any, home: str) -> float:
    begun = time.perf_counter()
    async with asyncio.timeout(_PATIENCE):
        for job in await asyncio.to_thread(_recorded, home):
            while (last := await connection.last_of(f"unhang.ev.alpha.{job}")) is None or last.last < EVENTS:
                await asyncio.sleep(0.01)
    return time.perf_counter() - begun


def _recorded(home: str) -> list[str]:
    """Record the events of some jobs, as keepers do, by the same code; return the jobs."""
    from unhang.core import events as ev
    from unhang.procs import clock
    from unhang.store import layout
    from unhang.store.event_log import EventLog

    places = [layout.create(home) for _ in range(JOBS)]
    logs = [EventLog(place.events, clock.now, begin=True) for place in places]
    for log in logs:
        log.append(ev.started(1, "bench", {}))
    for at in range(EVENTS - 2):
        for log in logs:
            log.append(ev.heartbeat(f"{at} {_TEXT}"))
    for log in logs:
        log.append_last(ev.exited("completed", "done", {"status": "success", "exitCode": 0}))
        log.close()
    return [place.id for place in places]


async def _timed(works: list[Any]) -> float:
    begun = time.perf_counter()
    async with asyncio.timeout(_PATIENCE):
        await asyncio.gather(*works)
    return time.perf_counter() - begun


async def _stored(js: Any, name: str) -> None:
    for _ in range(EVENTS):
        await js.publish(f"bench.ev.{name}", b"x" * 200)


async def _added(client: Any, name: str) -> None:
    for _ in range(EVENTS):
        await client.do("XADD", f"bench-{name}", "*", "event", "x" * 200)
