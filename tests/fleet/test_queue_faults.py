"""Workers that are killed or frozen, keepers that are killed under them, a server that goes away: no job of a queue
runs twice at once (the kernel says so: each holds a lock while it runs), none is forgotten, no end is untrue."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from tests.support.fleet import PATIENCE, Machine, Server
from tests.support.fleet_faults import AN_HOUR_AHEAD, Wire, bound
from tests.support.jobs import STILL, keeper_of
from tests.support.queues import Worker, changes, check_history, jobs_of, running_on, states, submit, wait_for

# many processes, each of which has to start, and a hold that has to pass
pytestmark = pytest.mark.timeout(300)
Make = Callable[[str, str], Machine]
# Long enough that a busy machine ends a job in the time between the half and the whole of it; and one that nobody waits
# for: where the machine lives, it publishes that the jobs of its dead worker have ended.
_HOLD = {"a": ("--hold", "12s"), "b": ("--hold", "1h")}
_OVERLAP = 9


def guarded(lock: Path, line: str) -> tuple[str, ...]:
    """A command that fails with _OVERLAP if it runs twice at once."""
    return (*STILL, "--", "flock", "-n", "-E", str(_OVERLAP), str(lock), "sh", "-c", line)


def test_jobs_of_a_killed_and_of_a_frozen_worker_are_ended_and_tried_again_or_failed(
    server: Server, machine: Make, tmp_path: Path
) -> None:
    alpha, beta, gamma = (machine(name, server.url).join() for name in ("alpha", "beta", "gamma"))
    for each in (alpha, beta, gamma):
        each.joined()
    frozen = Worker(alpha, "q", "--slots", "4", "--label", "a")
    killed = Worker(beta, "q", "--slots", "4", "--label", "b")
    # the first attempt never ends by itself, any later one ends at once
    line = '[ "$UNHANG_QUEUE_ATTEMPT" != 1 ] || exec sleep 1000'
    jobs = {
        (need, on_lost): submit(
            gamma,
            "q",
            "--need",
            need,
            "--on-lost",
            on_lost,
            *_HOLD[need],
            *guarded(tmp_path / f"{need}-{on_lost}", line),
        )
        for need in ("a", "b")
        for on_lost in ("retry", "fail")
    }
    wait_for(server.url, dict.fromkeys(jobs.values(), "running"))
    running_on(alpha, jobs["a", "retry"])
    others = Worker(gamma, "q", "--slots", "4", "--label", "a", "--label", "b")
    frozen.send(signal.SIGSTOP)
    killed.kill()
    wanted = {jobs["a", "retry"]: "success", jobs["b", "retry"]: "success"}
    wanted |= {jobs["a", "fail"]: "error", jobs["b", "fail"]: "error"}
    wait_for(server.url, wanted)
    before = changes(server.url)
    check_history(before)
    for (_, on_lost), job in jobs.items():
        last = before[job][-1]
        assert last["exitCode"] != _OVERLAP, before[job]
        assert (last["phase"] == "lost") == (on_lost == "fail"), before[job]
        assert last["attempt"] > 1 or on_lost == "fail"
    # where it ran first it had been ended before another took it, though nobody there could be asked
    assert [each.result().status for each in jobs_of(alpha, jobs["a", "retry"])] == ["cancelled"]
    # the one that was frozen wakes: what it says of these jobs is refused, and it goes on with others
    frozen.send(signal.SIGCONT)
    others.end()
    again = submit(gamma, "q", "--need", "a", "--", "true")
    wait_for(server.url, {again: "success"})
    wait_until(lambda: b"another worker's" in frozen.said or b"taken from" in frozen.said, "it says so", PATIENCE)
    after = changes(server.url)
    assert {job: after[job] for job in before} == before
    assert after[again][-1]["machine"] == "alpha"
    frozen.end()


def test_a_job_that_is_taken_from_its_worker_is_ended_there(server: Server, machine: Make, tmp_path: Path) -> None:
    alpha = machine("alpha", server.url).join().joined()
    worker = Worker(alpha, "q")
    queued = submit(alpha, "q", *guarded(tmp_path / "lock", "exec sleep 1000"))
    job = running_on(alpha, queued)
    # its machine is offline for all others, so that only the record can be changed
    alpha.stop_publisher()
    assert "offline" in alpha.refused("cancel", "--fleet", queued)
    assert alpha.call("cancel", "--fleet", "--force", queued).code == 0
    assert job.wait().status == "cancelled"
    after = submit(alpha, "q", *guarded(tmp_path / "lock", "exit 0"))
    wait_for(server.url, {queued: "cancelled", after: "success"})
    check_history(changes(server.url))
    worker.end()


def test_one_who_waits_is_told_why_nothing_happens_and_what_was_cancelled_is_not_run_by_the_next_worker(
    server: Server, machine: Make
) -> None:
    alpha, viewer = machine("alpha", server.url).join().joined(), machine("viewer", server.url)
    jobs = [submit(viewer, "q", "--on-lost", "retry", "--hold", "1h", *STILL, "--", "sleep", "1000") for _ in range(2)]
    said = viewer.folder / "said"
    with open(said, "wb") as file:
        waiting = viewer.popen("wait", "--fleet", jobs[1], stderr=file)
    wait_until(lambda: b"no worker of queue q" in said.read_bytes(), "it says what the job waits for", PATIENCE)
    worker = Worker(alpha, "q", "--slots", "2")
    for job in jobs:
        running_on(alpha, job)
    worker.kill()
    # the machine says that it has ended, the queue does not know yet, and its worker is still believed to be there
    assert viewer.call("cancel", "--fleet", jobs[0], timeout=PATIENCE).code == 0
    assert states(server.url) == {jobs[0]: "cancelled", jobs[1]: "running"}
    wait_until(lambda: b"alpha is gone" in said.read_bytes(), "it says that the worker is gone", PATIENCE)
    assert viewer.call("cancel", "--fleet", jobs[1]).code == 0
    assert viewer.finish(waiting, PATIENCE).code == 130
    last = Worker(alpha, "q")
    wait_for(server.url, {submit(viewer, "q", *STILL, "--", "true"): "success"})
    assert [len(jobs_of(alpha, job)) for job in jobs] == [1, 1]
    check_history(changes(server.url))
    last.end()


def test_a_keeper_that_is_killed_under_its_worker(server: Server, machine: Make, tmp_path: Path) -> None:
    alpha = machine("alpha", server.url).join().joined()
    worker = Worker(alpha, "q", "--slots", "2")
    line = '[ "$UNHANG_QUEUE_ATTEMPT" != 1 ] || exec sleep 1000'
    again = submit(alpha, "q", "--on-lost", "retry", *guarded(tmp_path / "again", line))
    once = submit(alpha, "q", *guarded(tmp_path / "once", line))
    wait_for(server.url, {again: "running", once: "running"})
    for queued in (again, once):
        job = running_on(alpha, queued)
        keeper, guard = keeper_of(job.place)
        assert guard.send(signal.SIGKILL)
        assert keeper.send(signal.SIGKILL)
    wait_for(server.url, {again: "success", once: "error"})
    found = changes(server.url)
    check_history(found)
    assert (found[once][-1]["phase"], found[once][-1]["attempt"]) == ("lost", 1)
    assert found[again][-1]["attempt"] == 2
    worker.end()


def test_a_server_that_is_killed_costs_no_job(server: Server, machine: Make, tmp_path: Path) -> None:
    alpha, beta = (machine(name, server.url).join().joined() for name in ("alpha", "beta"))
    workers = [Worker(each, "q", "--slots", "2") for each in (alpha, beta)]
    gate = tmp_path / "gate"
    line = f"while [ ! -e {gate} ]; do sleep 0.2; done"
    runs = [
        submit(alpha, "q", "--on-lost", "retry", "--hold", "1h", *guarded(tmp_path / str(at), line)) for at in range(3)
    ]
    wait_for(server.url, dict.fromkeys(runs, "running"))
    server.kill()
    assert "no NATS server" in alpha.refused("start", "--fleet", "q", "--", "true")
    gate.touch()  # they end while nobody can be told
    for job in (found for each in (alpha, beta) for name in runs for found in jobs_of(each, name)):
        assert job.wait(PATIENCE).status == "success"
    server.start().wait()
    wait_for(server.url, dict.fromkeys(runs, "success"))
    more = submit(alpha, "q", "--", "true")
    wait_for(server.url, {more: "success"})
    found = changes(server.url)
    check_history(found)
    assert states(server.url) == dict.fromkeys([*runs, more], "success")
    # one that was claimed and not started when the server went was given back, and none ran twice
    assert all(len(jobs_of(alpha, job)) + len(jobs_of(beta, job)) == 1 for job in [*runs, more])
    workers[0].end()
    # a worker that is stopped while the server is away does not wait for it
    left = submit(alpha, "q", "--hold", "1h", *STILL, "--", "sleep", "1000")
    job = running_on(beta, left)
    server.kill()
    assert beta.call("worker", "--stop").code == 0
    assert (workers[1].process.wait(PATIENCE), job.wait(PATIENCE).status) == (0, "cancelled"), workers[1].said


def test_a_worker_that_is_cut_off_with_a_clock_an_hour_ahead_and_a_queue_that_is_full(
    wire: Wire, machine: Make, tmp_path: Path
) -> None:
    server = Server(tmp_path, "n0", host=wire.host).start().wait()
    try:
        ahead = (*wire.inside, sys.executable, "-c", AN_HOUR_AHEAD)
        beta, gamma = machine("beta", server.url).join(*wire.inside), machine("gamma", server.url).join()
        cut = Worker(beta.joined(), "q", before=ahead)
        line = '[ "$UNHANG_QUEUE_ATTEMPT" != 1 ] || exec sleep 1000'
        again = submit(gamma, "q", "--on-lost", "retry", "--hold", "12s", *guarded(tmp_path / "again", line))
        once = submit(gamma, "q", "--need", "none", *guarded(tmp_path / "once", "exit 0"))
        first = running_on(beta, again)
        wire.cut()
        # it is ended where nobody can be asked, and only then run by another; no clock is compared
        others = Worker(gamma.joined(), "q", "--slots", "2", "--label", "none")
        wait_for(server.url, {again: "success", once: "success"})
        assert first.wait().status == "cancelled"
        found = changes(server.url)
        check_history(found)
        assert (found[again][-1]["attempt"], found[again][-1]["machine"]) == (2, "gamma")
        wire.mend()
        wait_until(lambda: b"another worker's" in cut.said or b"taken from" in cut.said, "it learns of it", PATIENCE)
        assert changes(server.url)[again] == found[again]
        # full: nothing more is taken in, and an end waits until there is room
        gate = tmp_path / "gate"
        line = f"while [ ! -e {gate} ]; do sleep 0.2; done"
        runs = submit(gamma, "q", *guarded(tmp_path / "runs", line))
        wait_for(server.url, {runs: "running"})
        bound(server.url, "UNHANG_QUEUE", 0)
        gate.touch()
        (job,) = wait_until(lambda: [*jobs_of(beta, runs), *jobs_of(gamma, runs)], "it was started", PATIENCE)
        assert job.wait(PATIENCE).status == "success"
        assert "maximum bytes exceeded" in gamma.refused("start", "--fleet", "q", "--", "true")
        assert states(server.url)[runs] == "running"
        bound(server.url, "UNHANG_QUEUE", None)
        wait_for(server.url, {runs: "success"})
        check_history(changes(server.url))
        for worker in (cut, others):
            worker.end()
    finally:
        server.kill()
