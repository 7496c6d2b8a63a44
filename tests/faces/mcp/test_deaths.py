"""Whoever dies: no foreground job is left behind, no background job is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.support.engine import Engine, actor, wait_until
from tests.support.mcp.harness import Caller, Servers
from tests.support.mcp.raw import INITIALIZE, INITIALIZED, Raw, call
from unhang.jobs import listing
from unhang.procs import command_line, tree
from unhang.testing.liveness import PATIENCE, Process, RollCall

# The client: starts the server with a pipe whose writing end a wrapper holds too, calls `run`, and waits to be killed.
CLIENT = """
import json, os, subprocess, sys
server, wrapper_ready, lines = json.loads(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
read, write = os.pipe()
# the wrapper: holds the writing end of the server's stdin for ever
subprocess.Popen(["sleep", "600"], pass_fds=[write], stdin=subprocess.DEVNULL)
child = subprocess.Popen(server, stdin=read, stdout=subprocess.PIPE)
os.close(read)
for line in lines:
    os.write(write, json.dumps(line).encode() + b"\\n")
os.write(wrapper_ready, f"{child.pid}\\n".encode())
while True:
    child.stdout.readline()
"""


def outcome_of(servers: Servers) -> str:
    """How the one job of this test has ended."""
    rows = listing.list_jobs(str(servers.engine.home))
    assert len(rows) == 1
    job = servers.job(rows[0].id)
    result = job.wait(30)
    assert result.status == "cancelled"
    return str(result.outcome["cancelledBy"])


def begin(servers: Servers, roll: RollCall, who: str = "obedient") -> Raw:
    """A server in the middle of a `run`."""
    raw = Raw(servers.popen())
    raw.shake_hands()
    raw.send(call(2, "run", argv=actor(who, roll.path)))
    roll.wait_for("leader")
    return raw


@pytest.mark.parametrize("pipe", ["stdin", "stdout"])
def test_a_client_that_closes_a_pipe_ends_the_server_and_its_foreground_job(
    servers: Servers, roll: RollCall, pipe: str
) -> None:
    raw = begin(servers, roll)
    getattr(raw.process, pipe).close()
    assert raw.process.wait(PATIENCE) == 0
    assert roll.wait_empty()
    assert outcome_of(servers) == "the death of its caller"  # whose grace is short


def test_sigkill_of_the_server_ends_its_foreground_job(servers: Servers, roll: RollCall) -> None:
    raw = begin(servers, roll, "setsid_child")  # which ignores SIGTERM and has sessions of its own
    roll.wait_for("member")
    raw.process.kill()
    raw.process.wait()
    assert roll.wait_empty()
    assert outcome_of(servers) == "the death of its caller"

    async def another(caller: Caller) -> None:
        found = (await caller.call("list", all=True)).data["jobs"]
        assert [job["status"] for job in found] == ["cancelled"]
        again = await caller.call("wait", job_id=found[0]["jobId"])
        assert again.data["jobs"][0]["stdout"] == "ready\n"  # what it had done so far is kept

    servers.run("auto", another)


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_lease_that_is_stopped_or_killed_is_replaced_before_the_server_dies(
    servers: Servers, roll: RollCall, number: int
) -> None:
    raw = begin(servers, roll)

    def leases() -> list[int]:
        found = tree.children(raw.process.pid)
        return [pid for pid in found if "unhang.jobs.lease" in command_line.of(pid, 10_000)]

    (pid,) = leases()
    lease = Process(pid)
    lease.send(number)
    assert lease.wait_gone()
    wait_until(lambda: len(leases()) == 1 and leases() != [pid], "another lease")
    raw.process.kill()
    raw.process.wait()
    assert roll.wait_empty()
    assert outcome_of(servers) == "the death of its caller"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_server_and_its_foreground_job(servers: Servers, roll: RollCall, number: int) -> None:
    raw = begin(servers, roll)
    raw.process.send_signal(number)
    raw.process.wait(PATIENCE)
    assert roll.wait_empty()
    outcome_of(servers)


def test_background_jobs_outlive_a_killed_server(servers: Servers) -> None:
    raw = Raw(servers.popen())
    raw.shake_hands()
    raw.send(call(2, "start", command="echo here; sleep 600"))
    job = raw.answer(2)["result"]["structuredContent"]["jobId"]
    raw.send(call(3, "run", command="echo also; sleep 600", wait_sec=0.5))
    handed = raw.answer(3)["result"]["structuredContent"]["jobId"]
    raw.process.kill()
    raw.process.wait()

    async def another(caller: Caller) -> None:
        found = {entry["jobId"]: entry["status"] for entry in (await caller.call("list")).data["jobs"]}
        assert found == {job: "running", handed: "running"}
        for name in found:
            assert (await caller.call("cancel", job_id=name)).data["status"] == "cancelled"

    servers.run("auto", another)


def test_the_death_of_the_client_is_noticed_though_a_wrapper_holds_our_input(
    servers: Servers, engine: Engine, roll: RollCall
) -> None:
    ready, tell = os.pipe()
    lines = [INITIALIZE, INITIALIZED, call(2, "run", argv=actor("obedient", roll.path))]
    words = [sys.executable, "-c", CLIENT, json.dumps(servers.command()), str(tell), json.dumps(lines)]
    client = subprocess.Popen(words, pass_fds=[tell], env=engine.env, stdin=subprocess.DEVNULL)
    os.close(tell)
    with open(ready, "rb") as pipe:
        server = Process(int(pipe.readline()))
        roll.wait_for("leader")
        client.kill()
        client.wait()
        assert server.wait_gone(), "the server outlived its client"
    assert roll.wait_empty()
    outcome_of(servers)
    server.close()
    for pid in engine.marked():  # the wrapper, which nobody else ends
        if "sleep" in command_line.of(pid):
            Process(pid).send(signal.SIGKILL)
    wait_until(lambda: not engine.marked(), "nothing is left")
