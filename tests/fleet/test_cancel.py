"""`unhang cancel --fleet` ends the jobs that its words meant when it began, each of them, and no other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.support.fleet import Machine, Server
from tests.support.queues import states, submit
from unhang.core.fleet.queue import QueuedJob, Worker
from unhang.core.fleet.requests import Request
from unhang.errors import UsageError
from unhang.faces.cli import fleet, queued_job
from unhang.faces.cli.command_module import load
from unhang.faces.cli.parser import parser_of
from unhang.fleet import queues
from unhang.fleet.command_client import Offline
from unhang.fleet.connection import Connection, connect

Make = Callable[[str, str], Machine]
_NOW = "2026-01-01T00:00:00.000Z"


async def _known(connection: Connection, job: str) -> QueuedJob:
    return (await queues.everything(connection)).jobs[job]


def _taken(url: str, job: str, ran_as: str) -> None:
    """A worker has taken a job, and has said what it is on its machine."""

    async def take() -> None:
        connection = await connect(url)
        try:
            claimed = (await _known(connection, job)).claimed("beta", "w1").replace(ran_as=ran_as)
            assert await queues.change(connection, claimed) is not None
        finally:
            await connection.close()

    asyncio.run(take())


def test_a_job_of_the_same_name_that_is_submitted_meanwhile_is_left_alone_and_one_that_waits_is_cancelled_too(
    server: Server, machine: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = machine("viewer", server.url)
    for name, value in viewer.env.items():
        if name.startswith("UNHANG_"):
            monkeypatch.setenv(name, value)
    runs = submit(viewer, "q", "--name", "build", "--", "true")
    _taken(server.url, runs, "k3v9x2m4q8")
    waits = submit(viewer, "q", "--name", "later", "--", "true")
    later: list[str] = []

    async def ask(connection: Connection, at: str, request: Request, _show: object) -> int:
        """Its machine ends it, its worker says so; and somebody submits the next."""
        assert (at, request.do, request.jobs) == ("beta", "cancel", ["k3v9x2m4q8"])
        assert await queues.change(connection, (await _known(connection, runs)).cancelled(_NOW, "unhang cancel"))
        later.append(await asyncio.to_thread(submit, viewer, "q", "--name", "build", "--", "true"))
        return 0

    monkeypatch.setattr(fleet, "ask", ask)
    parser = parser_of("cancel", load("cancel"), "")
    assert fleet.main("cancel", parser, parser.parse(["--fleet", "build", "later"])) == 0
    assert states(server.url) == {runs: "cancelled", waits: "cancelled", later[0]: "queued"}


def test_the_jobs_of_the_other_machines_are_ended_where_one_machine_is_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = QueuedJob("q", "1").claimed("beta", "w1")
    asked, in_queues = list[str](), list[QueuedJob]()

    async def found(*_: object) -> list[fleet.There]:
        return [fleet.There("away", "a", None), fleet.There("beta", "b", None, taken)]

    async def ask(_connection: Connection, machine: str, _request: Request, _show: object) -> int:
        asked.append(machine)
        if machine == "away":
            raise Offline("machine away is offline")
        return 0

    async def cancel_in_queues(_connection: Connection, jobs: list[QueuedJob]) -> None:
        in_queues.extend(jobs)

    for name, instead in (("_found", found), ("ask", ask), ("cancel_in_queues", cancel_in_queues)):
        monkeypatch.setattr(fleet, name, instead)
    parser = parser_of("cancel", load("cancel"), "")
    with pytest.raises(Offline):
        asyncio.run(fleet._cancel(cast("Connection", None), parser, parser.parse(["a@away", "b@beta"])))
    assert (asked, in_queues) == (["away", "beta"], [taken])


@pytest.mark.parametrize("command", ["cancel", "wait"])
def test_a_label_beside_a_job_of_another_machine_is_refused_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path))
    monkeypatch.setattr(fleet, "with_server", lambda *_, **__: 0)
    parser = parser_of(command, load(command), "")
    assert fleet.main(command, parser, parser.parse(["a@beta"])) == 0
    with pytest.raises(UsageError):
        fleet.main(command, parser, parser.parse(["a@beta", "--label", "k=v"]))


def test_a_job_whose_worker_is_dead_is_taken_out_of_its_queue_after_one_whose_worker_takes_all_the_time_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lives = QueuedJob("q", "1").claimed("alpha", "living")
    left = QueuedJob("q", "2").claimed("beta", "dead")
    now, cancelled = 0.0, list[str]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    async def newest(_connection: Connection, job: QueuedJob) -> QueuedJob:
        return job

    async def workers(_connection: Connection) -> list[Worker]:
        return [Worker("q", "alpha", "living")]

    async def cancel(_connection: Connection, job: QueuedJob, by: str, *, force: bool) -> QueuedJob:
        assert force
        cancelled.append(job.id)
        return job.cancelled(_NOW, by)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for name, instead in (("newest", newest), ("workers", workers), ("cancel_waiting", cancel)):
        monkeypatch.setattr(queues, name, instead)
    asyncio.run(queued_job.cancel_in_queues(cast("Connection", None), [lives, left]))
    assert cancelled == ["2"]
