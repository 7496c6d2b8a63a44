"""No job may be called running when nothing runs, or ended when something does; and what cannot be seen is not judged.

Every command that looks at a job asks here first. A keeper is identified by pid and start time, within the boot and the
PID namespace that it wrote down: elsewhere those numbers name other processes. Its claim on the log (store/claim.py)
says that it lives wherever the log can be read. When the keeper is gone without having recorded the end, its guard is
about to; when that is gone too, the process that looks does their work: ends what is proved to be of the job, cuts off
a torn line, records the loss (with the claim in hand: two may look at once).
"""

from __future__ import annotations

import os
import signal

from unhang.core import events as ev
from unhang.errors import ControlError, UnhangError
from unhang.procs import clock, identity, markers, vantage
from unhang.procs.base import ProcessInfo
from unhang.store import claim, find, reader, records
from unhang.store.layout import JobDir
from unhang.store.recovery import record_loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The phase of a job that has not ended and cannot be judged from here.
ELSEWHERE = "elsewhere"
MACHINE_WENT_DOWN = "the machine went down"
_GONE = "its keeper and its guard are gone"
_UNANSWERED = "its keeper and its guard did not answer, so both were ended"
# How long a directory without a record may take to get one (a keeper that is just being born, on a busy machine); and
# one from before this machine's boot, which only another machine that shares the home can still be at work on.
BIRTH = 60.0
BIRTH_ELSEWHERE = 10.0
# How long the guard may take to end the tree before a finder helps.
GUARD_PATIENCE = 5.0
_ROUNDS = 50
# One scan of /proc proves nothing: a process that forks and exits while it is made slips through (a daemon being born).
_CLEAN = 3
_PAUSE = 0.02


def has_ended(place: JobDir) -> bool:
    """Return whether a job has ended, by its last record; an end that its keeper has not written is none."""
    return is_end(place, reader.last_event(place.events))


def is_end(place: JobDir, last: ev.Event | None) -> bool:
    """Return whether this last event of a job says that it has ended, and is to be believed."""
    return last is not None and last["type"] == ev.EXITED and not is_untrue_end(place)


def is_untrue_end(place: JobDir) -> bool:
    """Return whether an end on record is another's word than the keeper's: a job can write to its own log.

    A keeper records the end when nothing is left below it. While it holds the log and has children, the job runs.
    """
    if not claim.is_claimed(place.events):  # nearly every job that has ended: this has to be cheap
        return False
    job = records.job(place)
    keeper = process_named(keeper_of(job), "pid", "start")
    if keeper is None or sight_of(job).kind != vantage.HERE or not identity.is_alive(keeper.pid, keeper.start):
        return False
    from unhang.procs.tree import children

    try:
        found = [identity.find(pid) for pid in children(keeper.pid)]
    except OSError:
        return False
    return any(process is not None and not process.is_dead for process in found)


def keeper_of(job: dict[str, Any] | None) -> dict[str, Any]:
    """Return the keeper's entry of a job's record; empty where there is none that makes sense."""
    keeper = (job or {}).get("keeper")
    return keeper if isinstance(keeper, dict) else {}


def sight_of(job: dict[str, Any] | None) -> vantage.Sight:
    """Return whether the keeper of this record can be judged from here."""
    return vantage.sight(keeper_of(job), vantage.here())


def whereabouts(place: JobDir, job: dict[str, Any] | None = None) -> str:
    """Return where a job runs that has not ended and cannot be judged from here; "": here.

    `job`: its record, if known.
    """
    job = job or records.job(place)
    if job is None:
        return ""
    sight = sight_of(job)
    if sight.kind == vantage.EARLIER_BOOT and claim.is_claimed(place.events):
        return f"another machine of this name (its log is in use, but not by this boot of {vantage.here().host})"
    if sight.kind == vantage.HERE and _is_hidden(place, job):
        return f"host {vantage.here().host}, where /proc hides its keeper from this process"
    return sight.where if sight.kind == vantage.ELSEWHERE else ""


