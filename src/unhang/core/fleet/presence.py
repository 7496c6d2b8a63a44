"""Who is there. A machine says so every few seconds; the server forgets what it said after a while.

Times are those of the server, so machines whose clocks are apart are judged alike.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.fleet.subjects import is_machine
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# How often a machine says that it is there, and how long the server believes it.
EVERY, BELIEVED = 5.0, 20.0
# The oldest server whose compare-and-set holds while a leader changes.
OLDEST_SERVER = (2, 11)

_FIELDS = {
    "home": values.text,
    "version": values.text,
    "load": values.number,
    "cores": values.whole,
    "jobs": values.whole,
    "behind": values.whole,
}


class Machine(Record):
    """A machine of the fleet. `seen`: the server's time of its last word; `jobs`: how many run, as it said then.

    `behind`: how many jobs and sessions had events that were not on the server yet.
    """

    name: str
    online: bool
    seen: str
    home: str = ""
    version: str = ""
    load: float | None = None
    cores: int | None = None
    jobs: int | None = None
    behind: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the machine as every face prints it."""
        return {
            "machine": self.name,
            "state": "online" if self.online else "offline",
            "lastSeen": self.seen or None,
            "version": self.version or None,
            "load": self.load,
            "cores": self.cores,
            "jobs": self.jobs,
            "behind": self.behind,
        }


def read_machine(name: str, said: bytes, seen: str, *, online: bool) -> Machine | None:
    """Read what a machine said of itself; None if this is no machine's name."""
    if not is_machine(name):
        return None
    given = values.with_types(values.parse_object(said) or {}, _FIELDS)
    fields = {field: given[field] for field in _FIELDS if given.get(field) is not None}
    return Machine(name, online, seen, **fields)


def machines_of(known: Mapping[str, tuple[bytes, str]], present: Mapping[str, tuple[bytes, str]]) -> dict[str, Machine]:
    """Return every machine by name, from what each said last and what the server still believes (text, its time)."""
    found: dict[str, Machine] = {}
    for name in sorted({*known, *present}):
        said, seen = present[name] if name in present else known[name]
        machine = read_machine(name, said, seen, online=name in present)
        if machine is not None:
            found[name] = machine
    return found


def refusal(version: tuple[int, int], jetstream: bool) -> str | None:
    """Return why a server cannot be used; None if it can."""
    if version < OLDEST_SERVER:
        found, needed = (".".join(map(str, each)) for each in (version, OLDEST_SERVER))
        return (
            f"the server is NATS {found}; the fleet needs {needed} or newer: before, two writers could both believe "
            "that their event was stored (nats-server issue 4320)"
        )
    return None if jetstream else "the server has no JetStream: start it with -js, or a jetstream block"
