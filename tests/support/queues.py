"""Workers of a fleet's queue as processes of a machine, and what the server stored of their jobs, read by nats-py."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from nats.js.errors import NotFoundError

from tests.support.engine import wait_until
from tests.support.fleet import PATIENCE, Machine
from unhang.faces.cli.command_module import load
from unhang.faces.cli.parser import parser_of
from unhang.faces.cli.queued_job import job_and_task
from unhang.fleet import queues
from unhang.fleet.connection import connect
from unhang.jobs.handle import Job
from unhang.store import find
from unhang.store.layout import JobDir


class Worker:
    """One `unhang worker` of a machine, which has begun when this is made."""

    def __init__(self, machine: Machine, queue: str, *words: str, before: Sequence[str] | None = None) -> None:
        """`before`: words that run `unhang` in surroundings of its own."""
        self.machine = machine
        at = len(list(machine.folder.glob("worker-*.err")))
        self._log = machine.folder / f"worker-{at}.err"
        with open(self._log, "wb") as log:
            given = ("worker", "--queue", queue, *words)
            command = machine.command(*given) if before is None else [*before, *given]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=machine.env)
        machine._started.append(self.process)
        wait_until(lambda: b"takes jobs" in self.said or self.process.poll() is not None, "the worker began", PATIENCE)
        assert self.process.poll() is None, self.said

    @property
    def said(self) -> bytes:
        return self._log.read_bytes()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        self.send(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.said


def submit(machine: Machine, queue: str, *words: str) -> str:
    """The id of a job that was put into a queue, by the command line's own code."""
    at = words.index("--")
    module = load("start")
    args = parser_of("start", module, "").parse(["--fleet", queue, *words[:at]])
    args.command = list(words[at + 1 :])

    async def put() -> str:
        connection = await connect(machine.url)
        try:
            return (await queues.submit(connection, *job_and_task(args))).id
        finally:
            await connection.close()

    return asyncio.run(put())


async def _changes(url: str) -> dict[str, list[dict[str, Any]]]:
    connection = await connect(url)
    try:
        js = connection._client.jetstream(timeout=10)
        found: dict[str, list[dict[str, Any]]] = {}
        try:
            state = (await js.stream_info("UNHANG_QUEUE", subjects_filter="unhang.queue.*.job.*")).state
        except NotFoundError:
            return {}
        count = sum((state.subjects or {}).values())
        if not count:
            return {}
        reader = await js.subscribe("unhang.queue.*.job.*", stream="UNHANG_QUEUE", ordered_consumer=True)
        for _ in range(count):
            message = await reader.next_msg(timeout=20)
            found.setdefault(message.subject.rpartition(".")[2], []).append(json.loads(message.data))
        return found
    finally:
        await connection.close()


def changes(url: str) -> dict[str, list[dict[str, Any]]]:
    """What the server stored of every job, in its order."""
    return asyncio.run(_changes(url))


def states(url: str) -> dict[str, str]:
    """Where every job stands: queued, running, or how it ended."""
    return {job: str(found[-1]["status"] or found[-1]["state"]) for job, found in changes(url).items()}


def wait_for(url: str, wanted: dict[str, str]) -> None:
    """Wait until these jobs stand so."""
    found: dict[str, str] = {}

    def there() -> bool:
        found.update(states(url))
        return all(found.get(job) == state for job, state in wanted.items())

    try:
        wait_until(there, f"the queue is {wanted}", 2 * PATIENCE)
    except TimeoutError as error:
        raise TimeoutError(f"{error}, and not {found}") from None


def jobs_of(machine: Machine, queued: str) -> list[Job]:
    """What a machine has run of a job of a queue."""
    jobs = [Job(JobDir(str(machine.home), each)) for each in find.all_ids(str(machine.home))]
    return [job for job in jobs if (job.spec.get("labels") or {}).get("queued") == queued]


def running_on(machine: Machine, queued: str) -> Job:
    """The job of a machine that a job of a queue runs as, when its command has been started."""

    def found() -> Job | None:
        return next((job for job in jobs_of(machine, queued) if job.view().pid), None)

    job: Job = wait_until(found, f"{queued} runs", PATIENCE)
    return job


def check_history(found: dict[str, list[dict[str, Any]]]) -> None:
    """Each job was queued, then claimed and given back in turn, with growing attempts, and ended at most once."""
    for job, all_of_it in found.items():
        told = [(each["state"], each["attempt"]) for each in all_of_it]
        for (before, earlier), (after, later) in itertools.pairwise(told):
            assert before != "ended", (job, told)
            assert later == earlier + (after == "running"), (job, told)
            assert (before, after) in {
                ("queued", "running"),
                ("running", "queued"),
                ("running", "ended"),
                ("queued", "ended"),
            }, (job, told)