def process_named(keeper: dict[str, Any], pid: str, start: str) -> ProcessInfo | None:
    """Return the keeper or its guard, as the record names it; None where it does not."""
    number, since = keeper.get(pid), keeper.get(start)
    if not isinstance(number, int) or isinstance(number, bool) or number <= 0 or not isinstance(since, str):
        return None
    return ProcessInfo(number, since, 0, "", "")


def keeper_lives(job: dict[str, Any]) -> bool:
    """Return whether a keeper lives, by pid and start time: only for a record whose keeper can be seen from here."""
    process = process_named(keeper_of(job), "pid", "start")
    return process is not None and identity.is_alive(process.pid, process.start)


def _is_hidden(place: JobDir, job: dict[str, Any]) -> bool:
    """Is there a keeper that /proc does not show to this process (hidepid, and fewer rights than the keeper has)?"""
    process = process_named(keeper_of(job), "pid", "start")
    if process is None or identity.find(process.pid) is not None:
        return False
    try:
        os.kill(process.pid, 0)
    except (ProcessLookupError, OverflowError):  # a record may hold any number
        return False
    except OSError:
        pass  # a process that must not be signalled is one
    return claim.is_claimed(place.events)  # else a stranger has its pid by now


def settle(place: JobDir, *, birth: float = BIRTH, how: str = _GONE) -> bool:
    """Make the record true. True: the job has ended (now or before); False: it runs, here or elsewhere.

    `birth`: how long a job without a record may still get one; 0 for a caller who knows that no keeper works on it.
    `how`: what is recorded of a job that has lost its keeper.
    Raises Busy where the end has to be recorded and another process holds the log.
    """
    if has_ended(place):
        return True
    job = records.job(place)
    if job is None:
        return _settle_unborn(place, birth)
    sight = sight_of(job)
    if sight.kind == vantage.ELSEWHERE:
        return has_ended(place)
    if sight.kind == vantage.EARLIER_BOOT:
        if claim.is_claimed(place.events):  # by a living process, which only a machine of the same name can have
            return has_ended(place)
        return _record_loss(place, MACHINE_WENT_DOWN, cut=True)
    guard = process_named(keeper_of(job), "guard", "guardStart")
    if keeper_lives(job) or _is_hidden(place, job):
        _wake(guard)
        return has_ended(place)
    # A guard ends everything before it claims the log. What is claimed by now is written soon, or by a keeper that
    # lives, and whose job has forged its record.
    waits = guard is not None and identity.is_alive(guard.pid, guard.start) and not claim.is_claimed(place.events)
    if guard is not None and waits and wait_until_dead(guard.pid) and has_ended(place):
        return True
    return _recover(place, keeper_of(job), how)


def _wake(guard: ProcessInfo | None) -> None:
    """A guard that is stopped guards nothing; a job can stop it, and then its keeper."""
    found = None if guard is None else identity.find(guard.pid)
    if guard is not None and found is not None and found.start == guard.start and found.state == "T":
        _signal(guard, signal.SIGCONT)


def wait_until_dead(pid: int) -> bool:
    """Wait for the end of a process, for some seconds; return whether it has come."""
    from unhang.procs.wakeup import Wakeup

    with Wakeup() as wakeup:
        return not wakeup.add_process(pid) or wakeup.wait(GUARD_PATIENCE)


def _record_loss(place: JobDir, how: str, *, cut: bool = False) -> bool:
    record_loss(place, [], how=how, stamp=clock.now, cut=cut)
    return True


def _settle_unborn(place: JobDir, birth: float) -> bool:
    """There is no record of the job, or a broken one."""
    try:
        made = os.stat(place.path).st_mtime
    except FileNotFoundError:
        return True
    if claim.is_claimed(place.events):
        return False
    now = clock.wall()
    if now - made >= min(birth, BIRTH_ELSEWHERE) > 0:
        now = _time_of_files(place, now)
    before_boot = made < now - clock.monotonic()
    if now - made < (min(birth, BIRTH_ELSEWHERE) if before_boot else birth):
        return False
    if before_boot:
        return _record_loss(place, MACHINE_WENT_DOWN, cut=True)
    started = any(event["type"] == ev.STARTED for event in reader.read_all(place.events))
    return _record_loss(place, "its record is gone" if started else "it was never started")


