"""All jobs and sessions of a home as one list: what each one does, what it waits for, what ends it and when.

Every surface that shows several jobs (`unhang web`, `unhang top`, the line in tmux) draws these entries and nothing
else, so that they cannot disagree. An entry is a JSON object whose times are RFC 3339 or milliseconds since 1970; it
holds no number that changes by itself, so a surface lets its clocks run on without asking again. docs/web.md lists
the fields.
"""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import mask, plain_text, values, wording
from unhang.core.attention import KINDS, STUCK, WARNING, Attention, attention_of, unseen_end
from unhang.core.record import Record
from unhang.core.spec import PIPE, command_line, name_of
from unhang.core.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from unhang.core.policy.learn import Profile

    Entry = dict[str, Any]

# The output of so many steps of so many seconds is shown as a small picture beside each job.
SPARK_STEPS, SPARK_SECONDS = 40, 3
# Two times that are no further apart are one time, measured twice.
SAME_MS = 1500
# What is said of a job in one line.
LINE = 240
# After what needs a person: what runs, what waits to run, what is not known, what has ended badly, and well.
_RUNS, _WAITS, _UNKNOWN, _BAD, _WELL = (len(KINDS) + more for more in range(5))
# `queued`: a job of the fleet that no machine has taken yet; `unknown`: one that had not ended when its machine was
# seen last.
GROUPS = ("attention", "running", "queued", "unknown", "failed", "done")
# The kind of an entry that is no job.
SESSION = "session"
# After these of an agent no call of a tool is open.
_TURN_OVER = ev.agent_phases(ev.ENDS, ev.RESTS)
_MOST_CALLS = 50


class Usage(Record):
    """What the processes of a job use at one moment. `cpu_ms` is what they have used in all.

    `start`: when the process above them began, as the kernel says it, if that one lives; "": it does not, or it
    was not looked at.
    """

    cpu_ms: int
    memory: int
    processes: int
    start: str = ""


