"""Three servers, two machines whose jobs and sessions record much, the leader killed: all is there, once, in order."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from tests.support.fleet import (
    Following,
    Machine,
    Server,
    caught_up,
    cluster,
    have_lead,
    leader,
    published,
    wait_for_rows,
)
from tests.support.fleet_faults import Wire
from tests.support.fleet_load import SECRET
from tests.support.jobs import STILL
from tests.support.places import ROOT

pytestmark = pytest.mark.timeout(300)  # many processes, each of which has to start
Make = Callable[[str, str], Machine]
_JOBS, _SESSIONS, _EVENTS, _SECONDS = 8, 4, 60, 6.0


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Server]]:
    made = cluster(tmp_path)
    yield made
    for server in made:
        server.kill()


@pytest.fixture
def divided(tmp_path: Path, wire: Wire) -> Iterator[list[Server]]:
    made = cluster(tmp_path, wire)
    yield made
    for server in made:
        server.kill()


def begin_to_record(machine: Machine) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "tests.support.fleet_load", str(machine.home)]
    return machine.popen_program(*words, *map(str, (_JOBS, _EVENTS, _SECONDS, _SESSIONS)), cwd=ROOT)


def test_the_leader_is_killed_under_load(servers: list[Server], machine: Make) -> None:
    url = ",".join(server.url for server in servers)
    machines = [machine(name, url).join().joined() for name in ("alpha", "beta")]
    viewer = machine("viewer", url)
    job = machines[0].begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "read a; exit 3")
    wait_for_rows(url, {job.id: "running"})
    following = Following(viewer, f"{job.id}@alpha")
    writers = [begin_to_record(each) for each in machines]
    wait_until(lambda: len(published(url)) > _JOBS, "events arrive", 60)
    killed = leader(servers)
    killed.kill()
    job.send("\n")
    for writer, each in zip(writers, machines, strict=True):
        assert each.finish(writer).code == 0  # nothing that records waits for a server
    assert following.finish() == job.events()
    others = ",".join(server.url for server in servers if server is not killed)
    caught_up(others, machines, 90)
    killed.start().wait()
    caught_up(killed.url, machines, 90)
    found = published(url)
    assert sum(messages[-1][1] for messages in found.values()) >= 2 * (_JOBS + _SESSIONS) * (_EVENTS - 2)
    assert sum(".session." in subject for subject in found) == 2 * _SESSIONS
    assert not any(SECRET.encode() in each[2] for messages in found.values() for each in messages)
    # from outside they are the sessions of two machines, whole
    (event,) = viewer.lines("watch", "events", "session-0@beta", "--all", "--json", "--after-seq", str(_EVENTS - 3))
    assert (event["seq"], event["toolInput"]["command"]) == (_EVENTS - 2, f"make {_EVENTS - 3}")


def test_a_leader_that_is_cut_off_takes_nothing_and_gives_up_what_it_had_not_stored(
    divided: list[Server], wire: Wire, machine: Make
) -> None:
    *near, far = divided
    url = ",".join(server.url for server in divided)
    beta = machine("beta", url).join().joined()
    gamma = machine("gamma", url).join(*wire.inside).joined()  # this one stays with the leader
    have_lead(divided, far)
    writers = [begin_to_record(each) for each in (beta, gamma)]
    wait_until(lambda: len(published(url)) > _JOBS, "events arrive", 60)
    wire.cut()
    for writer, each in zip(writers, (beta, gamma), strict=True):
        assert each.finish(writer).code == 0
    others = ",".join(server.url for server in near)
    caught_up(others, [beta], 120, all_of_them=False)  # those that are together go on
    viewer = machine("viewer", others)

    def known() -> bool:
        done = viewer.call("fleet", "machines", "--json")
        found = json.loads(done.out) if done.code == 0 else []  # of some buckets a leader is being elected
        return {each["machine"]: each["state"] for each in found} == {"beta": "online", "gamma": "offline"}

    wait_until(known, "the machine that is with the old leader is offline", 90)
    wire.mend()
    for server in divided:
        caught_up(server.url, [beta, gamma], 120)
