"""Two full looks, one verdict.

In this order, each only when the ones before did not decide:

1. somebody is asked for input, in both looks, and nothing else moves            -> hung, input
2. something moves: processes come and go, bytes flow, CPU is burnt              -> alive, or unsure and `busy`
3. nothing in the tree can go on by itself, as it stood still between the looks  -> hung, with the root cause
4. something may: a peer may answer, a timer will fire, a client may come        -> alive or unsure, and its cause

Step 3 is a proof by exhaustion: every thread's wait is endless, what it waits for is in the tree and waits
endlessly too, and no thread ran in between. One thread that cannot be judged (hidden, not looked at, in a call we
do not know) spoils the proof, and the verdict is `unsure`. That is how a live job is never called hung.
"""

from __future__ import annotations

from unhang.core.diagnosis.activity import BUSY_SHARE, FAULTS_RATE, NET_RATE, Activity, compare
from unhang.core.diagnosis.assemble import Finding, finish
from unhang.core.diagnosis.progress import CPU_SHARE
from unhang.core.diagnosis.prompt import NeedsInput, asks
from unhang.core.diagnosis.samples import FOREVER, FullSample
from unhang.core.diagnosis.standstill import Blocked, blocked_in, place_of, proof
from unhang.core.diagnosis.verdict import ALIVE, HUNG, UNSURE, Diagnosis, seconds
from unhang.core.diagnosis.waits import View, dead

# A timer that fires within two minutes is a pause between steps; retry loops back off to about a minute.
SOON = 120.0
# Programs that burn CPU only to make something, even in a stretch without a byte or a new page.
WORKERS = frozenset(
    {"cc1", "cc1plus", "clang", "rustc", "ld", "lld", "lto1", "as", "javac", "xz", "gzip", "bzip2", "zstd"}
)
# Woken by its own timer this often without anything to show for it: it polls.
POLLS = 0.3


def diagnose(before: FullSample, after: FullSample) -> Diagnosis:
    """What the tree does, from two looks at least a second apart."""
    view = View.of(after)
    activity = compare(before, after)
    blocked = blocked_in(view, before)
    finding = _judge(view, View.of(before), activity, blocked)
    return finish(finding, view, activity, blocked)


def _judge(view: View, earlier: View, activity: Activity, blocked: list[Blocked]) -> Finding:
    sample = view.sample
    if all(dead(process) for process in sample.processes.values()):
        return Finding(UNSURE, "unknown", "nothing of it is left running")
    asked = asks(view)
    if asked is not None and not activity.strong:
        return _leak(view, _asked(asked, earlier, view, blocked), blocked)
    moving = _moving(view, activity)
    if moving is not None:
        return moving
    still = proof(view, blocked, activity.seconds)
    if still is not None:
        return _leak(view, still, blocked)
    return _leak(view, _hopeful(activity, blocked), blocked)


def _asked(asked: NeedsInput, earlier: View, view: View, blocked: list[Blocked]) -> Finding:
    first = asks(earlier)
    evidence = {"prompt": asked.prompt, "password": asked.password, "pid": asked.pid}
    steady = first is not None and (first.pid, first.prompt) == (asked.pid, asked.prompt)
    terminal = view.sample.terminal
    raw = terminal is not None and not terminal.canonical
    # Whoever else may go on makes it a live job that also asks something.
    sure = steady and (asked.endless or raw) and not any(_besides(each, asked.pid, raw) for each in blocked)
    return Finding(HUNG if sure else UNSURE, "input", asked.reason, asked.pid, evidence)


def _besides(each: Blocked, asks: int, raw: bool) -> bool:
    """May this thread go on, prompt or no prompt? A connection or a timer that the asking loop watches beside the
    terminal may not; an alarm may, except in an editor or line editor, which has such for its own housekeeping."""
    if each.process.pid != asks:
        return each.hope
    if each.process.catches_alarm and not raw:
        return True
    return each.wait.kind not in ("input", "hidden", "signal") and each.wait.open_ended


def _moving(view: View, activity: Activity) -> Finding | None:
    if activity.workers:
        parts = []
        for verb, names in (("started", activity.started), ("ended", activity.ended)):
            if names:
                parts.append(f"{verb} {', '.join(names[:3])}" + (" ..." if len(names) > 3 else ""))
        return Finding(ALIVE, "progress", f"works quietly: {' and '.join(parts)}")
    if activity.cpu >= CPU_SHARE:
        return _computing(view, activity)
    if activity.net >= NET_RATE:
        return Finding(ALIVE, "progress", f"works quietly: {_rate(activity.net)} over the network")
    if activity.moves_bytes:
        return Finding(ALIVE, "progress", f"works quietly: reads and writes {_rate(activity.io)}")
    if activity.only_pauses:
        return Finding(UNSURE, "poll", "loops around `sleep`: it polls for something, or works in very small steps")
    return None


def _computing(view: View, activity: Activity) -> Finding:
    who = _busiest(view, activity)
    productive = activity.moves_bytes or activity.net >= NET_RATE or activity.faults >= FAULTS_RATE
    if productive or _only_works(view, activity):
        return Finding(ALIVE, "progress", f"works quietly: {who}")
    if activity.cpu < BUSY_SHARE and activity.wakeups >= 10:
        return Finding(UNSURE, "poll", f"{who}, and wakes {activity.wakeups:.0f} times a second: it polls")
    return Finding(UNSURE, "busy", f"{who}, moves no bytes and takes no new memory: a loop, or a long computation")


