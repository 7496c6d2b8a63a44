"""A job of the fleet's queue: from its submission to the first instruction, against plain NATS and Redis.

Three real servers on this machine, with `sync_interval: always`. The reference does the least that can be done: a
message of a work queue, taken by a standing pull request, or of a Redis stream, by one who waits, starts the same
command. All take turns.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.fleet import fleet, rows
from bench.measure import Row
from bench.redis import RedisServer

JOBS = 200
_PATIENCE = 60.0
_STREAM, _SUBJECT = "BENCH", "bench.jobs"


def queue_dispatch(home: str) -> list[Row]:
    """The median and the slowest of a hundred, one job at a time."""
    with fleet(home) as (folder, url, machine, other):
        from tests.support.queues import Worker

        Worker(machine, "bench", "--slots", "4")
        found = asyncio.run(_measure(url, folder, other))
    note = f"{JOBS} jobs, submission to the first instruction; reference: a NATS message that starts the same command"
    return rows("queue dispatch", found, note)


async def _measure(url: str, folder: Path, other: RedisServer | None) -> tuple[list[float], ...]:
    import nats
    from nats.js import api

    from unhang.fleet.connection import connect

    ours: list[float] = []
    plain: list[float] = []
    in_redis: list[float] = []
    connection = await connect(url)
    client = await nats.connect(url.split(","))
    js = client.jetstream(timeout=10)
    await js.add_stream(
        api.StreamConfig(name=_STREAM, subjects=[_SUBJECT], retention=api.RetentionPolicy.WORK_QUEUE, num_replicas=3)
    )
    taking = await js.pull_subscribe(_SUBJECT, durable="workers", stream=_STREAM)
    try:
        for at in range(JOBS + 1):
            first, second = await _through_a_queue(connection, folder, at), await _plainly(js, taking, folder, at)
            third = None if other is None else await _through_redis(other, folder, at)
            if at:  # the first warms everything up
                ours.append(first)
                plain.append(second)
                in_redis += [] if third is None else [third]
    finally:
        await client.close()
        await connection.close()
    return ours, plain, in_redis


async def _through_a_queue(connection: Any, folder: Path, at: int) -> float:
    from unhang.core.fleet.queue import QueuedJob
    from unhang.core.fleet.task import Task
    from unhang.fleet import queues

    told = folder / f"queue-{at}"
    task = Task(_command(told), None, str(folder), {}, {}, {})
    begun = time.time()
    await queues.submit(connection, QueuedJob("bench", ""), task)
    return await _begun(told) - begun


async def _plainly(js: Any, taking: Any, folder: Path, at: int) -> float:
    told = folder / f"plain-{at}"

    async def take() -> None:
        (message,) = await taking.fetch(1, timeout=_PATIENCE)
        process = subprocess.Popen(_command(told))
        await message.ack()
        await asyncio.to_thread(process.wait)

    standing = asyncio.ensure_future(take())
    await asyncio.sleep(0.02)  # the request stands when the message comes
    begun = time.time()
    await js.publish(_SUBJECT, b"run")
    found = await _begun(told)
    await standing
    return found - begun


async def _through_redis(other: RedisServer, folder: Path, at: int) -> float:
    told = folder / f"redis-{at}"
    writer, reader = await other.connect(), await other.connect()

    async def take() -> None:
        await reader.do("XREAD", "BLOCK", "0", "STREAMS", told.name, "0")
        await asyncio.to_thread(subprocess.run, _command(told), check=True)

    standing = asyncio.ensure_future(take())
    await asyncio.sleep(0.02)  # it waits when the message comes
    begun = time.time()
    await writer.do("XADD", told.name, "*", "run", "1")
    found = await _begun(told)
    await standing
    writer.close()
    reader.close()
    return found - begun


def _command(told: Path) -> list[str]:
    return ["sh", "-c", f"date +%s.%N > {told}.new && mv {told}.new {told}"]


async def _begun(told: Path) -> float:
    deadline = time.monotonic() + _PATIENCE
    while not told.exists():
        if time.monotonic() > deadline:
            raise TimeoutError("a job was not started")
        await asyncio.sleep(0.002)
    return float(told.read_text())
