"""Whether everything that unhang depends on works: the disk, the system, the keepers and their guards."""

from __future__ import annotations

import errno
import os
import signal

from unhang.core.events import EXITED
from unhang.errors import UnhangError
from unhang.jobs import control_client, reconcile
from unhang.jobs.listing import list_jobs
from unhang.procs import identity
from unhang.procs.process_handle import ProcessHandle
from unhang.procs.tree import make_tree
from unhang.procs.wakeup import Wakeup
from unhang.store import files, find, reader
from unhang.store.layout import JobDir

# A keeper answers in a millisecond; one that gets no core may take a little longer.
_PATIENCE = 2.0
# More than a small file that a file system keeps in its own records, where a full disk has room.
_BLOCK = 4096
_STATES = {"T": "is stopped", "t": "is being traced", "D": "waits for a disk or a device"}


def check_keepers(home: str) -> tuple[int, list[tuple[str, str]]]:
    """Return how many keepers answer; and for each of the others, the job and what is wrong."""
    silent: list[tuple[str, str]] = []
    running = [row for row in list_jobs(home, running_only=True) if row.phase != reconcile.ELSEWHERE]
    for row in running:
        problem = _problem(JobDir(home, row.id))
        if problem:
            silent.append((row.id, problem))
    return len(running) - len(silent), silent


def changed_records(home: str) -> list[str]:
    """Return the running jobs whose record says that they have ended: another process than the keeper wrote that."""
    running = (JobDir(home, row.id) for row in list_jobs(home, running_only=True))
    return [place.id for place in running if reader.last_event(place.events, EXITED) and not reconcile.settle(place)]


def _problem(place: JobDir) -> str:
    """What is wrong with the keeper or guard of a job; "": it answers, or the job has ended meanwhile."""
    keeper = reconcile.keeper_of(files.read_json(place.job))
    for name, pid, start in (("keeper", "pid", "start"), ("guard", "guard", "guardStart")):
        process = reconcile.process_named(keeper, pid, start)
        found = None if process is None else identity.find(process.pid)
        if process is not None and found is not None and found.start == process.start:
            state = _STATES.get(found.state)
            if state is not None:
                return f"its {name} {state}"
    try:
        control_client.ask(place, do="ping", patience=_PATIENCE)
    except control_client.JobHasEnded:
        return ""
    except (UnhangError, OSError) as error:
        return "" if reconcile.has_ended(place) else str(error)
    return ""


def disk_answers(home: str, patience: float = 5.0) -> bool:
    """Return whether the state directory can be written to within `patience`.

    OSError: it answers, and cannot be written to.

    Tried by a process of its own: a disk that hangs would hold the one that tries, and no signal frees it.
    """
    child = os.fork()
    if child == 0:
        code = errno.EIO
        try:
            os.closerange(0, 3)  # a reader of our own output must not have to wait for the disk
            code = _write_error(home)
        finally:
            os._exit(code)  # the numbers of errors go up to 133
    try:
        with ProcessHandle(child) as handle:
            if not handle.wait(patience):
                handle.signal(signal.SIGKILL)
                return False
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except (OSError, ChildProcessError):
        return True
    if code > 0:
        raise OSError(code, os.strerror(code), home)
    return True


def _write_error(home: str) -> int:
    """0: a file can be made, written and synced there."""
    try:
        fd = os.open(home, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        os.write(fd, bytes(_BLOCK))
        os.fsync(fd)
    except OSError as error:
        # A file system without files that have no name (NFS, FUSE) says nothing about its room.
        return 0 if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL) else error.errno or 0
    return 0


def ends_whole_trees() -> bool:
    """Return whether the kernel proves that a tree is ended whole (subreaper, pidfd)."""
    return make_tree().proof


def wakes_followers() -> bool:
    """Return whether followers are woken by inotify; else they look many times a second."""
    with Wakeup() as wakeup:
        return wakeup.fd >= 0


def sees_processes() -> bool:
    """Return whether processes can be seen here: without that there is no diagnosis and no recovery."""
    return identity.start_time(os.getpid()) is not None


def count_jobs(home: str) -> tuple[int, int, int]:
    """Return how many jobs there are, run, and were lost. Counting makes every record true."""
    known = len(find.all_ids(home))
    rows = list_jobs(home)
    return known, sum(not row.final for row in rows), sum(row.phase == "lost" for row in rows)
