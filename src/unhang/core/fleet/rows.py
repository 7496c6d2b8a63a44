"""The rows of a list of jobs: as a machine publishes each, and as a viewer merges them with its own.

A published row is the job as `unhang ps --json` shows it on its machine, with the time of its end instead of the time
that is left. What was published is true of a job that has ended. Of one that has not, it is true only while its
machine is there: then it is not known, and the row says `unknown`.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.fleet.messages import LARGEST
from unhang.errors import AmbiguousJob, NoSuchJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from unhang.core.fleet.presence import Machine

    Json = dict[str, Any]

UNKNOWN = "unknown"
# what a person calls the newest job
LAST = "@last"
_CUT = 1000
_FIELDS = {
    "jobId": values.text,
    "name": values.text,
    "status": values.text,
    "phase": values.text,
    "command": values.text,
    "cwd": values.text,
    "kind": values.text,
    "labels": values.table_of(values.text),
    "createdAt": values.text,
    "endedAt": values.text,
    "exitCode": values.integer,
    "signal": values.text,
    "startedAt": values.text,
    "ranMs": values.number,
    "cause": values.text,
    "where": values.text,
    "why": values.text,
    "needs": values.mapping,
    "endsAt": values.number,
    "ports": values.texts,
    "seq": values.whole,
    "entry": values.mapping,
}


def row_to_publish(row: Json, seq: int, now: float) -> Json:
    """Return the row to publish, from one of `unhang ps --json`. `seq`: the number of the last event it tells of."""
    left = values.number(row.get("endsInMs"))
    kept = {name: value for name, value in row.items() if name != "endsInMs"}
    if row.get("endedAt"):  # whether its end was looked at is known at home, and no event tells the others
        kept["needs"] = None
    # Whole seconds: what is left is counted by the keeper, and would otherwise differ at each look.
    return kept | {"endsAt": None if left is None else round(now + left / 1000), "seq": seq}


def row_message(row: Json) -> bytes:
    """Return a row as a message. One that no server would take, for its command or its labels, is cut to what fits."""
    data = values.dump(row, compact=True).encode()
    if len(data) <= LARGEST:
        return data
    texts = {name: value[:_CUT] for name, value in row.items() if isinstance(value, str)}
    return values.dump(row | texts | {"labels": {}, "entry": None, "ports": []}, compact=True).encode()


def read_row(data: bytes) -> Json | None:
    """Read a published row; None if it is none. Fields of other types are left out."""
    value = values.parse_object(data)
    if value is None:
        return None
    row = values.with_types(value, _FIELDS)
    return row if all(row.get(name) for name in ("jobId", "status", "phase")) else None


def row_to_show(row: Json, machine: Machine | None, name: str, now: float) -> Json:
    """Return a row as a viewer shows it; `machine`: what is known of it (None: nothing)."""
    ends = values.number(row.get("endsAt"))
    left = None if ends is None else max(0, round((ends - now) * 1000))
    made = {field: value for field, value in row.items() if field not in ("endsAt", "seq", "entry")}
    made |= {"machine": name, "endsInMs": left, "labels": row.get("labels") or {}, "ports": row.get("ports") or []}
    made |= {"needs": need_at(row.get("needs"), row, name)}
    if row["status"] != "running" or (machine is not None and machine.online):
        return made
    return row_of_silent(made, machine, name, f"it was {str(row['phase']).replace('_', ' ')}")


def row_of_silent(row: Json, machine: Machine | None, name: str, before: str) -> Json:
    """Return the row of a job whose machine is offline: `before` is all that is known of it."""
    seen = f", last seen {machine.seen}" if machine is not None and machine.seen else ""
    why = f"{name} is offline{seen}; {before}"
    return row | {"status": UNKNOWN, "phase": UNKNOWN, "why": why, "needs": None, "endsInMs": None, "ports": []}


def need_at(given: object, row: Json, machine: str) -> Json | None:
    """Return what the job of a row needs a person for, with a command that can be typed on any machine."""
    needs = values.mapping(given)
    if needs is None:
        return None
    words = str(needs.get("command") or "").split(" ", 3)
    if len(words) > 2 and words[2] in (row.get("name"), row["jobId"]):
        words[2] += f"@{machine}"
    return needs | {"command": " ".join(words)}


def found_by(rows: Mapping[tuple[str, str], Json], name: str, machine: str | None) -> tuple[str, str]:
    """Return the machine and the job that a person means: by id, name, a unique prefix of an id, or @last.

    `machine`: only there; None: anywhere. Raises NoSuchJob or AmbiguousJob. An id goes before a name: a machine calls
    its jobs as it likes, also by the id of another's.
    """
    there = {where: row for where, row in rows.items() if machine in (None, where[0])}
    place = "the fleet" if machine is None else machine
    if name == LAST:
        if not there:
            raise NoSuchJob(f"{place} has no job yet")
        return max(there, key=lambda where: str(there[where].get("createdAt") or ""))
    named = (
        [] if any(job == name for _, job in there) else [where for where in there if there[where].get("name") == name]
    )
    live = [where for where in named if there[where]["status"] == "running"]
    if named and len(live) <= 1:
        return live[0] if live else max(named, key=lambda where: str(there[where].get("createdAt") or ""))
    matches = live or [where for where in there if where[1].startswith(name)]
    if len(matches) > 1:
        shown = sorted(f"{job}@{where}" for where, job in matches)
        raise AmbiguousJob(f"{name!r} could be any of {len(matches)} jobs: {', '.join(shown[:10])}", shown)
    if not matches:
        raise NoSuchJob(f"no such job in {place}: {name}; unhang ps --fleet --all lists them")
    return matches[0]


def merge_rows(
    local: Iterable[Json], own: str, rows: Mapping[tuple[str, str], Json], machines: Mapping[str, Machine], now: float
) -> list[Json]:
    """Return the jobs of this home and of the fleet, each once, the newest first.

    `own`: what this home is called in the fleet ("": it has not joined). Of its jobs the files say more than what was
    published. `rows`: what was published, by machine and job.
    """
    found = [row | {"machine": own} for row in local]
    for (name, _), row in rows.items():
        if name != own:
            found.append(row_to_show(row, machines.get(name), name, now))
    found.sort(key=lambda row: (row["machine"], row["jobId"]))
    found.sort(key=lambda row: str(row.get("createdAt") or ""), reverse=True)
    return found
