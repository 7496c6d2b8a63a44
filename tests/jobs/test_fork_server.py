"""A fork server makes the next spare when its client waits for no answer any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.engine import wait_until
from tests.support.jobs import Jobs
from unhang.jobs import connection as connections
from unhang.jobs.connection import JobConnection
from unhang.jobs.launcher import CallerStreams, ServedLauncher
from unhang.jobs.request import prepare
from unhang.procs import tree

_SERVER = "from unhang.keeper.prefork import fork_server; fork_server.{name} = {value}; fork_server.main({line})"
# It makes none by itself within the time of a test.
_PATIENT = {"name": "_LATER", "value": 3600.0}
# Both, for a spare that is asked for together with a job: how soon it is made, and how soon the next job is a row.
_BY_ITSELF = {"name": "_SOON, fork_server._AFTER_THE_OTHER", "value": "3600.0, 0.0"}
_IN_A_ROW = {"name": "_SOON, fork_server._AFTER_THE_OTHER", "value": "3600.0, 1e9"}
# A machine with so many processes that a look at all of them takes as good as for ever.
_LOADS_FOR_EVER = {"name": "_TIMES", "value": 10**9}


class Patient:
    """A launcher with a fork server of its own, which waits for ever to be asked for a spare."""

    def __init__(self, jobs: Jobs, changed: dict[str, Any] = _PATIENT) -> None:
        self._home = str(jobs.home)
        ours, theirs = connections.pair()
        line = theirs.fileno()
        self.server = subprocess.Popen(
            [sys.executable, "-c", _SERVER.format(line=line, **changed)], pass_fds=[line], env=os.environ | jobs.env
        )
        theirs.close()
        self.launcher = ServedLauncher()
        self.launcher._line, self.launcher._server = ours, self.server.pid

    def launch(self, *, told: bool, stdin: int | None = None) -> JobConnection:
        prepared = prepare(["true"], foreground=False, stdin="null")
        return self.launcher.launch(self._home, prepared, CallerStreams(stdin=stdin), told=told)

    def run(self, *, told: bool) -> None:
        connection = self.launch(told=told)
        connection.wait_until_closed()
        connection.close()

    def offered(self) -> tuple[int, int]:
        """The guard and the keeper of a spare that waits for the client's next job."""
        self.launcher.next_spare()
        wait_until(lambda: _is_offered(self.launcher), "the spare is the client's")
        [guard] = self.spares()
        wait_until(lambda: bool(tree.children(guard)), "its keeper")
        return guard, tree.children(guard)[0]

    def spares(self) -> list[int]:
        return tree.children(self.server.pid)

    def close(self) -> None:
        assert self.launcher._line is not None
        self.launcher._line.close()
        if self.launcher._offered is not None:
            self.launcher._offered.close()
        assert self.server.wait(60) == 0


@pytest.fixture
def patient(jobs: Jobs) -> Iterator[Patient]:
    found = Patient(jobs)
    yield found
    found.close()


def test_after_a_job_whose_caller_waits_a_spare_is_made_when_the_caller_asks_for_it(patient: Patient) -> None:
    patient.run(told=False)
    wait_until(lambda: not patient.spares(), "the guard of the job is gone, and no spare was made")
    patient.run(told=False)  # without a spare it is made for the job
    wait_until(lambda: not patient.spares(), "the guard of the second job is gone")
    patient.launcher.next_spare()
    wait_until(lambda: len(patient.spares()) == 1, "a spare")
    patient.launcher.next_spare()
    patient.run(told=False)
    wait_until(lambda: not patient.spares(), "the spare had the job")


def test_a_job_is_given_again_if_the_spare_that_has_it_is_killed_before_it_takes_it(patient: Patient) -> None:
    patient.run(told=False)
    wait_until(lambda: not patient.spares(), "the guard of the job is gone, and no spare was made")
    guard, keeper = patient.offered()
    os.kill(keeper, signal.SIGSTOP)
    connection = patient.launch(told=False)
    for pid in (guard, keeper):
        os.kill(pid, signal.SIGKILL)
    _wait_for_success(connection)


def test_a_spare_that_was_killed_before_a_job_came_is_not_used(patient: Patient) -> None:
    patient.run(told=False)
    wait_until(lambda: not patient.spares(), "the guard of the job is gone, and no spare was made")
    guard, keeper = patient.offered()
    for pid in (guard, keeper):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not patient.spares(), "the spare is gone")
    patient.run(told=False)


def test_a_spare_whose_client_was_offered_it_late_has_only_the_job_that_came_to_the_server(patient: Patient) -> None:
    patient.run(told=False)
    wait_until(lambda: not patient.spares(), "the guard of the job is gone, and no spare was made")
    patient.launcher.next_spare()
    wait_until(lambda: len(patient.spares()) == 1, "a spare")
    with open(os.devnull, "rb") as nothing:  # a job with a descriptor of its own goes to the server
        first = patient.launch(told=False, stdin=nothing.fileno())
    second = patient.launch(told=False)
    for connection in (first, second):
        _wait_for_success(connection)


def _wait_for_success(connection: JobConnection) -> None:
    connection.wait_until_closed()
    last = connection.outcome()
    assert last is not None
    assert last["phase"] == "completed"
    connection.close()


def _is_offered(launcher: ServedLauncher) -> bool:
    with launcher._lock:
        launcher._hear_offers()
    return launcher._offered is not None


def test_after_a_job_that_is_told_of_at_once_a_spare_is_made_soon(patient: Patient) -> None:
    patient.run(told=True)
    wait_until(lambda: len(patient.spares()) == 1, "a spare")


def test_a_spare_that_is_asked_for_with_a_job_leaves_the_processors_to_that_for_a_moment(jobs: Jobs) -> None:
    resting = Patient(jobs, _BY_ITSELF)
    resting.run(told=True)
    wait_until(lambda: not resting.spares(), "the guard of the job is gone, and no spare was made")
    resting.close()


def test_a_client_that_gives_one_job_after_the_other_has_its_spares_at_once(jobs: Jobs) -> None:
    busy = Patient(jobs, _IN_A_ROW)
    for _ in range(2):
        busy.run(told=True)
        wait_until(lambda: len(busy.spares()) == 1, "a spare")
    busy.close()


def test_a_job_does_not_wait_for_what_is_loaded_for_all_keepers(jobs: Jobs) -> None:
    """The loading begins after the first job, and goes on when no other job comes."""
    loading = Patient(jobs, _LOADS_FOR_EVER)
    for _ in range(3):
        loading.run(told=True)
    loading.close()
