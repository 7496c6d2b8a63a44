"""Sessions of other machines on the command line: `unhang watch --once --fleet`, `watch events SESSION@MACHINE`.

All of it is read from the server, and can be seen while their machines are offline.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from unhang.core.fleet.subjects import session_part, split_name
from unhang.core.overview_line import why_of
from unhang.core.session_events import WATCH
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.faces.cli.fleet import own_machine, with_server
from unhang.fleet.view import events_of, fleet_sessions, follow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from unhang.core.events import Event
    from unhang.core.overview import Entry
    from unhang.fleet.connection import Connection

_FIELDS = ("machine", "status", "state", "cwd", "pid", "startedAt", "lastActivityAt", "attention", "doing")


def print_sessions(home: str, *, as_json: bool) -> int:
    """Print the sessions of this home and of all machines that are not known to have ended; return 0."""
    for entry in with_server(lambda connection: fleet_sessions(connection, home)):
        if entry["endedAt"] is None:
            output.print_json(_json(entry)) if as_json else output.print_line(_line(entry))
    return 0


def _json(entry: Entry) -> dict[str, Any]:
    fields = {name: entry[name] for name in _FIELDS}
    return {"sessionId": entry["id"].partition("@")[0]} | fields | {"calls": entry["agent"]["calls"]}


def _line(entry: Entry) -> str:
    called = entry["id"].partition("@")[0][:8] + (f"@{entry['machine']}" if entry["machine"] else "")
    words = [called, entry["state"], why_of(entry, time.time()), entry["cwd"]]
    return "  ".join(word for word in words if word)


def is_own(name: str) -> str | None:
    """Return the session that is meant if it is one of this machine, for which no server is needed; None: it is not."""
    place = split_name(name)
    return place[0] if place is not None and place[1] == own_machine() else None


def print_events(args: argparse.Namespace, show: Callable[[Event], None]) -> int:
    """Print the events of a session of any machine; return 0."""
    return with_server(lambda connection: _events(connection, args, show), lasting=args.follow)


async def _events(connection: Connection, args: argparse.Namespace, show: Callable[[Event], None]) -> int:
    machine, session = _found(await connection.sessions(), args.session)
    part = session_part(session)
    if not args.follow:
        for event in _wanted(await events_of(connection, machine, part, args.after_seq), args):
            show(event)
        return 0
    output.leave_with_reader()
    async for event in follow(connection, machine, part, args.after_seq):
        for each in _wanted([event], args):
            show(each)
            sys.stdout.flush()
    return 0


def _wanted(events: Iterable[Event], args: argparse.Namespace) -> list[Event]:
    return [event for event in events if args.all or event["type"] == WATCH]


def _found(rows: dict[tuple[str, str], dict[str, Any]], name: str | None) -> tuple[str, str]:
    """The machine and the id of the session that is meant: by its id or a unique prefix; None: the newest."""
    if name is None:
        if not rows:
            raise UsageError("no session has been published yet")
        return max(rows, key=lambda where: str((rows[where].get("entry") or {}).get("lastActivityAt") or ""))
    session, machine = split_name(name) or (name, None)
    there = [where for where in rows if machine in (None, where[0])]
    found = [where for where in there if where[1] == session] or [
        where for where in there if where[1].startswith(session)
    ]
    if not found:
        raise UsageError(f"no such session in {machine or 'the fleet'}: {session!r}")
    if len(found) > 1:
        shown = sorted(f"{each}@{where}" for where, each in found)
        raise UsageError(f"several sessions begin with {session!r}: {', '.join(shown[:5])}")
    return found[0]
