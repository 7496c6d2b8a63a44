"""One session that a person sits at, from its recorded events."""

from __future__ import annotations

import os

from unhang.core import plain_text, values
from unhang.core.overview import session_entry
from unhang.core.session_view import SessionView
from unhang.errors import NoSuchJob, StateError
from unhang.store import files
from unhang.store.session_log import SessionLog, is_session_id, session_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.events import Event

# Of a long stream: enough for the calls that are open and for the last hang.
_MOST = 1 << 20
_EVENTS = 200
# What a watcher saved before it did something that cannot be taken back; the name says when.
_SAVED, _SAVED_END = "saved-", ".json"
_MOST_SCREEN = 1 << 16


def session_of(home: str, session: str) -> dict[str, Any]:
    """Return the entry of a session, what the watcher saw and did (`steps`), its last events, and its screen as it was
    saved last (`saved`; None: it never was). Raises NoSuchJob.
    """
    try:
        known = is_session_id(session) and session in session_ids(home)
    except StateError:
        known = False
    if not known:
        raise NoSuchJob(f"no such session: {session[:64]}")
    log = SessionLog(session, home)
    events = list(log.news(_MOST))
    return describe_session(session, events) | {"saved": _saved(log.folder)}


def describe_session(session: str, events: list[Event]) -> dict[str, Any]:
    """Return what these events say of a session: its entry, what the watcher saw and did, and the last of them."""
    view = SessionView()
    for event in events:
        view.apply(event)
    return {"entry": session_entry(session, view.state()), "steps": view.steps, "events": events[-_EVENTS:]}


def _saved(folder: str) -> dict[str, Any] | None:
    """What was on the screen, and in the box, when the watcher saved them last."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(_SAVED) and name.endswith(_SAVED_END))
    except OSError:
        return None
    found = files.read_json(os.path.join(folder, names[-1])) if names else None
    screen = values.text((found or {}).get("screen"))
    if found is None or screen is None:
        return None
    return {
        "at": values.text(found.get("ts")),
        "screen": plain_text.harmless(screen[:_MOST_SCREEN]),
        "draft": plain_text.harmless((values.text(found.get("draft")) or "")[:_MOST_SCREEN]),
    }