def _only_works(view: View, activity: Activity) -> bool:
    busy = [pid for pid, share in activity.by_pid.items() if share >= CPU_SHARE and pid in view.sample.processes]
    return any(view.sample.processes[pid].comm in WORKERS for pid in busy)


def _busiest(view: View, activity: Activity) -> str:
    live = {pid: process for pid, process in view.sample.processes.items() if not dead(process)}
    pid = max(activity.by_pid, key=lambda each: (activity.by_pid[each], -each), default=None)
    count = len(live)
    if pid is None or activity.by_pid[pid] * 2 < activity.cpu or pid not in live:
        who = f"its {count} processes" if count > 1 else "its short-lived children"
        return f"{who} use {100 * activity.cpu:.0f} % of a core"
    share = f"uses {100 * activity.by_pid[pid]:.0f} % of a core"
    return f"1 of {count} processes, {live[pid].comm}, {share}" if count > 1 else f"{live[pid].comm} {share}"


def _hopeful(activity: Activity, blocked: list[Blocked]) -> Finding:
    """Somebody may go on. Name the wait that says most about why nothing happens now."""
    best = min(blocked, key=lambda each: (each.rank, each.process.pid, each.thread.tid), default=None)
    if best is None:
        return Finding(UNSURE, "unknown", "none of its processes could be looked into")
    who, wait = f"{best.process.comm} [{best.process.pid}]", best.wait
    kind, text = wait.kind, f"{who} {wait.text}"
    pid = best.process.pid
    if kind == "input" and wait.shared:
        # The terminal is only one of several, and the screen asks nothing: name what else it is there for.
        # A server that also takes keys is a server.
        kind, said = min(wait.beside, key=lambda each: (each[0] != "listen", place_of(each[0]), each[1]))
        text = f"{who} {said}"
    if kind in ("listen", "watch"):
        return Finding(ALIVE, "listening", text, pid)
    if kind == "net":
        patient = wait.ends is not None and wait.ends != FOREVER and wait.ends >= 5 and best.woke == 0
        until = f", gives up in {seconds(wait.ends or 0.0)}" if patient else ""
        return Finding(UNSURE, "network", text + until, pid)
    if kind == "timer":
        return _timer(activity, best, text)
    lock = best.process.lock
    if kind == "lock":
        return Finding(UNSURE, "lock", text, pid)
    if kind == "input":
        return Finding(UNSURE, "input", text, pid)
    if kind == "fifo":
        return Finding(UNSURE, "input", text, pid)
    if kind == "stopped":
        return Finding(UNSURE, "stopped", text, pid)
    if kind in ("signal", "loop"):
        return Finding(UNSURE, "idle", text, pid)
    if kind == "futex":
        return Finding(UNSURE, "deadlock", text, pid)
    if lock is not None and not lock.blocked:
        return Finding(UNSURE, "lock", f"{text}; pid {lock.holder} ({lock.holder_comm}) locks {lock.path}", pid)
    return Finding(UNSURE, "unknown", text, pid)


def _timer(activity: Activity, best: Blocked, text: str) -> Finding:
    pid, ends = best.process.pid, best.wait.ends
    lock = best.process.lock
    if lock is not None and not lock.blocked:
        held = f"{best.process.comm} [{pid}] asks again and again for {lock.path}"
        return Finding(UNSURE, "lock", f"{held}, locked by pid {lock.holder} ({lock.holder_comm})", pid)
    if best.woke / activity.seconds >= POLLS:
        rate = best.woke / activity.seconds
        who = f"{best.process.comm} [{pid}]"
        return Finding(UNSURE, "poll", f"{who} wakes {rate:.1f} times a second and does nothing: it polls", pid)
    if ends is not None and ends <= SOON:
        return Finding(ALIVE, "timer", text, pid)
    return Finding(UNSURE, "timer", text, pid)


def _leak(view: View, finding: Finding, blocked: list[Blocked]) -> Finding:
    """The command itself has ended; what is left of it only keeps the job open."""
    leader = view.sample.leader
    if leader is None:
        return finding
    process = view.sample.processes.get(leader)
    if process is not None and not dead(process):
        return finding
    left = [each for each in view.sample.processes.values() if not dead(each)]
    names = ", ".join(f"{each.comm} [{each.pid}]" for each in sorted(left, key=lambda each: each.pid)[:3])
    state = finding.state
    if finding.cause == "timer" and not any(each.hope and not _sleeps_long(each) for each in blocked):
        state = HUNG
    reason = f"the command has ended, but left {names} running: {finding.reason}"
    return finding._replace(state=state, cause="leak", reason=reason)


def _sleeps_long(each: Blocked) -> bool:
    return each.wait.kind == "timer" and each.wait.ends is not None and each.wait.ends > SOON


def _rate(value: float) -> str:
    return f"{value / 1e6:.1f} MB/s" if value >= 1e6 else f"{value / 1e3:.1f} kB/s"
