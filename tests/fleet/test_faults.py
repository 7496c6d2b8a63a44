"""A partition, a full stream, a clock that is an hour ahead, viewers that are killed: late, but whole and true."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import wait_until
from tests.support.fleet import Following, Machine, Server, caught_up, wait_for_rows
from tests.support.fleet_faults import AN_HOUR_AHEAD, Wire, bound
from tests.support.jobs import STILL
from tests.support.places import ROOT
from unhang.store.session_log import SessionLog

pytestmark = pytest.mark.timeout(300)  # many processes, each of which has to start
Make = Callable[[str, str], Machine]
PATIENCE = 90.0


def record(machine: Machine, jobs: int, events: int) -> None:
    """Have a machine record many events at once."""
    words = [sys.executable, "-m", "tests.support.fleet_load", str(machine.home), str(jobs), str(events), "0"]
    assert machine.finish(machine.popen_program(*words, cwd=ROOT)).code == 0


def state_of(viewer: Machine, name: str) -> str:
    return str({each["machine"]: each["state"] for each in viewer.said("fleet", "machines")}[name])


def test_a_machine_that_is_cut_off_is_offline_and_loses_nothing(wire: Wire, machine: Make, tmp_path: Path) -> None:
    server = Server(tmp_path, "n0", host=wire.host).start().wait()
    try:
        beta, viewer = machine("beta", server.url).join(*wire.inside).joined(), machine("viewer", server.url)
        job = beta.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "read a; exit 3")
        wait_for_rows(server.url, {job.id: "running"})
        following = Following(viewer, f"{job.id}@beta")
        session = SessionLog("s-1", str(beta.home))
        session.append({"type": "watch", "phase": "busy", "message": "before"})
        shown = ("watch", "events", "s-1@beta", "--json")
        wait_until(lambda: viewer.call(*shown).code == 0, "its session is there", PATIENCE)
        wire.cut()
        record(beta, 5, 100)
        session.append({"type": "watch", "phase": "hung", "message": "while it was cut off"})
        job.send("\n")
        job.wait()
        wait_until(lambda: state_of(viewer, "beta") == "offline", "it is offline", PATIENCE)
        (row,) = viewer.said("ps", "--fleet")
        assert (row["jobId"], row["status"], row["endedAt"]) == (job.id, "unknown", None)
        (seen,) = viewer.lines("watch", "--once", "--fleet", "--json")
        assert (seen["sessionId"], seen["machine"], seen["status"]) == ("s-1", "beta", "unknown")
        wire.mend()
        caught_up(server.url, [beta], PATIENCE)
        wait_until(lambda: state_of(viewer, "beta") == "online", "it is there again", PATIENCE)
        assert following.finish() == job.events()
        assert [event["message"] for event in viewer.lines(*shown)] == ["before", "while it was cut off"]
        assert viewer.said("status", f"{job.id}@beta")["exitCode"] == 3
    finally:
        server.kill()


def test_a_full_stream_refuses_and_what_waits_is_published_when_there_is_room(server: Server, machine: Make) -> None:
    beta, viewer = machine("beta", server.url).join().joined(), machine("viewer", server.url)
    record(beta, 1, 10)
    caught_up(server.url, [beta])
    bound(server.url, "UNHANG_EVENTS", 2000)
    record(beta, 5, 100)

    def behind() -> Any:
        (found,) = viewer.said("fleet", "machines")
        return found["behind"]

    wait_until(behind, "the machine says that something waits", PATIENCE)
    assert state_of(viewer, "beta") == "online"
    bound(server.url, "UNHANG_EVENTS", None)
    caught_up(server.url, [beta], PATIENCE)
    wait_until(lambda: behind() == 0, "nothing waits", PATIENCE)


def test_a_machine_whose_clock_is_an_hour_ahead_is_judged_by_the_servers(server: Server, machine: Make) -> None:
    viewer, beta = machine("viewer", server.url), machine("beta", server.url)

    def ahead(*words: str) -> Any:
        return beta.popen_program(sys.executable, "-c", AN_HOUR_AHEAD, *words)

    publisher = ahead("fleet", "join", "--machine", "beta")
    started = beta.finish(ahead("start", "--stdin", "pipe", "--name", "web", *STILL, "--", "cat"))
    assert started.code == 0, started.err
    (job,) = (beta.handle(each) for each in beta.logs())
    wait_for_rows(server.url, {job.id: "running"})
    assert state_of(viewer, "beta") == "online"
    following = Following(viewer, "web@beta")
    # what a machine gave out a moment ago is not too old, whatever the clocks say
    assert viewer.call("send", "web@beta", "hello").code == 0
    assert viewer.call("cancel", "web@beta").code == 0
    assert following.finish() == job.events()
    caught_up(server.url, [beta])
    publisher.terminate()
    assert beta.finish(publisher).code == 0
    wait_until(lambda: state_of(viewer, "beta") == "offline", "it is offline", PATIENCE)


def test_a_viewer_that_is_killed_ends_what_it_had_asked_for(server: Server, machine: Make) -> None:
    beta, viewer = machine("beta", server.url).join().joined(), machine("viewer", server.url)
    job = beta.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "while read a; do echo $a; done")
    wait_for_rows(server.url, {job.id: "running"})
    assert beta.publisher is not None
    children = Path(f"/proc/{beta.publisher.pid}/task/{beta.publisher.pid}/children")
    asking = viewer.popen("logs", "--follow", f"{job.id}@beta")
    job.send("one\n")
    assert asking.stdout is not None
    assert asking.stdout.readline() == b"one\n"
    assert children.read_text().split()
    asking.kill()
    viewer.finish(asking)
    wait_until(lambda: not children.read_text().split(), "its command has ended", PATIENCE)
    assert not job.ended()
