"""With which settings the running watcher runs: `watch/running.json`, for `unhang watch status`."""

from __future__ import annotations

import os

from unhang.core.values import id_of, integer_of, items_of, mapping_of, text_of
from unhang.procs import identity
from unhang.sessions.settings import WatchSettings
from unhang.sessions.state.limits import SessionLimits
from unhang.store import files
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FILE = "running.json"


def write(home: str, settings: WatchSettings, ping_trouble: str) -> None:
    """Record the settings of this process, and why it does not ping; a full disk costs only what `status` shows."""
    found: dict[str, Any] = {"pid": os.getpid(), "start": identity.start_time(os.getpid())}
    found |= {"limits": settings.limits.to_dict(), "source": settings.source}
    if settings.ping:
        found["ping"] = {"trouble": ping_trouble or None}  # not the address: it is a secret
    try:
        files.write_json(_path(home), found)
    except OSError:
        pass


def remove(home: str) -> None:
    """Remove the record, if it is this process's."""
    if integer_of(files.read_json(_path(home)), "pid") == os.getpid():
        try:
            os.unlink(_path(home))
        except OSError:
            pass


def ping_of(home: str, who: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the state of the pings of the watcher that holds the lock; None: it is to send none."""
    found = mapping_of(_read(home, who), "ping")
    return {"trouble": text_of(found, "trouble") or None} if "trouble" in found else None


def settings_of(home: str, who: dict[str, Any] | None) -> WatchSettings | None:
    """Return the settings of the watcher that holds the lock; None: not known."""
    found = _read(home, who)
    if found is None:
        return None
    limits = mapping_of(found, "limits")
    tools = tuple(
        (str(pair[0]), pair[1]) for pair in items_of(limits, "tools") if isinstance(pair, list) and len(pair) == 2
    )
    known = {name: limits[name] for name in SessionLimits().to_dict() if name in limits}
    try:
        return WatchSettings(SessionLimits(**known | {"tools": tools}), source=text_of(found, "source"))
    except TypeError:
        return None


def _read(home: str, who: dict[str, Any] | None) -> dict[str, Any] | None:
    """What the watcher that holds the lock has recorded; None: nothing."""
    found = files.read_json(_path(home))
    if who is None or found is None or integer_of(found, "pid") != who["pid"] or id_of(found, "start") != who["start"]:
        return None
    return found


def _path(home: str) -> str:
    return f"{homes.watch_folder(home)}/{_FILE}"
