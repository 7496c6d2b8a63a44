"""Whether a job that ended badly in the background was looked at: an empty file `seen` in its directory.

Such a job needs a person until its end was shown to one, or to the agent that started it, and for a day at most.
Who ran a job in the foreground was told of its end there.
"""

from __future__ import annotations

import os

from unhang.core import values
from unhang.core.attention import unseen_end
from unhang.errors import StateError
from unhang.procs import clock
from unhang.store import files, records
from unhang.store.reader import last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.attention import Attention
    from unhang.store.index import Row
    from unhang.store.layout import JobDir

LONGEST = 86400.0
_BAD = ("error", "timeout")


def note(place: JobDir, status: str, ended: str | None) -> None:
    """Note that its end was shown. Where nothing can be written, it is shown again."""
    if not awaits_look(place, status, ended):
        return
    try:
        os.close(files.open_plain(place.seen, os.O_WRONLY | os.O_CREAT))
    except (OSError, StateError):
        return


def may_need_a_look(place: JobDir, row: Row) -> bool:
    """Return whether a job of a list ended badly in the background and was not looked at."""
    return awaits_look(place, row.status, row.ended) and not (records.job(place) or {}).get("foreground", True)


def find_unseen_end(place: JobDir, status: str, ended: str | None) -> Attention | None:
    """Return what there is to look at of a job that has ended; None: nothing, or it was looked at."""
    if not awaits_look(place, status, ended):
        return None
    return unseen_end(last_event(place.events) or {}, records.job(place) or {}, place.id)


def awaits_look(place: JobDir, status: str, ended: str | None) -> bool:
    """Return whether a bad end is younger than a day and was not looked at. It costs no more than one stat."""
    at = values.moment(ended)
    return status in _BAD and at is not None and clock.wall() - at < LONGEST and not os.path.lexists(place.seen)
