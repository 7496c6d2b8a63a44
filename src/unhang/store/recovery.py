"""The end of a job whose keeper cannot write it any more."""

from __future__ import annotations

import os
import time

from unhang.core import events as ev
from unhang.core import outcome, values
from unhang.core.plural import several
from unhang.core.spec import NOTIFY
from unhang.errors import StateError
from unhang.store import alert_news, claim, files, output, reader
from unhang.store.event_log import EventLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.store.layout import JobDir

    # Ends what is left of the job, and names it: (ended, survived).
    Sweep = Callable[[], tuple[list[int], list[int]]]
    # From the events so far to those that are missing; the last of them is the end.
    Compose = Callable[[list[ev.Event]], list[ev.Event]]

# How long another process may take that is just doing the same.
PATIENCE = 2.0
_NAP = 0.02


class Busy(StateError):
    """Another process holds the log: its keeper, or one that recovers it and does not get on."""


def repair(path: str) -> int:
    """Cut a torn last line off; the number of bytes that went with it."""
    try:
        fd = files.open_plain(path, os.O_RDWR)
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
    for start, end in reader.lines_from_the_end(fd, size):
        if ev.from_line(os.pread(fd, end - start, start)) is not None:
            return end
    return 0


def record_loss(
    place: JobDir,
    ended_pids: list[int],
    *,
    how: str,
    stamp: Callable[[], str],
    sweep: Sweep | None = None,
    looked: bool = True,
    cut: bool = False,
    patience: float = PATIENCE,
) -> bool:
    """Write the end that the keeper could not write, once, whichever process finds it first. False: there is one.

    `sweep` ends what is left, in the process that then writes it down: under the same claim. `cut`: the whole machine
    went down, so the files are as its disk was then.
    """

    def compose(events: list[ev.Event]) -> list[ev.Event]:
        # before anything can be refused: what runs must end, recorded or not
        ended, survivors = (ended_pids, []) if sweep is None else sweep()
        count = several(len(ended), "process", "processes")
        what = f"; ended what was left of it ({count})" if ended else "; nothing of it was left"
        what = what if looked else "; what may be left of it was not looked for"
        lost = outcome.lost(f"lost: {how}{what}", None, _pid(events), ended, survivors)
        return [ev.exited(lost.phase, lost.message, lost.fields)]

    return record_end(place, compose, stamp=stamp, cut=cut, patience=patience)


def record_end(
    place: JobDir,
    compose: Compose,
    *,
    stamp: Callable[[], str],
    cut: bool = False,
    rest: dict[str, bytes] | None = None,
    patience: float = PATIENCE,
) -> bool:
    """Append what `compose` makes of the events so far, with the claim of the log in hand. False: there is an end.

    `rest`: last words, a stream each, that are in none of the files yet.
    Raises Busy where the claim cannot be had in time: then another process is about to write the same.
    """
    log = _claimed(place, patience)
    try:
        last = reader.last_event(place.events)
        if last is not None and last["type"] == ev.EXITED:
            return False
        _record(place, compose, stamp, cut, rest or {})
    finally:
        os.close(log)
    return True


def _claimed(place: JobDir, patience: float) -> int:
    """A descriptor that holds the claim. It has to be asked for again and again: these locks know no time-out."""
    fd = files.open_plain(place.events, os.O_RDWR | os.O_CREAT)
    deadline = time.monotonic() + patience
    while not claim.take(fd):
        if time.monotonic() >= deadline:
            os.close(fd)
            raise Busy(f"the record of job {place.id} is held by another process that does not get on with it")
        time.sleep(_NAP)
    return fd


def _record(place: JobDir, compose: Compose, stamp: Callable[[], str], cut: bool, rest: dict[str, bytes]) -> None:
    added = compose(reader.read_all(place.events))
    job = files.read_json(place.job)
    if job is not None:
        files.refuse_newer(job, place.job)
    torn = repair(place.events)
    events = reader.read_all(place.events)
    log = EventLog(place.events, stamp, seq=events[-1]["seq"] if events else 0)
    if torn:
        log.append(ev.store(f"a torn line of {several(torn, 'byte')} was cut off", bytes=torn))
    for event in added[:-1]:
        log.append(event)
    written = log.append_last(added[-1] | {"bytes": _join_output(place, cut, rest)})
    log.close()
    files.sync_path(place.path)
    _forget(place)
    if written is not None:
        _write_status(place, written)
    alert_news.tell(place.home, place.id, wanted=NOTIFY in (values.mapping((job or {}).get("labels")) or {}))


def _pid(events: list[ev.Event]) -> int | None:
    """Of the leader, as the log says."""
    return next((e.get("pid") for e in events if e["type"] == ev.STARTED), None)


def _join_output(place: JobDir, cut: bool, rest: dict[str, bytes]) -> dict[str, int]:
    """How much each stream is known to have printed: more than the last event may have said.

    `rest`: what was printed after that, and is in none of the files yet.
    """
    printed: dict[str, int] = {}
    for stream in ("stdout", "stderr"):
        try:
            printed[stream] = output.join(place.stream(stream), cut=cut)
            printed[stream] += output.append(place.stream(stream), rest.get(stream, b""))
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
