"""A session that a person sits at, as its machine publishes it: its events with masked secrets, and its row.

Such a row has the form of a job's (`rows.py`), so that the same code reads it and makes an entry of it.
"""

from __future__ import annotations

from unhang.core import mask
from unhang.core.fleet.entries import of_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.events import Event
    from unhang.core.overview import Entry

# What stays on its machine: what hooks record of the agent's environment, and what a person has typed.
_PRIVATE = ("tmux", "pane", "configDir", "draft", "prompt")
_AS_IN_ENTRY = (
    *("name", "status", "phase", "command", "cwd", "kind", "labels", "startedAt", "endedAt", "exitCode", "signal"),
    *("ranMs", "cause", "where", "ports", "seq"),
)


def published_event(event: Event) -> Event:
    """Return an event of a session as it is published: without what is private, and with masked secrets."""
    kept = {name: value for name, value in event.items() if name not in _PRIVATE}
    return {name: value if name in ("seq", "ts", "v") else mask.within(value, name) for name, value in kept.items()}


def session_row(entry: Entry) -> dict[str, Any]:
    """Return the row of a session, from its entry on its own machine. Its pane cannot be gone to from another one."""
    needs = entry["attention"] and entry["attention"] | {"command": ""}
    row = {"jobId": entry["id"], "createdAt": entry["startedAt"], "why": "", "needs": needs, "endsAt": None}
    return row | {name: entry[name] for name in _AS_IN_ENTRY} | {"entry": of_entry(entry | {"attention": needs})}
