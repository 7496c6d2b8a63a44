"""Jobs of a queue: taken by workers that have room for them, seen and cancelled while they wait, run once each."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from tests.support.fleet import Machine, Server, wait_for_rows
from tests.support.jobs import STILL
from tests.support.places import SUPPORT
from tests.support.queues import Worker, changes, check_history, jobs_of, running_on, states, submit, wait_for
from unhang.core.fleet import subjects
from unhang.core.fleet.queue import QueuedJob, QueueSettings
from unhang.errors import UsageError
from unhang.faces.cli.command_module import load
from unhang.faces.cli.parser import parser_of
from unhang.faces.cli.queued_job import job_and_task
from unhang.fleet import note
from unhang.fleet.queues import Mirror

pytestmark = pytest.mark.timeout(300)  # many processes, each of which has to start
Make = Callable[[str, str], Machine]
STAND_IN = SUPPORT / "acp_agents" / "standin.py"


def test_a_job_is_run_by_a_worker_and_its_end_is_everywhere_the_same(server: Server, machine: Make) -> None:
    alpha, viewer = machine("alpha", server.url).join().joined(), machine("viewer", server.url)
    line = ("sh", "-c", "echo $WHO $UNHANG_QUEUE_ATTEMPT; exit 3")
    started = viewer.call("start", "--fleet", "q", "--name", "early", "--env", "WHO=me", "--", *line)
    first = started.out.decode().strip()
    (row,) = viewer.said("ps", "--fleet")
    assert (row["jobId"], row["status"], row["queue"], row["place"]) == (first, "queued", "q", 1)
    assert "no worker" in row["why"]
    assert re.search(rb" for \d+(\.\d)?s, 1st in q, no worker", viewer.call("ps", "--fleet").out)
    assert viewer.said("status", "--fleet", "early")["why"] == row["why"]
    assert "waits" in viewer.refused("logs", "--fleet", first)
    worker = Worker(alpha, "q", "--slots", "2")
    assert viewer.call("wait", "--fleet", first).code == 3
    check_history(changes(server.url))
    last = changes(server.url)[first][-1]
    assert (last["status"], last["exitCode"], last["machine"], last["attempt"]) == ("error", 3, "alpha", 1)
    wait_for_rows(server.url, {last["ranAs"]: "error"})
    # the job of the queue and the job of the machine are one: each command finds it by either name
    assert viewer.call("logs", "--fleet", first).out == b"me 1\n"
    there = viewer.said("status", f"{last['ranAs']}@alpha")
    assert viewer.said("status", "--fleet", first) == there
    assert there["labels"] == {"name": "early", "queue": "q", "queued": first}
    assert [row["jobId"] for row in viewer.said("ps", "--fleet", "--all")] == [last["ranAs"]]
    # a command that cannot be started fails, and says why
    nothing = submit(viewer, "q", "--", "/no/such/program")
    assert viewer.call("wait", "--fleet", nothing).code == 127
    nowhere = submit(viewer, "q", "--cwd", "/no/such/folder", "--", "true")
    assert viewer.call("wait", "--fleet", nowhere).code == 125
    assert "/no/such/folder" in changes(server.url)[nowhere][-1]["why"]
    done = viewer.call("start", "--fleet", "q", "--wait", "--json", "--", "true")
    assert (done.code, json.loads(done.out)["status"]) == (0, "success")
    worker.end()


def test_workers_take_what_suits_them_in_order_and_within_limits(server: Server, machine: Make, tmp_path: Path) -> None:
    alpha, viewer = machine("alpha", server.url).join().joined(), machine("viewer", server.url)
    order = tmp_path / "order"
    words = ("--", "sh", "-c", f"echo $0 >> {order}")
    late = submit(viewer, "q", *words, "late")
    urgent = submit(viewer, "q", "--priority", "5", *words, "urgent")
    needy = submit(viewer, "q", "--need", "gpu", *words, "needy")
    large = submit(viewer, "q", "--memory", "100T", *words, "large")
    gone = submit(viewer, "q", *words, "gone")
    assert viewer.call("cancel", "--fleet", "@last").code == 0
    assert viewer.call("cancel", "--fleet", gone).code == 0  # says that it has ended
    assert viewer.call("queue", "pause", "q").code == 0
    plain = Worker(alpha, "q", "--memory", "1G")
    assert {row["why"].partition(", ")[2] for row in viewer.said("ps", "--fleet")} == {"queue q is paused"}
    assert viewer.call("queue", "resume", "q").code == 0
    wait_for(server.url, {late: "success", urgent: "success", gone: "cancelled", needy: "queued", large: "queued"})
    assert order.read_text().split() == ["urgent", "late"]
    why = {row["jobId"]: row["why"] for row in viewer.said("ps", "--fleet", "--status", "queued")}
    assert "label gpu" in why[needy]
    assert "100 TiB" in why[large]
    only = Worker(alpha, "q", "--label", "gpu", "--only-label", "--slots", "4")
    wait_for(server.url, {needy: "success"})
    # at most one of the queue at a time, on all workers together
    assert viewer.call("queue", "limit", "q", "1").code == 0
    lock = tmp_path / "lock"
    alone = [
        submit(viewer, "q", *need, "--", "flock", "-n", "-E", "9", str(lock), "sh", "-c", "exit 0")
        for need in ((), ("--need", "gpu")) * 3
    ]
    wait_for(server.url, dict.fromkeys(alone, "success"))
    found = viewer.said("worker", "--list")
    assert sorted((each["machine"], each["onlyLabel"], each["slots"]) for each in found) == [
        ("alpha", False, 1),
        ("alpha", True, 4),
    ]
    (listed,) = viewer.said("queue", "list")
    assert (listed["queue"], listed["waiting"], listed["running"], listed["maxRunning"]) == ("q", 1, 0, 1)
    # draining: what runs may end, and no other job is taken
    viewer.call("queue", "limit", "q", "off")
    runs = submit(viewer, "q", "--need", "gpu", "--stdin", "pipe", *STILL, "--", "sh", "-c", "read a")
    wait_for(server.url, {runs: "running"})
    assert alpha.call("worker", "--drain").code == 0
    assert plain.process.wait(60) == 0
    waits = submit(viewer, "q", "--", "true")
    wait_until(lambda: viewer.call("send", "--fleet", runs, "x").code == 0, "it can be reached", 60)
    assert only.process.wait(60) == 0
    assert b"takes no more jobs; 1 still runs" in only.said
    assert states(server.url)[runs] == "success"
    assert states(server.url)[waits] == "queued"
    assert viewer.said("worker", "--list") == []
    check_history(changes(server.url))


def test_a_worker_that_is_stopped_gives_its_jobs_back_or_ends_them(server: Server, machine: Make) -> None:
    alpha, viewer = machine("alpha", server.url).join().joined(), machine("viewer", server.url)
    worker = Worker(alpha, "q", "--slots", "2")
    again = submit(
        viewer, "q", "--on-lost", "retry", *STILL, "--", "sh", "-c", '[ "$UNHANG_QUEUE_ATTEMPT" = 2 ] || sleep 1000'
    )
    once = submit(viewer, "q", *STILL, "--", "sleep", "1000")
    # taken is not started: one that was not is given back, whatever is to be done with a lost one
    running_on(alpha, again)
    running_on(alpha, once)
    assert alpha.call("worker", "--stop").code == 0
    assert worker.process.wait(60) == 0
    wait_for(server.url, {again: "queued", once: "error"})
    assert viewer.call("wait", "--fleet", once).code == 125
    worker = Worker(alpha, "q")
    wait_for(server.url, {again: "success"})
    found = changes(server.url)
    check_history(found)
    assert (found[again][-1]["attempt"], found[once][-1]["phase"]) == (2, "lost")
    worker.end()


def test_a_machine_that_takes_jobs_stays_in_the_fleet_and_nothing_is_claimed_of_what_it_has_not_published(
    server: Server, machine: Make
) -> None:
    alpha, viewer = machine("alpha", server.url).join().joined(), machine("viewer", server.url)
    worker = Worker(alpha, "q")
    assert "--drain" in alpha.refused("fleet", "leave")
    assert alpha.stop_publisher() == 0
    held = note.take_place(str(alpha.home))  # for as long as this test looks, its worker starts no other publisher
    assert held is not None
    note.sign(held)
    sent = submit(viewer, "q", *STILL, "--", "sleep", "1000")
    place = running_on(alpha, sent).id
    wait_until(lambda: viewer.said("status", "--fleet", sent)["jobId"] == place, "its worker has said what it is")
    for words in (("status", "--fleet", sent), ("result", "--fleet", sent)):
        said = viewer.said(*words)
        assert (said["jobId"], said["status"], said["machine"]) == (place, "unknown", "alpha")
    said_in_text = viewer.call("status", "--fleet", sent).out
    assert (b"offline" in said_in_text, b"limits" in said_in_text) == (True, False)
    (row,) = viewer.said("ps", "--fleet")
    assert (row["jobId"], row["status"], row["machine"]) == (sent, "unknown", "alpha")

    note.leave(held)
    os.close(held)

    def listed() -> list[tuple[str, str]]:
        return [(row["jobId"], row["status"]) for row in viewer.said("ps", "--fleet")]

    wait_until(lambda: listed() == [(place, "running")], "its worker has had it published again", 60)
    assert viewer.call("cancel", "--fleet", sent).code == 0
    wait_for(server.url, {sent: "cancelled"})
    worker.end()
    assert alpha.call("fleet", "leave").code == 0


def test_the_task_of_an_agent_is_carried_out_by_the_agent_of_the_worker(
    server: Server, machine: Make, tmp_path: Path
) -> None:
    alpha, viewer = machine("alpha", server.url).join().joined(), machine("viewer", server.url)
    # only the worker's machine has the program
    program = tmp_path / "bin" / "the-agent"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, str(STAND_IN)])}\n")
    program.chmod(0o700)
    alpha.env["PATH"] = f"{program.parent}:{alpha.env['PATH']}"
    worker = Worker(alpha, "q")
    words = ("agent", "run", "mine", "do it", "--fleet", "q", "--command", "the-agent")
    done = viewer.call(*words, "--cwd", str(tmp_path), "--name", "helper", *STILL)
    assert done.code == 0, done.err
    queued = done.out.decode().strip()
    assert viewer.call("wait", "--fleet", queued).code == 0
    first, *_, last = changes(server.url)[queued]
    assert (first["kind"], first["command"], first["onLost"]) == ("agent", "mine: do it", "fail")
    (job,) = jobs_of(alpha, queued)
    # it is the same job as on the machine itself: driven by the protocol, with the agent's own report
    assert job.spec["agent"]["protocol"] == "acp"
    assert (job.spec["labels"]["agent"], last["ranAs"]) == ("mine", job.id)
    told = viewer.said("result", "--fleet", queued)
    assert told["agent"] == json.loads(alpha.call("result", "--json", job.id).out)["agent"]
    # an agent that the worker does not have is told, and not waited for
    nobody = viewer.call("codex", "run", "x", "--fleet", "q", "--codex", "/no/such/codex", "--wait")
    assert nobody.code == 127, nobody.err
    for refused in (("claude", "run", "x", "--resume", str(uuid.uuid4())), ("codex", "run", "x", "--thread", "t")):
        assert "session" in viewer.refused(*refused, "--fleet", "q", code=2)
    assert "--fleet" in viewer.refused("codex", "run", "x", "--priority", "3", "--codex", "/bin/true", code=2)
    worker.end()


def test_a_mirror_takes_each_change_once_and_never_goes_back() -> None:
    waiting = QueuedJob("q", "a", order=1)
    running = waiting.claimed("m", "w")
    ended = running.finished("x", "success", "finished", 0, "t", "")
    subject = subjects.queued_of("q", "a")
    for lean in (False, True):
        mirror = Mirror("q", lean=lean)
        assert mirror.take(subject, 5, running.to_bytes())
        assert not mirror.take(subject, 4, waiting.to_bytes())
        assert mirror.jobs["a"] == running.replace(place=5)
        assert mirror.take(subject, 6, ended.to_bytes())
        assert not mirror.take(subject, 6, ended.to_bytes())
        assert not mirror.take(subject, 5, running.to_bytes())
        assert ("a" in mirror.jobs) == (not lean)
        for odd in ("unhang.queue.q", "unhang.queue.other.job.a", "unhang.queue.q.job.b"):
            assert not mirror.take(odd, 7, waiting.to_bytes())
        assert mirror.take(subjects.settings_of("q"), 8, QueueSettings(paused=True).to_bytes())
        assert not mirror.take(subjects.settings_of("q"), 7, b"{}")
        assert mirror.settings("q").paused
        assert mirror.queues == ["q"]


@pytest.mark.parametrize(
    "words",
    [
        ("--fleet", "no.queue"),
        ("--fleet", "q", "--memory", "much"),
        ("--fleet", "q", "--need", "a b"),
        ("--fleet", "q", "--priority", "100000"),
        ("--fleet", "q", "--idle", "soon"),
        ("--fleet", "q", "--hold", "1ms"),
        ("--fleet", "q", "--policy", "x.toml"),
        ("--fleet", "q", "--stdin", "@x"),
        ("--fleet", "q", "--name", "1"),
        ("--fleet", "q", "--env", f"X={'x' * 1_000_000}"),
    ],
)
def test_what_makes_no_sense_is_refused_before_it_is_queued(words: tuple[str, ...]) -> None:
    args = parser_of("start", load("start"), "").parse([*words])
    args.command = ["true"]
    with pytest.raises(UsageError):
        job_and_task(args)
