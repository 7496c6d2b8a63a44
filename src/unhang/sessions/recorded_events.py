"""The recorded events of a session: found by the session's id or a prefix of it, and read or followed from a cursor."""

from __future__ import annotations

import os

from unhang.core.session_events import WATCH
from unhang.errors import UnhangError, UsageError
from unhang.procs.wakeup import Wakeup
from unhang.store.session_log import SessionLog, session_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def find_session(name: str | None, home: str) -> str:
    """Return the id of the session that `name` is the id or a unique prefix of; None: the newest. Raises UsageError."""
    known = session_ids(home)
    if name is None:
        known.sort(key=lambda each: _changed(SessionLog(each, home).path))
        found = known[-1:]
    else:
        found = [each for each in known if each == name] or [each for each in known if each.startswith(name)]
    if not found:
        raise UsageError(f"no such session: {name!r}" if name else "no session has been recorded yet")
    if len(found) > 1:
        raise UsageError(f"several sessions begin with {name!r}: {', '.join(found[:5])}")
    return found[0]


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def session_events(
    session: str, home: str, *, after_seq: int = 0, hooks: bool = False, follow: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the watcher's events of a session (`hooks`: those of its hooks, too) after a cursor.

    With `follow` they come as they are recorded, without an end; UnhangError when the log has been deleted.
    """
    log = SessionLog(session, home)
    with Wakeup() as wakeup:
        if follow:
            wakeup.add_file(log.path)
        while True:
            for event in log.news():
                if event["seq"] > after_seq and (hooks or event["type"] == WATCH):
                    yield event
            if not follow:
                return
            if not os.path.exists(log.path):
                raise UnhangError("the log of this session has been deleted")
            wakeup.wait(None)
