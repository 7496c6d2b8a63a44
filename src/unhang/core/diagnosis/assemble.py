"""From a finding to the whole diagnosis: the evidence, and one line for each process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from unhang.core.diagnosis.activity import Activity
from unhang.core.diagnosis.samples import Process
from unhang.core.diagnosis.verdict import Diagnosis, ProcessLine
from unhang.core.diagnosis.waits import View
from unhang.core.plain_text import visible

if TYPE_CHECKING:
    from unhang.core.diagnosis.standstill import Blocked

MOST_LINES = 200
MOST_COMMAND = 200
_NO_EVIDENCE: dict[str, Any] = {}


class Finding(NamedTuple):
    state: str
    cause: str
    reason: str
    pid: int | None = None
    evidence: dict[str, Any] = _NO_EVIDENCE


def finish(finding: Finding, view: View, activity: Activity, blocked: list[Blocked]) -> Diagnosis:
    lines = _lines(view, activity, blocked)
    evidence = evidence_of(finding, view, activity)
    asleep = [each.thread.asleep for each in blocked]
    if asleep and None not in asleep:
        evidence["stillForMs"] = round(1000 * min(each for each in asleep if each is not None))
    return Diagnosis(finding.state, finding.cause, visible(finding.reason), evidence, lines[:MOST_LINES])


def evidence_of(finding: Finding, view: View, activity: Activity) -> dict[str, Any]:
    sample = view.sample
    evidence: dict[str, Any] = {
        "seconds": round(activity.seconds, 2),
        "processes": len(sample.processes),
        "cpuPercent": round(100 * activity.cpu, 1),
        "ioBytesPerSecond": round(activity.io),
        "netBytesPerSecond": round(activity.net),
        "wakeupsPerSecond": round(activity.wakeups, 1),
    }
    if activity.started:
        evidence["started"] = list(activity.started[:10])
    if activity.ended:
        evidence["ended"] = list(activity.ended[:10])
    if finding.pid is not None:
        evidence["pid"] = finding.pid
        process = sample.processes.get(finding.pid)
        if process is not None and process.lock is not None and finding.cause in ("lock", "deadlock"):
            lock = process.lock
            evidence["lock"] = {"path": lock.path, "holder": lock.holder, "holderComm": lock.holder_comm}
        if finding.cause == "network" and process is not None:
            evidence.update(_peer(finding, view, process))
    if sample.terminal is not None:
        evidence["terminal"] = {"echo": sample.terminal.echo, "canonical": sample.terminal.canonical}
    hidden = sorted(pid for pid, process in sample.processes.items() if process.hidden)
    if hidden:
        evidence["hidden"] = hidden
    if sample.notes:
        evidence["notes"] = [visible(note) for note in sample.notes]
    evidence.update(finding.evidence)
    return evidence


def _peer(finding: Finding, view: View, process: Process) -> dict[str, Any]:
    """The connection that the reason speaks of."""
    for target in process.fds.values():
        seen = view.sample.sockets.get(target)
        if seen is not None and seen.remote and seen.remote in finding.reason:
            since = None if seen.since_receive is None else round(seen.since_receive * 1000)
            shown = {"remote": seen.remote, "state": seen.state, "received": seen.received, "sent": seen.sent}
            return {"socket": {**shown, "sinceReceiveMs": since}}
    return {}


def _lines(view: View, activity: Activity, blocked: list[Blocked]) -> list[ProcessLine]:
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
