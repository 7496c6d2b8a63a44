"""The jobs of two machines, seen from a third: the same as each machine sees them, and honest while one is offline."""

from __future__ import annotations

import asyncio
import functools
import json
import signal
from collections.abc import Callable
from typing import Any

import nats
import pytest

from tests.support.engine import wait_until
from tests.support.fleet import PATIENCE, Following, Machine, Server, caught_up, published, wait_for_rows
from tests.support.jobs import STILL
from tests.support.queues import Worker
from unhang.fleet.connection import Heard

pytestmark = pytest.mark.timeout(300)  # many processes, each of which has to start
Make = Callable[[str, str], Machine]
# Of a running job these move on from one look to the next.
_MOVING = ("endsInMs", "why", "ports")


def rows(viewer: Machine, *words: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["machine"], row["jobId"]): row for row in viewer.said("ps", "--fleet", *words)}


def states(viewer: Machine) -> dict[str, str]:
    return {row["jobId"]: row["status"] for row in rows(viewer, "--all").values()}


def test_every_command_shows_what_the_machine_itself_shows(server: Server, machine: Make) -> None:
    alpha, beta = (machine(name, server.url).join() for name in ("alpha", "beta"))
    viewer = machine("viewer", server.url)
    ended = {
        alpha: alpha.begin("--name", "fine", "--", "sh", "-c", "echo out; echo err >&2"),
        beta: beta.begin("--label", "k=v", "--", "sh", "-c", "echo broken; exit 3"),
    }
    for job in ended.values():
        job.wait()
    running = beta.begin("--name", "web", *STILL, "--", "sh", "-c", "echo up; sleep 1000")
    caught_up(server.url, [alpha, beta])
    wanted = {(each.name, row["jobId"]): row for each in (alpha, beta) for row in each.said("ps", "--all")}

    wait_for_rows(server.url, {row["jobId"]: row["status"] for row in wanted.values()})
    seen = rows(viewer, "--all")
    assert {
        where: {name: value for name, value in row.items() if name not in (*_MOVING, "machine")}
        for where, row in seen.items()
    } == {where: {name: value for name, value in row.items() if name not in _MOVING} for where, row in wanted.items()}
    assert set(rows(viewer)) == {("beta", running.id)}
    assert set(rows(viewer, "--all", "--label", "k=v")) == {("beta", ended[beta].id)}
    for owner, job in ended.items():
        name = f"{job.id}@{owner.name}"
        for words in (("status", "--json"), ("events", "--json")) if owner is alpha else (("result",), ("logs",)):
            there, here = viewer.call(words[0], name, *words[1:]), owner.call(words[0], job.id, *words[1:])
            assert there == here, words
    found = viewer.said("status", "--fleet", "web")
    assert (found["jobId"], found["status"], found["name"]) == (running.id, "running", "web")
    wait_until(lambda: running.kept() == b"up\n", "it has begun")
    assert viewer.call("logs", "--tail", "1", "web@beta").out == b"up\n"
    # on its own machine the name of the machine means its own files
    assert beta.said("status", "web@beta")["jobId"] == running.id
    assert viewer.refused("status", "nothing@beta").count("beta") == 1
    machines = viewer.said("fleet", "machines")
    assert [(each["machine"], each["state"]) for each in machines] == [("alpha", "online"), ("beta", "online")]


