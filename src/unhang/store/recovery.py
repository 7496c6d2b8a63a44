"""The end of a job whose keeper cannot write it any more."""

from __future__ import annotations

import fcntl
import os

from unhang.core import events as ev
from unhang.core import outcome
from unhang.errors import StateError
from unhang.store import files, output, reader
from unhang.store.eventlog import EventLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.store.layout import JobDir


def repair(path: str) -> int:
    """Cut a torn last line off; the number of bytes that went with it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        size = os.fstat(fd).st_size
        whole = _end_of_whole(fd, size)
        if whole < size:
            os.ftruncate(fd, whole)
        return size - whole
    finally:
        os.close(fd)


def _end_of_whole(fd: int, size: int) -> int:
    """Where the last event ends. A line can also be whole and nonsense: a crash of the machine leaves zeros."""
    window = 4 * ev.MAX_LINE
    while True:
        start = max(0, size - window)
        tail = os.pread(fd, size - start, start)
        end = tail.rfind(b"\n") + 1
        while end:
            begin = tail.rfind(b"\n", 0, end - 1) + 1
            if begin == 0 and start > 0:
                break  # it may begin before what we have read
            if ev.from_line(tail[begin:end]) is not None:
                return start + end
            end = begin
        if start == 0:
            return 0
        window *= 4


def record_loss(
    place: JobDir,
    ended_pids: list[int],
    *,
    how: str,
    stamp: Callable[[], str],
    sweep: Callable[[], tuple[list[int], list[int]]] | None = None,
) -> bool:
    """Write the end that the keeper could not write, once, whoever finds it first. False: there is one already.

    `sweep` ends what is left (→ ended, survived), by the one who then writes it down: under the same lock.
    """
    lock = os.open(place.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _record_loss(place, ended_pids, how, stamp, sweep)
    finally:
        os.close(lock)


def _record_loss(
    place: JobDir,
    ended_pids: list[int],
    how: str,
    stamp: Callable[[], str],
    sweep: Callable[[], tuple[list[int], list[int]]] | None,
) -> bool:
    last = reader.last_event(place.events)
    if last is not None and last["type"] == ev.EXITED:
        return False
    survivors: list[int] = []
    if sweep is not None:  # before anything can be refused: what runs must end, recorded or not
        ended_pids, survivors = sweep()
    job = files.read_json(place.job)
    if job is not None:
        files.refuse_newer(job, place.job)
    torn = repair(place.events)
    events = reader.read_all(place.events)
    if events and events[-1]["type"] == ev.EXITED:
        return False
    log = EventLog(place.events, stamp, seq=events[-1]["seq"] if events else 0)
    if torn:
        log.append(ev.store(f"a torn line of {torn} bytes was cut off", bytes=torn))
    pid = next((e.get("pid") for e in events if e["type"] == ev.STARTED), None)
    what = f"; ended what was left of it ({len(ended_pids)} processes)" if ended_pids else "; nothing of it was left"
    lost = outcome.lost(f"lost: {how}{what}", None, pid, ended_pids, survivors)
    written = log.append_last(ev.exited(lost.phase, lost.message, lost.fields | {"bytes": _join_output(place)}))
    log.close()
    _forget(place)
    if written is not None:
        _write_status(place, written)
    return True


def _join_output(place: JobDir) -> dict[str, int]:
    """How much each stream is known to have printed: more than the last event may have said."""
    printed: dict[str, int] = {}
    for stream in ("stdout", "stderr"):
        try:
            parts = output.pieces(place.stream(stream))
            printed[stream] = max((part.position + part.length for part in parts), default=0)
            output.join(place.stream(stream))
        except (StateError, OSError):
            continue  # not ours, or no room: the two parts stay as they are
    return printed


def _forget(place: JobDir) -> None:
    for path in (place.control, place.notify):
        try:
            os.unlink(path)
        except OSError:
            pass


def _write_status(place: JobDir, last: ev.Event) -> None:
    old = files.read_json(place.status) or {"jobId": place.id}
    new = old | {"status": last["status"], "phase": last["phase"], "seq": last["seq"], "endedAt": last["ts"]}
    try:
        files.write_json(place.status, new)
    except OSError:
        pass  # a cache
