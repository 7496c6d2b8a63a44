"""A call that is cancelled: `run` takes its job with it, everything else ends nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from tests.support.engine import actor, wait_until
from tests.support.mcp.harness import Caller, Servers
from unhang.testing.liveness import RollCall


async def cancelled(caller: Caller, ready: Callable[[], Awaitable[object]], tool: str, **arguments: Any) -> None:
    """Call a tool, and cancel the call when `ready` says that it has arrived."""
    async with anyio.create_task_group() as group:

        async def call() -> None:
            await caller.call(tool, **arguments)

        group.start_soon(call)
        await ready()
        group.cancel_scope.cancel()


def test_cancelling_run_ends_its_job(servers: Servers, era: str, roll: RollCall) -> None:
    async def work(caller: Caller) -> None:
        argv = actor("obedient", roll.path)

        async def it_is_there() -> None:
            await anyio.to_thread.run_sync(roll.wait_for, "leader")

        await cancelled(caller, it_is_there, "run", argv=argv)
        assert await anyio.to_thread.run_sync(roll.wait_empty)
        listed = await caller.call("list", all=True)
        job = servers.job(listed.data["jobs"][0]["jobId"])
        result = await anyio.to_thread.run_sync(job.wait, 30)
        assert result.status == "cancelled"
        assert result.outcome["cancelledBy"] == "cancellation of its call"

    servers.run(era, work)


def test_cancelling_wait_and_events_ends_nothing(servers: Servers, era: str) -> None:
    async def work(caller: Caller) -> None:
        job = (await caller.call("start", command="sleep 600")).data["jobId"]
        quick = (await caller.call("start", command="true")).data["jobId"]

        async def a_later_call_is_answered() -> None:
            await caller.call("wait", job_id=quick)

        await cancelled(caller, a_later_call_is_answered, "wait", job_id=job, wait_sec=40)
        await cancelled(caller, a_later_call_is_answered, "events", job_id=job, wait_sec=40, afterSeq=99)
        assert (await caller.call("list")).data["jobs"][0]["jobId"] == job
        await caller.call("cancel", job_id=job)

    servers.run(era, work)


def test_a_job_that_was_handed_over_outlives_its_call_and_its_server(servers: Servers, era: str) -> None:
    async def first(caller: Caller) -> str:
        found = await caller.call("run", command="sleep 600", wait_sec=0.3)
        assert found.data["status"] == "running"
        return str(found.data["jobId"])

    job = servers.run(era, first)
    assert not servers.job(job).ended()

    async def second(caller: Caller) -> None:
        assert (await caller.call("list")).data["jobs"][0]["jobId"] == job
        assert (await caller.call("cancel", job_id=job)).data["status"] == "cancelled"

    servers.run(era, second)
    wait_until(lambda: servers.job(job).ended(), "the job has ended")


def test_cancelling_run_before_its_answer_ends_a_command_that_never_ends(servers: Servers, tmp_path: Path) -> None:
    async def work(caller: Caller) -> None:
        mark = tmp_path / "mark"

        async def it_runs() -> None:
            await anyio.to_thread.run_sync(wait_until, mark.exists, "it has begun")

        await cancelled(caller, it_runs, "run", command=f"touch {mark}; tail -f /dev/null")
        listed = await caller.call("list", all=True)
        job = servers.job(listed.data["jobs"][0]["jobId"])
        result = await anyio.to_thread.run_sync(job.wait, 30)
        assert result.status == "cancelled"

    servers.run("auto", work)
