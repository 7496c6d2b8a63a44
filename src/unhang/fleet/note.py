"""What a home knows of its fleet, in `fleet/` of the state directory:

fleet/note.json     the server's address (it may hold a password), the name of this machine, the id of this home
fleet/done.json     the jobs whose whole log is on the server, so that a publisher need not ask about each of them
fleet/publisher     held by the publisher that runs; says which process it is, and since when its server is away
fleet/try/          the server of `unhang fleet try`: its configuration and what it stores
"""

from __future__ import annotations

import os
import signal
from urllib.parse import parse_qsl, urlencode

from unhang.core import values
from unhang.core.fleet.subjects import is_machine
from unhang.core.record import Record
from unhang.errors import StateError, UsageError
from unhang.procs import identity
from unhang.procs.process_handle import ProcessHandle
from unhang.store import file_lock, files, lock_owner
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from unhang.core.fleet.presence import Machine

FOLDER, PUBLISHER, AWAY = "fleet", "publisher", "away"
VARIABLE = "UNHANG_NATS"
# What an address may name behind a question mark, and $UNHANG_NATS_CA and $UNHANG_NATS_CREDS: files.
CA, CREDENTIALS = "ca", "creds"
_PATIENCE = 20.0


class Note(Record):
    """What a home knows of its fleet; empty texts where it knows nothing."""

    server: str
    machine: str
    home_id: str


def folder(home: str) -> str:
    """Return the folder of the fleet in a home, made where it is missing."""
    for each in (home, f"{home}/{FOLDER}"):
        homes.make(each)
    return f"{home}/{FOLDER}"


def read(home: str) -> Note:
    """Return the note of a home; one that is broken is as good as none."""
    found = files.read_json(f"{home}/{FOLDER}/note.json") or {}
    machine = values.text(found.get("machine")) or ""
    return Note(
        values.text(found.get("server")) or "",
        machine if is_machine(machine) else "",
        values.text(found.get("homeId")) or "",
    )


def own_name(home: str, machines: Mapping[str, Machine]) -> str:
    """Return what this home is called among these machines; a machine of its name in another fleet is another."""
    note = read(home)
    return note.machine if note.machine in machines and machines[note.machine].home == note.home_id else ""


def write(home: str, **changes: str) -> Note:
    """Change the note; the id of a home is made with the first."""
    note = read(home).replace(**changes)
    if not note.home_id:
        note = note.replace(home_id=os.urandom(8).hex())
    value = {"server": note.server, "machine": note.machine, "homeId": note.home_id}
    files.write_json(f"{folder(home)}/note.json", value, durable=True)
    return note


def server_of(
    home: str,
    environ: Mapping[str, str],
    given: str | None = None,
    *,
    ca: str | None = None,
    credentials: str | None = None,
) -> str:
    """Return the server's address: what is given, else $UNHANG_NATS, else the note's. Raises UsageError without one.

    The files with the authority of its certificate and with our credentials are named behind a question mark.
    """
    address = given or environ.get(VARIABLE) or read(home).server
    if not address:
        raise UsageError(
            f"which fleet? unhang fleet join --nats URL, or set {VARIABLE}; to try it out: unhang fleet try"
        )
    if address.partition("://")[0] not in ("nats", "tls") or "://" not in address:
        raise UsageError("a server's address begins with nats:// or tls://, as nats://user:password@host:4222")
    servers, _, query = address.partition("?")
    files_of = dict(parse_qsl(query))
    for name, option in ((CA, ca), (CREDENTIALS, credentials)):
        chosen = option or files_of.get(name) or environ.get(f"{VARIABLE}_{name.upper()}")
        if chosen:
            files_of[name] = os.path.abspath(chosen)
    return servers + ("?" + urlencode(files_of, safe="/") if files_of else "")


def without_password(address: str) -> str:
    """Return an address as it may be shown."""
    scheme, _, rest = address.partition("?")[0].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


# --- the publisher's lock ---------------------------------------------------------------------------------------


def take_place(home: str) -> int | None:
    """Be the publisher of this home until the descriptor is closed; None: there is one."""
    return file_lock.open_locked(f"{folder(home)}/{PUBLISHER}")


def sign(fd: int, away: str = "") -> None:
    """Say which process holds the place, and since when its server is `away`."""
    data = values.dump(lock_owner.signature() | ({AWAY: away} if away else {})).encode()
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))


def leave(fd: int) -> None:
    """Say that the process which held the place has ended as it was told to; one that was killed says nothing."""
    os.ftruncate(fd, 0)


def this_process() -> dict[str, Any]:
    """Return what tells this process from every other."""
    return {"pid": os.getpid(), "start": identity.start_time(os.getpid())}


def living(said: dict[str, Any] | None) -> int | None:
    """Return the pid that `this_process` wrote down, if that very process still lives."""
    given = said or {}
    pid, start = values.pid(given.get("pid")), values.text(given.get("start"))
    return pid if pid is not None and start is not None and identity.is_alive(pid, start) else None


def holder(home: str) -> int | None:
    """Return the pid of the publisher that runs; None if none does."""
    if publisher(home) is None:
        return None  # and the place is left alone: one that begins just now finds it free
    fd = take_place(home)
    if fd is not None:
        os.close(fd)
        return None
    return publisher(home)


def publisher(home: str) -> int | None:
    """Return what `holder` returns, and leave the place alone, also where a process that has left it still ends."""
    return living(files.read_json(f"{home}/{FOLDER}/{PUBLISHER}"))


def end(find: Callable[[], int | None], what: str) -> bool:
    """End the process that `find` names and wait for its end; False: there is none. Raises StateError if it stays."""
    pid = find()
    if pid is None:
        return False
    try:
        handle = ProcessHandle(pid)
    except ProcessLookupError:
        return True
    with handle:
        # held first, then asked again: the number cannot have become another process's in between
        if find() == pid and handle.signal(signal.SIGTERM, signal.SIGCONT) and not handle.wait(_PATIENCE):
            raise StateError(f"{what} (pid {pid}) does not end")
    return True
