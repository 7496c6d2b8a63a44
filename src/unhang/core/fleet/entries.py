"""A job of another machine as an entry of the overview (core/overview.py), so that one list shows local and fleet jobs.

A machine publishes with each row what the overview shows beyond it (`of_entry`). What is read is a stranger's word:
fields of other types are left out, and an entry always has all fields.
"""

from __future__ import annotations

from unhang.core import plain_text, values
from unhang.core.attention import KINDS
from unhang.core.fleet.rows import UNKNOWN, need_at, row_to_show
from unhang.core.overview import LINE, SESSION, SPARK_STEPS, with_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.fleet.presence import Machine
    from unhang.core.overview import Entry
    from unhang.core.values import Reading

    Json = dict[str, Any]

_CLOCK = {
    "name": values.one_of("idle", "hard"),
    "sinceMs": values.number,
    "endsMs": values.number,
    "limitMs": values.number,
    "source": values.text,
}
_AGENT = {
    "name": values.text,
    "phase": values.text,
    "task": values.text,
    "thread": values.text,
    "tokens": values.table_of(values.number),
    "calls": values.each_of(values.object_of({"id": values.text, "what": values.text, "since": values.text})),
}
# What the overview shows of a job and its row does not have; each with what it is where it was not published.
_FIELDS: dict[str, tuple[Reading, object]] = {
    "pid": (values.pid, None),
    "startedAt": (values.text, None),
    "lastActivityAt": (values.text, None),
    "seq": (values.whole, 0),
    "attempt": (values.whole, 1),
    "signal": (values.text, None),
    "durationMs": (values.number, None),
    "ranMs": (values.number, None),
    "attention": (values.mapping, None),
    "needsInput": (
        values.object_of(
            {"prompt": values.text, "since": values.text, "password": values.flag, "answers": values.text}
        ),
        None,
    ),
    "doing": (values.text, ""),
    "wakesMs": (values.number, None),
    "cause": (values.text, None),
    "clocks": (values.each_of(values.object_of(_CLOCK)), []),
    "usualMs": (values.number, None),
    "bytes": (values.table_of(values.whole), {}),
    "spark": (
        values.object_of({"endMs": values.number, "stepMs": values.number, "bytes": values.each_of(values.whole)}),
        None,
    ),
    "answerable": (values.flag, False),
    "agent": (values.object_of(_AGENT), None),
    "usage": (
        values.object_of({"cpuPercent": values.number, "memoryBytes": values.whole, "processes": values.whole}),
        None,
    ),
}
_NEEDED = {
    "clocks": tuple(_CLOCK),
    "spark": ("endMs", "stepMs", "bytes"),
    "needsInput": ("prompt",),
    "agent": ("name", "calls"),
    "usage": ("cpuPercent", "memoryBytes", "processes"),
}
_MOST_CLOCKS = 4


def of_entry(entry: Entry) -> Json:
    """Return what is published of an entry beside its row."""
    return {name: entry[name] for name in _FIELDS}


def entry_from(row: Json, name: str, machine: Machine | None, now: float) -> Entry:
    """Return the entry of a published row. `machine`: what is known of it (None: nothing)."""
    seen = row_to_show(row, machine, name, now)
    given = values.mapping(row.get("entry")) or {}
    entry: Entry = {
        "id": f"{row['jobId']}@{name}",
        "machine": name,
        "kind": row.get("kind") or "command",
        "name": plain_text.one_line(str(row.get("name") or ""), LINE) or None,
        "command": plain_text.one_line(str(row.get("command") or ""), LINE),
        "cwd": row.get("cwd") or "",
        "labels": seen["labels"],
        "status": seen["status"],
        "phase": seen["phase"],
        "endedAt": row.get("endedAt"),
        "exitCode": row.get("exitCode"),
        "ports": seen["ports"],
        "where": row.get("where"),
    }
    for field, (reading, default) in _FIELDS.items():
        entry[field] = _read(field, given.get(field), reading, default)
    entry["attention"] = _attention(need_at(entry["attention"] or row.get("needs"), row, name))
    entry["doing"] = plain_text.one_line(entry["doing"], LINE)
    if entry["kind"] == SESSION and entry["agent"] is None:
        entry["agent"] = {"name": "agent", "calls": []}  # a session always has one
    if seen["status"] == UNKNOWN:
        entry |= {"doing": seen["why"], "clocks": [], "attention": None, "needsInput": None, "usage": None}
    needs = entry["attention"]
    return with_place(entry, None if needs is None else needs["kind"], "" if needs is None else needs["since"] or "")


def queued_entry(row: Json) -> Entry:
    """Return the entry of a job of a queue that no machine has published (core/fleet/queue_rows.py).

    It is called JOB@queue.QUEUE, which is no name of a machine. `startedAt` says since when it waits.
    """
    entry: Entry = {field: default for field, (_, default) in _FIELDS.items()}
    entry |= {
        "id": queued_name(row["jobId"], row["queue"]),
        "machine": row["machine"] or None,
        **{field: row[field] for field in ("kind", "name", "cwd", "labels", "status", "phase", "endedAt", "exitCode")},
        "command": plain_text.one_line(row["command"], LINE),
        "startedAt": row["createdAt"],
        "doing": plain_text.one_line(row["why"], LINE),
        "ports": [],
        "where": None,
    }
    return with_place(entry, None, "")


def queued_name(job: str, queue: str) -> str:
    """Return what a surface calls a job of a queue that no machine has."""
    return f"{job}@queue.{queue}"


def _read(field: str, value: object, reading: Reading, default: object) -> object:
    found = None if value is None else reading(value)
    if found is None:
        return default
    needed = _NEEDED.get(field, ())
    if field == "clocks":
        return [each for each in found[:_MOST_CLOCKS] if _has(each, needed, ("source",))]
    if needed and not _has(found, needed, ("cpuPercent",)):
        return default
    if field == "spark":
        counts = found["bytes"][-SPARK_STEPS:]
        return found | {"bytes": counts} if counts and found["stepMs"] else None
    return found


def _has(value: Json, needed: tuple[str, ...], may_be_null: tuple[str, ...]) -> bool:
    return all(name in value and (value[name] is not None or name in may_be_null) for name in needed)


def _attention(needs: Json | None) -> Json | None:
    if needs is None or needs.get("kind") not in KINDS:
        return None
    texts = {name: values.text(needs.get(name)) for name in ("since", "endsAt", "answers")}
    return {
        "kind": needs["kind"],
        "why": plain_text.one_line(str(needs.get("why") or ""), LINE),
        "since": texts["since"],
        "endsAt": texts["endsAt"],
        "command": str(needs.get("command") or ""),
        "answers": texts["answers"],
    }
