"""Three servers, two machines that record much, the leader killed: nothing is lost, doubled or out of order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from tests.support.fleet import Following, Machine, Server, caught_up, cluster, leader, published, wait_for_rows
from tests.support.jobs import STILL
from tests.support.places import ROOT

Make = Callable[[str, str], Machine]
_JOBS, _EVENTS, _SECONDS = 8, 60, 6.0


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Server]]:
    made = cluster(tmp_path)
    yield made
    for server in made:
        server.kill()


def test_the_leader_is_killed_under_load(servers: list[Server], machine: Make) -> None:
    url = ",".join(server.url for server in servers)
    machines = [machine(name, url).join().joined() for name in ("alpha", "beta")]
    viewer = machine("viewer", url)
    job = machines[0].begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "read a; exit 3")
    wait_for_rows(url, {job.id: "running"})
    following = Following(viewer, f"{job.id}@alpha")
    words = [sys.executable, "-m", "tests.support.fleet_load"]
    writers = [
        each.popen_program(*words, str(each.home), str(_JOBS), str(_EVENTS), str(_SECONDS), cwd=ROOT)
        for each in machines
    ]
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
    assert sum(messages[-1][1] for messages in published(url).values()) >= 2 * _JOBS * _EVENTS
