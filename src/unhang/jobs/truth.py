"""No job may be called running when nothing runs, or ended when something does.

Every command that looks at a job asks here first. A keeper is identified by pid *and* start time *and* boot: a record
of a pid alone would one day name somebody else's process. When the keeper is gone without having recorded the end, its
guard is about to; when that is gone too, whoever looks does their work: ends what carries the job's marks, cuts off a
torn line, records the loss (under a lock: two may look at once).
"""

from __future__ import annotations

import os
import signal

from unhang.core import events as ev
from unhang.errors import UnhangError
from unhang.procs import clock, markers, stat
from unhang.store import find, reader, records
from unhang.store.layout import JobDir
from unhang.store.recovery import record_loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How long a directory without a record may take to get one (a keeper that is just being born).
BIRTH = 10.0
# How long the guard may take to end the tree before a finder helps.
GUARD_PATIENCE = 5.0
_ROUNDS = 50
# One scan of /proc proves nothing: a process that forks and exits while it is made slips through (a daemon being born).
_CLEAN = 3
_PAUSE = 0.02


def has_ended(place: JobDir) -> bool:
    """By the last record alone."""
    last = reader.last_event(place.events)
    return last is not None and last["type"] == ev.EXITED


def keeper_lives(job: dict[str, Any]) -> bool:
    keeper = job.get("keeper") or {}
    if keeper.get("boot") != stat.boot_id():
        return False
    return stat.is_alive(int(keeper.get("pid", 0)), str(keeper.get("start")))


def _guard_lives(job: dict[str, Any]) -> bool:
    keeper = job.get("keeper") or {}
    return keeper.get("boot") == stat.boot_id() and stat.is_alive(
        int(keeper.get("guard", 0)), str(keeper.get("guardStart"))
    )


def stop_keeper(place: JobDir) -> bool:
    """For a keeper without a socket (no room for one): SIGTERM asks it to cancel. False: nobody is there."""
    from unhang.procs.base import Process
    from unhang.procs.linux import signal_one

    keeper = (records.job(place) or {}).get("keeper") or {}
    process = Process(int(keeper.get("pid", 0)), str(keeper.get("start")), 0, "", "")
    return keeper.get("boot") == stat.boot_id() and signal_one(process, (signal.SIGTERM,), direct=False)


def settle(place: JobDir, *, birth: float = BIRTH) -> bool:
    """Make the record true. True: the job has ended (now or before); False: it runs.

    `birth`: how long a job without a record may still get one; 0 for a caller who knows that nobody works on it.
    """
    if has_ended(place):
        return True
    job = records.job(place)
    if job is None:
        return _settle_unborn(place, birth)
    if keeper_lives(job):
        return has_ended(place)
    if _guard_lives(job) and _wait_for_guard(int(job["keeper"]["guard"])) and has_ended(place):
        return True
    return _recover(place, job)


def _wait_for_guard(pid: int) -> bool:
    from unhang.procs.wakeup import Wakeup

    with Wakeup() as wakeup:
        deadline = clock.monotonic() + GUARD_PATIENCE
        if not wakeup.add_process(pid):
            return True
        return wakeup.wait(deadline - clock.monotonic())


def _settle_unborn(place: JobDir, birth: float) -> bool:
    try:
        age = clock.wall() - os.stat(place.path).st_mtime
    except FileNotFoundError:
        return True
    if age < birth:
        return False
    record_loss(place, [], how="it was never started", stamp=clock.now)
    return True


def _recover(place: JobDir, job: dict[str, Any]) -> bool:
    keeper = job.get("keeper") or {}
    if keeper.get("boot") != stat.boot_id():
        record_loss(place, [], how="the machine was restarted", stamp=clock.now)
        return True
    how = "its keeper and its guard are gone"
    record_loss(place, [], how=how, stamp=clock.now, sweep=lambda: sweep(place.id, keeper.get("tag")))
    _settle_nested(place)
    return True


def _settle_nested(place: JobDir) -> None:
    """Jobs started inside it: the sweep has ended their keepers with it, but not what has only *their* marks."""
    for job_id in find.all_ids(place.home):
        inner = JobDir(place.home, job_id)
        keeper = (records.job(inner) or {}).get("keeper") or {}
        if place.id not in str(keeper.get("parents", "")).split(":") or has_ended(inner):
            continue
        try:
            settle(inner)
        except (UnhangError, OSError):
            continue  # said to whoever asks for that one


def sweep(job_id: str, tag: int | None) -> tuple[list[int], list[int]]:
    """End everything that carries the marks of a job nobody owns: (ended, survived)."""
    from unhang.procs.linux import signal_one
    from unhang.procs.wakeup import Wakeup

    ended: dict[int, None] = {}
    clean = 0
    for _ in range(_ROUNDS):
        found = markers.find(job_id, tag)
        clean = 0 if found else clean + 1
        if clean == _CLEAN:
            return list(ended), []
        if not found:
            continue
        with Wakeup() as wakeup:
            for process in found:
                wakeup.add_process(process.pid)
                try:
                    if signal_one(process, (signal.SIGKILL,), direct=False):
                        ended[process.pid] = None
                except PermissionError:
                    continue
            wakeup.wait(_PAUSE)
    return list(ended), [process.pid for process in markers.find(job_id, tag)]