class Pulse:
    """What the events of one job say beyond its view: the output of the last minutes, and the open tool calls."""

    def __init__(self) -> None:
        self._steps: dict[int, int] = {}
        self.calls: dict[str, dict[str, Any]] = {}
        self.usage: dict[str, Any] | None = None
        self.thread: str | None = None
        self.stopping = False
        self.idle_ends: float | None = None  # as it was announced after the last sign of life
        self.hard_ends: float | None = None  # as it was announced in this attempt

    def apply(self, event: ev.Event) -> None:
        """Take one more event into account."""
        kind = event.get("type")
        if kind == ev.OUTPUT:
            self._printed(values.moment(event.get("ts")), event.get("bytes") or 0)
        if kind in (ev.HEARTBEAT, ev.AGENT, ev.STARTED) or (kind == ev.OUTPUT and event.get("alive", True)):
            self.idle_ends = None
        if kind == ev.STARTED:
            self.calls.clear()
            self.stopping, self.hard_ends = False, None
        elif kind == ev.SIGNAL:
            self.stopping = True
        elif kind == ev.AGENT:
            self._agent(event)
        elif kind == ev.WATCHDOG:
            self._deadline(event)

    def _printed(self, at: float | None, count: int) -> None:
        if at is None:
            return
        step = int(at // SPARK_SECONDS)
        self._steps[step] = self._steps.get(step, 0) + count
        if len(self._steps) > 2 * SPARK_STEPS:
            newest = max(self._steps)
            self._steps = {at: n for at, n in self._steps.items() if at > newest - SPARK_STEPS}

    def _deadline(self, event: ev.Event) -> None:
        if event.get("phase") == "resumed":  # also by an answer, which no output need follow
            self.idle_ends = None
        left, at = values.number(event.get("willAbortInMs")), values.moment(event.get("ts"))
        if left is None or at is None:
            return
        if event.get("tier") == "idle" or event.get("idleMs") is not None:
            self.idle_ends = at + left / 1000
        elif event.get("tier") == "hard" or event.get("wallClockMs") is not None:
            self.hard_ends = at + left / 1000

    def _agent(self, event: ev.Event) -> None:
        self.thread = values.text(event.get("threadId")) or values.text(event.get("sessionId")) or self.thread
        if event.get("phase") == "metering":
            self.usage = {
                name: event[name]
                for name in (
                    "contextTokens",
                    "contextWindow",
                    "occupancy",
                    "totalTokens",
                    "inputTokens",
                    "outputTokens",
                )
                if values.number(event.get(name)) is not None
            } or self.usage
        if event.get("phase") in _TURN_OVER:
            self.calls.clear()
        call = ev.call_of(event)
        if call is None:
            return
        if call in self.calls:  # the second event of a call is its end
            del self.calls[call]
        elif event.get("phase") in ev.AT_WORK and len(self.calls) < _MOST_CALLS:
            self.calls[call] = {"what": mask.one_line(str(event.get("message", "")), LINE), "since": event.get("ts")}

    def spark(self) -> dict[str, Any] | None:
        """Return the bytes of each step up to the last that had some; `endMs` is the end of that step."""
        if not self._steps:
            return None
        newest = max(self._steps)
        counts = [self._steps.get(step, 0) for step in range(newest - SPARK_STEPS + 1, newest + 1)]
        first = next(i for i, n in enumerate(counts) if n)
        return {"endMs": (newest + 1) * SPARK_SECONDS * 1000, "stepMs": SPARK_SECONDS * 1000, "bytes": counts[first:]}


def clocks_of(view: View, pulse: Pulse) -> list[dict[str, Any]]:
    """Return the limits that run now: since when each counts, and when it ends the job if nothing happens before.

    The nearest end comes first. A limit that is off has no clock, nor has a job that is being ended.
    """
    if view.ended or pulse.stopping or view.started_at is None:
        return []
    found: list[dict[str, Any]] = []
    for name, since in (("idle", view.last_activity_at), ("hard", view.attempt_at or view.started_at)):
        limit = view.limits.get(f"{name}Ms") or {}
        length, begin = values.number(limit.get("value")), values.moment(since)
        if length is None or begin is None:
            continue
        ends = begin + length / 1000
        announced = pulse.idle_ends if name == "idle" else pulse.hard_ends
        if announced is not None:
            ends = max(begin, announced)
        clock = {"name": name, "sinceMs": _ms(begin), "endsMs": _ms(ends), "limitMs": length}
        found.append(clock | {"source": limit.get("source")})
    return sorted(found, key=lambda clock: float(clock["endsMs"]))


def clocks_told(clocks: list[dict[str, Any]], ends_ms: float | None, name: str) -> list[dict[str, Any]]:
    """Return the clocks as a keeper knows them: `name` is the nearest limit, and ends the job at `ends_ms`.

    None: no limit runs now. A second more or less than what the events say is no difference.
    """
    if ends_ms is None:
        return []
    nearest = [clock for clock in clocks if clock["name"] == name]
    others = [clock for clock in clocks if clock["name"] != name and clock["endsMs"] >= ends_ms]
    for clock in nearest:
        if abs(clock["endsMs"] - ends_ms) <= SAME_MS:
            return clocks
    return [clock | {"endsMs": max(clock["sinceMs"], round(ends_ms))} for clock in nearest] + others


def entry_of(
    job_id: str,
    record: dict[str, Any],
    view: View,
    pulse: Pulse,
    *,
    command: str,
    where: str = "",
    profile: Profile | None = None,
    unseen: bool = False,
) -> Entry:
    """Return the entry of one job. `record`: its job.json. `command`: as `shown_command` of it says.

    `where`: where it runs, if it cannot be judged from here.
    `unseen`: it has ended, and its end may still have to be looked at.
    """
    name = name_of(record.get("labels")) or None
    found = None if where else attention_of(view, record, name or job_id)
    if unseen and view.outcome is not None:
        found = unseen_end(view.outcome, record, job_id)
    outcome = view.outcome or {}
    entry: Entry = {
        "id": job_id,
        "kind": record.get("kind") or "command",
        "name": name,
        "command": command,
        "cwd": record.get("cwd") or "",
        "labels": record.get("labels") or {},
        "status": view.status,
        **view.summary(),
        "attempt": view.attempt,
        "exitCode": values.integer(outcome.get("exitCode")),
        "signal": outcome.get("signal"),
        "durationMs": values.number(outcome.get("durationMs")),
        "ranMs": ran_ms(outcome),
        "attention": None if found is None else found.to_json(),
        "needsInput": view.needs_input,
        "doing": _doing(view, pulse),
        "wakesMs": _wakes(view, pulse, found),
        "cause": (view.diagnosis or {}).get("cause"),
        "clocks": [] if where else clocks_of(view, pulse),
        "usualMs": None if profile is None or not profile.median else round(profile.median * 1000),
        "bytes": dict(view.bytes),
        "spark": pulse.spark(),
        "answerable": bool(record.get("pty") or record.get("stdin") == PIPE),
        "agent": _agent_of(record, view, pulse),
        "usage": None,
        "ports": [],
        "where": where or None,
    }
    if where:
        entry["phase"] = "elsewhere"
    return with_place(entry, found.kind if found else None, found.since if found else "")


def shown_command(record: dict[str, Any]) -> str:
    """Return what a job runs, in one line and without its secrets. It stays the same, so it is made once."""
    return plain_text.one_line(command_line(record), LINE)


def unreadable_entry(job_id: str, why: str) -> Entry:
    """Return the entry of a job or session whose records cannot be read."""
    entry = entry_of(job_id, {}, View(), Pulse(), command="?")
    return with_place(entry | {"status": "error", "phase": "unreadable", "doing": why}, None, "")


def session_entry(session: str, state: dict[str, Any]) -> Entry:
    """Return the entry of one session, from what `session_view` says of it, with the same fields as a job's."""
    needs = state["attention"]
    entry: Entry = {
        "id": session,
        "kind": SESSION,
        "name": None,
        "command": plain_text.one_line(f"claude: {state['title']}", LINE),
        "cwd": state["cwd"] or "",
        "labels": {},
        "status": "running" if state["endedAt"] is None else "success",
        "phase": state["phase"],
        "pid": state["pid"],
        "startedAt": state["startedAt"],
        "lastActivityAt": state["lastActivityAt"],
        "endedAt": state["endedAt"],
        "seq": state["seq"],
        "attempt": 1,
        "exitCode": None,
        "signal": None,
        "durationMs": None,
        "ranMs": _between(state["startedAt"], state["endedAt"]),
        "attention": needs,
        "needsInput": None,
        "doing": state["doing"],
        "wakesMs": None,
        "cause": None,
        "clocks": [],
        "usualMs": None,
        "bytes": {},
        "spark": None,
        "answerable": False,
        "agent": {"name": "claude", "phase": state["phase"], "task": state["title"], "calls": state["calls"]},
        "usage": None,
        "ports": [],
        "where": None,
    }
    return with_place(entry, None if needs is None else needs["kind"], "" if needs is None else needs["since"] or "")


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Return what needs a person first (the longest wait of each kind first), then what runs, then what has ended."""
    return sorted(entries, key=lambda entry: (*entry["order"], entry["id"]))


def counts(entries: Iterable[Entry]) -> dict[str, int]:
    """Return how many need a person, run, are stuck, have ended badly, and have ended well; the first are counted
    twice.
    """
    found = {"attention": 0, "running": 0, "stuck": 0, "failed": 0, "done": 0}
    for entry in entries:
        count_in(found, entry)
    return found


def count_in(found: dict[str, int], entry: Entry, by: int = 1) -> None:
    """Count one more entry; `by` = -1: one less."""
    needs = entry["attention"]
    found["attention"] += by * (needs is not None)
    found["stuck"] += by * (needs is not None and needs["kind"] == "stuck")
    runs = entry["status"] == "running"
    found["running"] += by * runs
    found["failed"] += by * (not runs and entry["status"] not in ("unknown", "queued") and not _is_well(entry))
    found["done"] += by * _is_well(entry)


def usage_json(before: Usage | None, after: Usage, seconds: float) -> dict[str, Any]:
    """Return what a job uses, as an entry shows it.

    `cpuPercent` (of one core) needs two looks, so many seconds apart.
    """
    percent = None
    if before is not None and seconds > 0:
        percent = round(max(0, after.cpu_ms - before.cpu_ms) / (10 * seconds))
    return {"cpuPercent": percent, "memoryBytes": after.memory, "processes": after.processes}


def with_place(entry: Entry, kind: str | None, since: str) -> Entry:
    """Return the entry with its group, the numbers to sort by and its state in words.

    `kind`, `since`: what it needs a person for, if so.
    """
    entry["group"], entry["order"] = _place(entry, kind, since)
    entry["state"] = wording.state(
        entry["status"],
        entry["phase"],
        needs=kind,
        exit_code=entry["exitCode"],
        signal=entry["signal"],
        cause=entry["cause"],
    )
    return entry


def ran_ms(outcome: dict[str, Any]) -> float | None:
    """Return how long a job ran that has ended, all attempts together, from its last event; None: it is not known."""
    total = values.number(outcome.get("totalMs"))
    return values.number(outcome.get("durationMs")) if total is None else total


def _between(begin: str | None, end: str | None) -> int | None:
    since, until = values.moment(begin), values.moment(end)
    return None if since is None or until is None else _ms(max(0.0, until - since))


def _place(entry: Entry, kind: str | None, since: str) -> tuple[str, list[float]]:
    if kind is not None:
        return "attention", [KINDS.index(kind), values.moment(since) or 0.0]
    if entry["status"] == "queued":
        return "queued", [_WAITS, values.moment(entry["startedAt"]) or 0.0]
    if entry["endedAt"] is None and entry["status"] in ("running", "unknown"):
        known = entry["status"] == "running"
        started = -(values.moment(entry["startedAt"]) or 0.0)
        return ("running", [_RUNS, started]) if known else ("unknown", [_UNKNOWN, started])
    well = _is_well(entry)
    return "done" if well else "failed", [_WELL if well else _BAD, -(values.moment(entry["endedAt"]) or 0.0)]


def _is_well(entry: Entry) -> bool:
    return entry["status"] in ("success", "cancelled")


def _doing(view: View, pulse: Pulse) -> str:
    """What a job does or waits for now, or how it ended, in one line."""
    if view.outcome is not None:
        return mask.one_line(str(view.outcome.get("message") or ""), LINE)
    if pulse.stopping:
        return mask.one_line(str(view.last_events[-1].get("message") or ""), LINE) if view.last_events else ""
    if view.silent and view.diagnosis is not None:
        return mask.one_line(view.reason_at(None), LINE)
    if view.agent is not None:
        return mask.one_line(str(view.agent.get("message") or ""), LINE)
    return mask.one_line(view.heartbeat or "", LINE)


def _wakes(view: View, pulse: Pulse, needs: Attention | None) -> int | None:
    """When the wait ends by itself that stands in `doing`, or in what the job needs a person for."""
    says_why = view.silent and not pulse.stopping if needs is None else needs.kind in (STUCK, WARNING)
    ends = view.wakes_at if says_why else None
    return None if ends is None else _ms(ends)


def _agent_of(record: dict[str, Any], view: View, pulse: Pulse) -> dict[str, Any] | None:
    agent = record.get("agent")
    if agent is None:
        return None
    return {
        "name": agent.get("name") or "agent",
        "phase": None if view.agent is None else view.agent.get("phase"),
        "task": agent.get("task") or "",
        "thread": pulse.thread,
        "tokens": pulse.usage,
        "calls": [{"id": call, **known} for call, known in pulse.calls.items()],
    }


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