def test_a_publisher_or_worker_that_does_not_work_is_named_by_doctor_of_its_machine(
    server: Server, machine: Make
) -> None:
    alpha = machine("alpha", server.url).join().joined()
    assert alpha.publisher is not None

    def doctor() -> tuple[bool, str]:
        found = json.loads(alpha.call("doctor", "--json").out)["checks"]
        return next((each["ok"], each["message"]) for each in found if each["check"] == "fleet")

    assert doctor() == (True, f"published as alpha to nats://127.0.0.1:{server.port}")
    alpha.publisher.send_signal(signal.SIGSTOP)
    wait_until(lambda: not doctor()[0], "it is stopped")
    assert f"kill -CONT {alpha.publisher.pid}" in doctor()[1]
    alpha.publisher.send_signal(signal.SIGCONT)
    wait_until(lambda: doctor()[0], "it goes on")
    # the server is away, and there again
    server.kill()
    wait_until(lambda: not doctor()[0], "it is known to be away")
    assert "waits on disk" in doctor()[1]
    server.start().wait()
    wait_until(lambda: doctor()[0], "it is there again", PATIENCE)
    # killed, and not told to end
    alpha.stop_publisher(signal.SIGKILL)
    assert (doctor()[0], "was killed" in doctor()[1]) == (False, True)
    alpha.join()
    wait_until(lambda: doctor()[0], "it was started again", PATIENCE)
    worker = Worker(alpha, "q")
    assert doctor()[0]
    worker.send(signal.SIGSTOP)
    wait_until(lambda: not doctor()[0], "the worker is stopped")
    assert f"kill -CONT {worker.process.pid}" in doctor()[1]
    worker.kill()
    assert (doctor()[0], "worker --queue q` was killed" in doctor()[1]) == (False, True)
    worker = Worker(alpha, "q")
    assert doctor()[0]
    worker.end()
    # told to end, also while the server is away
    server.kill()
    wait_until(lambda: not doctor()[0], "it is known to be away")
    assert alpha.stop_publisher() == 0
    assert doctor()[0]


def test_the_first_number_of_jobs_that_a_machine_says_is_true(server: Server, machine: Make) -> None:
    beta, viewer = machine("beta", server.url), machine("viewer", server.url)
    beta.begin("--", "true").wait()
    running = beta.begin(*STILL, "--", "sleep", "1000")
    beta.join().joined()

    def said() -> list[Any]:
        return [each["jobs"] for each in viewer.said("fleet", "machines") if each["jobs"] is not None]

    assert wait_until(said, "it says how many") == [1]
    running.cancel()


def test_commands_are_carried_out_by_the_machine_that_owns_the_job(server: Server, machine: Make) -> None:
    beta, viewer = machine("beta", server.url).join(), machine("viewer", server.url)
    job = beta.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "read a; echo got $a; read b; sleep 1000")
    name = f"{job.id}@beta"
    wait_for_rows(server.url, {job.id: "running"})
    assert viewer.call("send", name, "hello").code == 0
    wait_until(lambda: b"got hello" in job.kept(), "the input arrived")
    assert viewer.call("extend", name, "--hard", "1h").code == 0
    assert any(event["phase"] == "extended" for event in job.events())
    assert viewer.said("diagnose", name)["state"] in ("hung", "alive", "unsure")
    # a follower sees all of it as it comes, and the end
    following = Following(viewer, name)
    waiting = viewer.popen("wait", name)
    done = viewer.call("cancel", name)
    assert (done.code, done.out) == (0, b"")
    assert job.result().status == "cancelled"
    assert following.finish() == job.events()
    assert viewer.finish(waiting).code == beta.call("wait", job.id).code
    again = viewer.call("cancel", name)
    assert again.code == 0
    assert b"already ended" in again.err


def test_a_job_that_is_not_published_yet_is_found_at_its_machine(server: Server, machine: Make) -> None:
    beta, viewer = machine("beta", server.url).join().joined(), machine("viewer", server.url)
    asyncio.run(_rows_are_read_only(server.url))
    job = beta.begin("--stdin", "pipe", "--name", "new", *STILL, "--", "cat")
    assert viewer.call("send", "new@beta", "hello").code == 0
    wait_until(lambda: job.kept() == b"hello\n", "the input arrived")
    assert "no such job" in viewer.refused("send", "nothing@beta", "hello")


async def _rows_are_read_only(url: str) -> None:
    """Have the server refuse every new row, as if it were slow."""
    client = await nats.connect(url)
    try:
        js = client.jetstream(timeout=10)
        config = (await js.stream_info("KV_unhang_rows")).config
        await js.update_stream(config.evolve(max_msg_size=1))
    finally:
        await client.close()


