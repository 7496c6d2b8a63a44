"""What a job has said so far, brought to the disk: at once where it was promised, else some seconds later.

A power cut takes what the kernel has not written yet. What must not be taken (events.is_promise) is synced before the
keeper goes on. Everything else, output above all, is synced by a thread of its own at most `LATER` after it was
written: a sync of a flood takes long, and of a disk that hangs for ever, and the keeper has a clock to watch.
"""

from __future__ import annotations

import _thread
import os

from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.store.layout import JobDir

LATER = 3.0


class Durability:
    """Knows what of one job is not on the disk yet, and brings it there."""

    def __init__(self, place: JobDir) -> None:
        self._place = place
        self._named = False  # are the record and the names of the files on the disk too?
        self._events_since: float | None = None  # when the first of what is not on the disk was written
        self._output_since: float | None = None
        self._output_named = False
        self._syncing = False

    def wrote_event(self, now: float) -> None:
        """Request a sync of the events that may be delayed."""
        if self._events_since is None:
            self._events_since = now

    def wrote_output(self, now: float) -> None:
        """Request a sync of the output that may be delayed."""
        if self._output_since is None:
            self._output_since = now

    def due(self) -> float | None:
        """Return when the next sync is to begin; None: all is on the disk."""
        waiting = [since for since in (self._events_since, self._output_since) if since is not None]
        return min(waiting) + LATER if waiting else None

    def now(self, sync_log: Callable[[], None]) -> None:
        """Sync the events; the first time also the record and the directories, up to the state directory."""
        sync_log()
        self._events_since = None
        self.sync_names()

    def sync_names(self) -> None:
        """Sync the record and the directories, up to the state directory, unless that was done before."""
        if not self._named:
            sync_record(self._place)
            sync_parents(self._place)
            self._named = True

    def later(self, sync_output: list[Callable[[], None]], now: float) -> None:
        """Sync the events and the output in a thread; one sync at a time."""
        if self._syncing:  # a slow disk: try again when it has got on
            self._events_since = self._output_since = now
            return
        self._events_since = self._output_since = None
        self._syncing = True
        try:
            _thread.start_new_thread(self._sync, (sync_output,))
        except RuntimeError:  # no more threads for this user
            self._sync(sync_output)

    def _sync(self, sync_output: list[Callable[[], None]]) -> None:
        files.sync_path(self._place.events)
        self.sync_names()
        self.sync_output(sync_output)
        self._syncing = False

    def sync_output(self, sync_output: list[Callable[[], None]]) -> None:
        """Sync what was printed; the first time also the names of its files, which are younger than the record's."""
        for sync in sync_output:
            sync()
        if sync_output and not self._output_named:
            files.sync_path(self._place.path)
            self._output_named = True


def sync_record(place: JobDir) -> None:
    """Sync the record of a job and the names of its files."""
    for path in (place.job, place.path):
        files.sync_path(path)


def sync_parents(place: JobDir) -> None:
    """Sync the name of the job's directory, and those above it up to the state directory."""
    files.sync_path(f"{place.path}/..")
    if _may_be_new(place.home):  # its names were made by the first job, as a rule: a sync less for all others
        files.sync_path(place.home)


def _may_be_new(folder: str) -> bool:
    try:
        return files.may_be_unwritten(os.stat(folder))
    except OSError:
        return True
