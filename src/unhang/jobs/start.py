"""Starting a job: with a connection to it (`launch`), or in the background (`start`)."""

from __future__ import annotations

import functools
import os

from unhang.core import outcome
from unhang.core.spec import INHERIT, NULL
from unhang.errors import SpawnError, UsageError
from unhang.jobs import cleanup
from unhang.jobs.handle import Job
from unhang.jobs.home import state_home
from unhang.jobs.launcher import CallerStreams, ServedLauncher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.connection import JobConnection
    from unhang.jobs.launcher import Launcher
    from unhang.jobs.request import Prepared


@functools.cache
def default_launcher() -> ServedLauncher:
    """Return one fork server for each process, made when its first job is started."""
    return ServedLauncher()


def input_descriptor(prepared: Prepared, data: bytes | None) -> int | None:
    """Return a descriptor for the job's stdin: a copy of our own, nothing, or `data` in an anonymous file.

    A file, so that no process has to feed a pipe.
    """
    if data is not None:
        if prepared.spec.pty:
            raise UsageError("input cannot be given to a job on a terminal: send it instead")
        fd = os.memfd_create("unhang-input")
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        return fd
    if prepared.spec.stdin == INHERIT and not prepared.spec.pty:
        try:
            return os.dup(0)
        except OSError:
            return None  # we have none ourselves
    return None


def launch(
    prepared: Prepared, data: bytes | None = None, launcher: Launcher | None = None, *, told: bool = True
) -> JobConnection:
    """Give the job to a keeper and return at once; the connection tells when it has started.

    `told` False: the caller waits for its end. It calls `connection.make_durable` before it tells of a job that runs,
    and `next_spare` when it has its answer.
    """
    if data is not None:
        prepared = prepared.replace(spec=prepared.spec.replace(stdin=NULL))
    stdin = input_descriptor(prepared, data)
    try:
        home = state_home()
        connection = (launcher or default_launcher()).launch(home, prepared, CallerStreams(stdin=stdin), told=told)
        if launcher is None:
            cleanup.in_a_thread(home)
        return connection
    finally:
        if stdin is not None:
            os.close(stdin)


def next_spare() -> None:
    """Let the fork server of this process get ready for the next job."""
    default_launcher().next_spare()


def start(prepared: Prepared, data: bytes | None = None, launcher: Launcher | None = None) -> Job:
    """Start a job that outlives this process. Returns when it runs, or has failed to start (its result says so)."""
    if prepared.spec.foreground:  # it would be cancelled with the connection
        raise ValueError("a job that outlives this process is prepared with foreground=False")
    connection = launch(prepared, data, launcher)
    try:
        connection.wait_until_started()
    finally:
        connection.close()
    return Job(connection.place)


def check_started(connection: JobConnection) -> None:
    """Raise SpawnError if the command of this job never ran: there is no job that a person could use the id of."""
    if connection.started and not connection.ended:
        return
    view = Job(connection.place).view()
    if view.pid is not None:
        return
    last = view.outcome or {}
    message = (last.get("error") or {}).get("message") or "the job was not started"
    raise SpawnError(str(message), outcome.exit_code(last))
