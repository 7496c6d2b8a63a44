"""Whether jobs may still have news, so that a deliverer has to stay."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from unhang.jobs.listing import list_jobs, row_of
from unhang.store import find
from unhang.store.layout import JobDir
from unhang.store.reader import last_event

if TYPE_CHECKING:
    from collections.abc import Mapping

# A folder of a job has its records long before that, or never gets them.
_TO_BE_BORN = 60.0
# An end is written down, and then its mark is left: a moment lies between them, also on a starved machine.
_TO_LEAVE_A_MARK = 10.0


def may_come(home: str, read: Mapping[str, int]) -> bool:
    """Return whether a job is about to begin, runs, or has just ended and nothing was read of its end.

    `read`: how far the events of each job were read. A job begins and ends while this looks; so each one that was
    touched of late is looked at once more after the list, and as a whole: a row says at one moment whether it is
    there, and whether it has ended.
    """
    if list_jobs(home, running_only=True):
        return True
    for job_id in find.all_ids(home):
        place = JobDir(home, job_id)
        try:
            untouched = abs(time.time() - _touched(place))
            if untouched >= _TO_BE_BORN:
                continue
            row = row_of(place)
            if row is None:
                if os.path.isdir(place.path):
                    return True
            elif not row.final or (untouched < _TO_LEAVE_A_MARK and _last_seq(place) > read.get(job_id, 0)):
                return True
        except OSError:
            continue  # removed while we looked
    return False


def _touched(place: JobDir) -> float:
    """When its events were written last; of a job without any, when its folder was changed."""
    try:
        return os.stat(place.events).st_mtime
    except FileNotFoundError:
        return os.stat(place.path).st_mtime


def _last_seq(place: JobDir) -> int:
    last = last_event(place.events)
    return 0 if last is None else int(last["seq"])
