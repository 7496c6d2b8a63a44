"""One session that a person sits at, from its recorded events."""

from __future__ import annotations

from unhang.core.overview import session_entry
from unhang.core.session_view import SessionView
from unhang.errors import NoSuchJob, StateError
from unhang.store.session_log import SessionLog, is_session_id, session_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Of a long stream: enough for the calls that are open and for the last hang.
_MOST = 1 << 20
_EVENTS = 200


def session_of(home: str, session: str) -> dict[str, Any]:
    """The entry of a session, what the watcher saw and did (`steps`), and its last events. Raises NoSuchJob."""
    try:
        known = is_session_id(session) and session in session_ids(home)
    except StateError:
        known = False
    if not known:
        raise NoSuchJob(f"no such session: {session[:64]}")
    view = SessionView()
    events = list(SessionLog(session, home).news(_MOST))
    for event in events:
        view.apply(event)
    return {"entry": session_entry(session, view.state()), "steps": view.steps, "events": events[-_EVENTS:]}
