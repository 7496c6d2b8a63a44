"""From docs/fleet.md: one command starts a server, two more show a job on two machines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.engine import wait_until
from tests.support.fleet import Machine

pytestmark = pytest.mark.timeout(300)  # many processes, each of which has to start
Make = Callable[[str, str], Machine]


def test_one_command_starts_a_server_and_two_more_show_a_job_on_two_machines(machine: Make) -> None:
    one, two = machine("one", ""), machine("two", "")
    for each in (one, two):
        del each.env["UNHANG_NATS"]
    try:
        said = one.call("fleet", "try", "--background")
        assert said.code == 0, said.err
        address = said.out.split()[0].decode()
        assert "runs already" in one.refused("fleet", "try")
        assert one.call("fleet", "join", "--background", "--machine", "one").code == 0
        assert two.call("fleet", "join", "--background", "--machine", "two", "--nats", address).code == 0
        jobs = {"one": one.begin("--", "true"), "two": two.begin("--", "true")}

        def listed() -> dict[str, str]:
            return {row["machine"]: row["jobId"] for row in two.said("ps", "--fleet", "--all")}

        wait_until(lambda: listed() == {name: job.id for name, job in jobs.items()}, "both are listed by either")
        # others on this machine have no password
        stranger = machine("stranger", address.replace("unhang:", "unhang:x"))
        assert "refused these credentials" in stranger.refused("ps", "--fleet")
    finally:
        for each in (one, two):
            each.call("fleet", "leave")
        assert one.call("fleet", "try", "--stop").code == 0
    assert "no NATS server answers" in two.refused("fleet", "machines")