def _time_of_files(place: JobDir, otherwise: float) -> float:
    """Now, by the clock that stamps the files of this home; that of a file server may differ from this process's."""
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=place.home) as file:
            return os.fstat(file.fileno()).st_mtime
    except OSError:  # a full disk, a home that may only be read
        return otherwise


def _recover(place: JobDir, keeper: dict[str, Any], how: str) -> bool:
    tag = keeper.get("tag")
    leader = next((e.get("pid") for e in reader.read_all(place.events) if e["type"] == ev.STARTED), None)
    # with a terminal the keeper itself began the session, so that Ctrl-Z means something there
    sessions = frozenset(pid for pid in (leader, keeper.get("pid")) if isinstance(pid, int))
    marks = markers.Marks(place.id, tag if isinstance(tag, int) and tag > 0 else None, sessions)
    record_loss(place, [], how=how, stamp=clock.now, sweep=lambda: sweep(marks))
    _settle_nested(place)
    return True


def _settle_nested(place: JobDir) -> None:
    """Jobs started inside it end with it, as their own records say; their keepers no longer carry its tag."""
    for job_id in find.all_ids(place.home):
        inner = JobDir(place.home, job_id)
        job = records.job(inner)
        keeper = keeper_of(job)
        if place.id not in str(keeper.get("parents", "")).split(":") or has_ended(inner):
            continue
        try:
            if sight_of(job).kind == vantage.HERE:
                _kill(keeper)
            settle(inner)
        except (UnhangError, OSError):
            continue  # reported when that job is asked for


def _kill(keeper: dict[str, Any]) -> None:
    """The guard first, so that it does not do the work of the process that is about to do it."""
    for names in (("guard", "guardStart"), ("pid", "start")):
        process = process_named(keeper, *names)
        if process is not None:
            _signal(process, signal.SIGKILL)
            wait_until_dead(process.pid)


def _signal(process: ProcessInfo, number: int) -> bool:
    from unhang.procs.tree import signal_one

    try:
        return signal_one(process, (number,), direct=False)
    except OSError:
        return False


def stop_keeper(place: JobDir) -> bool:
    """Ask a keeper without a socket (no room for one) to cancel, by SIGTERM. False: there is no keeper."""
    job = records.job(place)
    process = process_named(keeper_of(job), "pid", "start")
    return process is not None and sight_of(job).kind == vantage.HERE and _signal(process, signal.SIGTERM)


def end_without_keeper(place: JobDir) -> bool:
    """End a job whose keeper does not answer: by its guard, else by our own hand. True: it has ended.

    Raises ControlError where that cannot be done from here.
    """
    if has_ended(place):
        return True
    where = whereabouts(place)
    if where:
        raise ControlError(f"job {place.id} runs elsewhere and does not answer ({where}): end it there")
    keeper = keeper_of(records.job(place))
    guard = process_named(keeper, "guard", "guardStart")
    # a guard that is stopped itself hears the request when it goes on
    if (
        guard is not None
        and _signal(guard, signal.SIGUSR1)
        and _signal(guard, signal.SIGCONT)
        and wait_until_dead(guard.pid)
    ):
        return settle(place)
    _kill(keeper)
    return settle(place, birth=0, how=_UNANSWERED)


def give_up(place: JobDir, where: str) -> bool:
    """Record the loss of a job elsewhere whose log no process claims, by a person's own order. False: one does.

    Nothing is signalled. A container that was removed leaves such jobs behind, and no other process can settle them.
    """
    if claim.is_claimed(place.events):
        return False
    how = f"it ran elsewhere ({where}), does not answer, and was given up by request"
    record_loss(place, [], how=how, stamp=clock.now, looked=False)
    return True


def sweep(marks: markers.Marks) -> tuple[list[int], list[int]]:
    """End everything that is proved to be of a job which has no keeper any more: (ended, survived)."""
    from unhang.procs.tree import signal_one
    from unhang.procs.wakeup import Wakeup

    ended: dict[int, None] = {}
    clean = 0
    for _ in range(_ROUNDS):
        found = markers.find(marks)
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
                except OSError:  # another user's, or nothing to reach it by: it is found again, or survives
                    continue
            wakeup.wait(_PAUSE)
    return list(ended), [process.pid for process in markers.find(marks)]