def test_of_an_offline_machine_what_runs_is_unknown_and_what_ended_has_ended(server: Server, machine: Make) -> None:
    beta, viewer = machine("beta", server.url).join(), machine("viewer", server.url)
    ended = beta.begin("--", "sh", "-c", "exit 3")
    ended.wait()
    running = beta.begin("--name", "web", *STILL, "--", "sleep", "1000")
    wanted = {ended.id: "error", running.id: "running"}
    wait_for_rows(server.url, wanted)
    caught_up(server.url, [beta])  # a row may be there before the events
    assert beta.call("fleet", "leave").code == 0
    assert beta.publisher is not None
    assert beta.publisher.wait(PATIENCE) == 0
    assert states(viewer) == {ended.id: "error", running.id: "unknown"}
    (found,) = viewer.said("fleet", "machines")
    assert (found["machine"], found["state"]) == ("beta", "offline")
    status = viewer.said("status", "web@beta")
    assert (status["status"], status["phase"], status["endedAt"]) == ("unknown", "unknown", None)
    assert viewer.said("result", f"{ended.id}@beta", code=3)["exitCode"] == 3
    assert viewer.call("wait", f"{ended.id}@beta").code == 3
    late = viewer.call("wait", "--timeout", "0.2", "web@beta")
    assert (late.code, f"{running.id}@beta" in late.err.decode()) == (124, True)
    assert viewer.call("events", "web@beta", "--json").out == beta.call("events", "web", "--json").out
    for words in (("logs", "web@beta"), ("cancel", "web@beta")):
        assert "offline" in viewer.refused(*words)
    assert running.result().status == "running"
    # it ends while its machine is away; when that is back, the end is there, and true
    running.cancel()
    assert states(viewer)[running.id] == "unknown"
    beta.join()
    wait_for_rows(server.url, {ended.id: "error", running.id: "cancelled"})
    caught_up(server.url, [beta])


def test_a_server_that_is_away_costs_nothing_but_its_absence(server: Server, machine: Make) -> None:
    beta, viewer = machine("beta", server.url).join().joined(), machine("viewer", server.url)
    last = beta.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "read a; exit 5")
    wait_for_rows(server.url, {last.id: "running"})
    following = Following(viewer, f"{last.id}@beta")
    server.kill()
    assert "no NATS server answers" in viewer.refused("ps", "--fleet")
    # a machine may join while it is away, and jobs begin, work and end
    gamma = machine("gamma", server.url).join()
    jobs = [each.begin("--", "sh", "-c", f"echo {at}; exit {at}") for at in (0, 1, 2) for each in (beta, gamma)]
    last.send("\n")
    for job in [*jobs, last]:
        job.wait()
    assert [job.result().exit_code for job in jobs] == [0, 0, 1, 1, 2, 2]
    server.start().wait()
    caught_up(server.url, [beta, gamma])
    assert following.finish() == last.events()  # who follows a job waits for the server
    wanted = {job.id: job.result().status for job in [*jobs, last]}
    wait_for_rows(server.url, wanted)


def test_a_killed_publisher_goes_on_where_it_was(server: Server, machine: Make) -> None:
    beta = machine("beta", server.url)
    jobs = [beta.begin(*STILL, "--", "sh", "-c", "while :; do echo x; sleep 0.05; done") for _ in range(3)]
    for _ in range(2):
        beta.join()
        wait_for_rows(server.url, {job.id: "running" for job in jobs})
        before = {subject: len(found) for subject, found in published(server.url).items()}
        wait_until(functools.partial(_grown, server, before), "it goes on", 60)
        assert beta.stop_publisher(signal.SIGKILL) == -signal.SIGKILL
    for job in jobs:
        job.cancel(force=True)
    beta.join()
    caught_up(server.url, [beta])
    wait_for_rows(server.url, {job.id: "cancelled" for job in jobs})
    # a job that is removed from its machine is removed from the list
    assert beta.call("gc", *(job.id for job in jobs)).code == 0
    wait_for_rows(server.url, {})


def _grown(server: Server, before: dict[str, int]) -> bool:
    return all(len(found) > before[subject] for subject, found in published(server.url).items())


def test_what_the_server_told_of_is_looked_for_until_the_copy_that_answers_has_it() -> None:
    async def run() -> None:
        heard = Heard()
        assert not await heard.catch_up(3)
        heard.tell("5")
        assert heard.wake.is_set()
        assert [await heard.catch_up(place) for place in (3, 4, 5)] == [True, True, False]
        # one that was removed, or of a store that is another now, is not looked for without an end
        heard.tell("9")
        tries = 0
        while await heard.catch_up(5):
            tries += 1
        assert tries
        assert not await heard.catch_up(5)

    asyncio.run(run())
