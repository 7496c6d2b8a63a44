"""From a finding to the whole diagnosis: the evidence, and one line for each process.

A rule finds something in types: a row of `causes`, a wait, a lock. Here these become the JSON that programs read and
the sentences that people read; nothing reads the sentences back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from unhang.core.diagnosis import causes, time_left
from unhang.core.diagnosis.activity import Activity
from unhang.core.diagnosis.causes import Cause
from unhang.core.diagnosis.samples import Lock, Socket
from unhang.core.diagnosis.verdict import Diagnosis, ProcessLine
from unhang.core.diagnosis.waits import NEVER, SampleView, Wait
from unhang.core.plain_text import visible

if TYPE_CHECKING:
    from unhang.core.diagnosis.standstill import Blocked

MOST_LINES = 200
MOST_COMMAND = 200
_NO_EVIDENCE: dict[str, Any] = {}


class Finding(NamedTuple):
    """What a rule has found: the verdict, and the things that it rests on."""

    state: str
    cause: Cause
    reason: str  # for people
    pid: int | None = None  # the process that the reason speaks of
    wait: Wait | None = None  # what that process waits for
    lock: Lock | None = None  # the file lock that it wants
    repeats: bool = False  # another run would certainly meet the same
    evidence: dict[str, Any] = _NO_EVIDENCE  # what only this rule knows


def finish(finding: Finding, view: SampleView, activity: Activity, blocked: list[Blocked]) -> Diagnosis:
    """Return the diagnosis that a finding becomes."""
    lines = _lines(view, activity, blocked)
    evidence = _evidence(finding, view, activity)
    asleep = [each.thread.asleep for each in blocked]
    if asleep and None not in asleep:
        evidence["stillForMs"] = round(1000 * min(each for each in asleep if each is not None))
    whole = Diagnosis(finding.state, finding.cause.name, visible(finding.reason), evidence, lines)
    return whole if len(lines) <= MOST_LINES else whole._replace(processes=sorted(whole.telling_first()[:MOST_LINES]))


def _evidence(finding: Finding, view: SampleView, activity: Activity) -> dict[str, Any]:
    sample = view.sample
    evidence: dict[str, Any] = {
        "seconds": round(activity.seconds, 2),
        "processes": len(sample.processes),
        "cpuPercent": round(100 * activity.cpu, 1),
        "ioBytesPerSecond": round(activity.io),
        "netBytesPerSecond": round(activity.net),
        "wakeupsPerSecond": round(activity.wakeups, 1),
    }
    if activity.printed is not None:
        evidence["printedBytesPerSecond"] = round(activity.printed)
    if activity.started:
        evidence["started"] = list(activity.started[:10])
    if activity.ended:
        evidence["ended"] = list(activity.ended[:10])
    evidence |= _found(finding) | finding.evidence
    if sample.terminal is not None:
        evidence["terminal"] = {"echo": sample.terminal.echo, "canonical": sample.terminal.canonical}
    hidden = sorted(pid for pid, process in sample.processes.items() if process.hidden)
    if hidden:
        evidence["hidden"] = hidden
    if sample.notes:
        evidence["notes"] = [visible(note) for note in sample.notes]
    return evidence


def _found(finding: Finding) -> dict[str, Any]:
    """The fields of a finding that suggestions and other programs read."""
    found: dict[str, Any] = {}
    if finding.pid is not None:
        found["pid"] = finding.pid
    ends = None if finding.wait is None else finding.wait.ends
    # of what ends by itself only: the pause of a loop that polls tells no reader anything
    if ends is not None and ends <= NEVER and finding.cause in (causes.TIMER, causes.NETWORK):
        found[time_left.FIELD] = time_left.in_ms(ends)
    if finding.wait is not None and finding.wait.channel:
        found["channel"] = finding.wait.channel
    if finding.wait is not None and finding.wait.socket is not None:
        found["socket"] = _socket(finding.wait.socket)
    if finding.lock is not None:
        lock = finding.lock
        found["lock"] = {"kind": lock.kind, "path": lock.path, "holder": lock.holder, "holderComm": lock.holder_comm}
    if finding.repeats:
        found["repeats"] = True
    return found


def _socket(seen: Socket) -> dict[str, Any]:
    since = None if seen.since_receive is None else round(seen.since_receive * 1000)
    shown = {"remote": seen.remote, "state": seen.state, "received": seen.received, "sent": seen.sent}
    return shown | {"sinceReceiveMs": since}


def _lines(view: SampleView, activity: Activity, blocked: list[Blocked]) -> list[ProcessLine]:
    telling: dict[int, Blocked] = {}
    for each in blocked:
        old = telling.get(each.process.pid)
        if old is None or (not each.main, each.rank, each.thread.tid) < (
            not old.main,
            old.rank,
            old.thread.tid,
        ):
            telling[each.process.pid] = each
    lines = []
    for pid in sorted(view.sample.processes):
        process = view.sample.processes[pid]
        best = telling.get(pid)
        waits = best.wait.text if best is not None else "has ended" if process.state in "ZX" else "is not known"
        if best is not None and process.thread_count > 1:
            waits += f" ({process.thread_count} threads)"
        lines.append(
            ProcessLine(
                pid=pid,
                ppid=process.ppid,
                comm=process.comm,
                cmd=process.cmd[:MOST_COMMAND],
                state=process.state,
                cpu=100 * activity.by_pid.get(pid, 0.0),
                waits=visible(waits),
                since=best.thread.asleep if best is not None else None,
                hidden=process.hidden,
            )
        )
    return lines
