"""Two full looks, one verdict.

In this order, each only when the ones before did not decide:

1. a person is asked for input, in both looks, and nothing else moves            -> hung, input
2. something moves: processes come and go, bytes flow, CPU is burnt              -> alive, or unsure and `busy`
3. nothing in the tree can go on by itself, as it stood still between the looks  -> hung, with the root cause
4. something may: a peer may answer, a timer will fire, a client may come        -> alive or unsure, and its cause

Step 3 is a proof by exhaustion: every thread's wait is endless, what it waits for is in the tree and waits
endlessly too, and no thread ran in between. One thread that cannot be judged (hidden, not looked at, in a call we
do not know) spoils the proof, and the verdict is `unsure`. That is how a live job is never called hung.
"""

from __future__ import annotations

from unhang.core.diagnosis import causes
from unhang.core.diagnosis.activity import BUSY_SHARE, NET_RATE, Activity, compare
from unhang.core.diagnosis.assemble import Finding, finish
from unhang.core.diagnosis.progress import CPU_SHARE, PAUSES
from unhang.core.diagnosis.prompt import NeedsInput, asks
from unhang.core.diagnosis.samples import FOREVER, FullSample, ProcessSample, Thread
from unhang.core.diagnosis.standstill import CHAIN, WINDOW, Blocked, all_seen, blocked_in, place_of, proof, told
from unhang.core.diagnosis.time_left import in_time
from unhang.core.diagnosis.verdict import ALIVE, HUNG, UNSURE, Diagnosis
from unhang.core.diagnosis.waits import TERMINAL, SampleView, Wait, holder_of, is_dead, named
from unhang.core.sizes import human_rate

# A timer that fires within two minutes is a pause between steps; retry loops back off to about a minute.
SOON = 120.0
# A job whose next step is within the hour is alive: it was told to sleep that long.
LATER = 3600.0
# Programs that burn CPU only to make something, even in a stretch without a byte or a new page.
WORKERS = frozenset(
    {"cc1", "cc1plus", "clang", "rustc", "ld", "lld", "lto1", "as", "javac", "xz", "gzip", "bzip2", "zstd"}
)
# Woken by its own timer this often without anything to show for it: it polls.
POLLS = 0.3
# ... in a rhythm of at most so many seconds. Of a slower one it is chance how often it woke between two looks.
RHYTHM = 2.5


def diagnose(before: FullSample, after: FullSample) -> Diagnosis:
    """Return the diagnosis of a tree, from two looks at least a second apart."""
    view = SampleView.of(after)
    activity = compare(before, after)
    blocked = blocked_in(view, before)
    finding = _vetoed(_judge(view, SampleView.of(before), activity, blocked), activity)
    return finish(finding, view, activity, blocked)


def _vetoed(finding: Finding, activity: Activity) -> Finding:
    """No proof stands against a byte that moved between the looks, or rests on looks that are too close together."""
    if finding.state == HUNG and (activity.any_bytes or activity.seconds < WINDOW):
        return finding._replace(state=UNSURE)
    return finding


def _judge(view: SampleView, earlier: SampleView, activity: Activity, blocked: list[Blocked]) -> Finding:
    sample = view.sample
    if all(is_dead(process) for process in sample.processes.values()):
        return Finding(UNSURE, causes.UNKNOWN, "nothing of it is left running")
    asked = asks(view)
    if asked is not None and not activity.strong:
        return _leak(view, _asked(asked, earlier, view, blocked), blocked)
    moving = _moving(view, activity)
    if moving is not None:
        return moving
    still = proof(view, earlier.sample, blocked, activity.seconds)
    if still is not None:
        return _leak(view, still, blocked)
    return _leak(view, _hopeful(view, activity, blocked), blocked)


def _asked(asked: NeedsInput, earlier: SampleView, view: SampleView, blocked: list[Blocked]) -> Finding:
    first = asks(earlier)
    evidence = {"prompt": asked.prompt, "password": asked.password, "channel": asked.channel}
    steady = first is not None and (first.pid, first.prompt) == (asked.pid, asked.prompt)
    terminal = view.sample.terminal
    raw = terminal is not None and not terminal.canonical and asked.channel == TERMINAL
    mine = [each for each in blocked if each.process.pid == asked.pid and each.wait.kind in ("input", "hidden")]
    # A thread that ran in between got something, except at a terminal, where it may have been a signal.
    waits = asked.endless and (asked.channel == TERMINAL or all(each.steady for each in mine))
    above = _above(view, asked.pid)
    # Another thread that may go on makes it a live job that also asks something.
    besides = any(_besides(each, asked.pid, above, raw) for each in blocked)
    sure = steady and waits and all_seen(view) and not besides
    if not sure and (owed := _owed(mine)) is not None:
        process = view.sample.processes[asked.pid]
        return Finding(UNSURE, causes.NETWORK, f"{named(process)} {owed.text}", asked.pid, owed)
    return Finding(HUNG if sure else UNSURE, causes.INPUT, asked.reason, asked.pid, evidence=evidence)


def _owed(mine: list[Blocked]) -> Wait | None:
    """The wait for an answer beside the one for input: a connection on which the job has spoken last."""
    for wait in (wait for each in mine for wait in each.wait.beside):
        seen = wait.socket
        if seen is None or seen.since_send is None or seen.since_receive is None or not seen.sent:
            continue
        if seen.state == "ESTABLISHED" and (not seen.received or seen.since_send < seen.since_receive):
            return wait
    return None


def _besides(each: Blocked, asks: int, above: set[int], raw: bool) -> bool:
    """May this thread go on, prompt or no prompt? A timer that the asking loop watches beside the terminal may not; an
    alarm may, except in an editor or line editor, which draws itself anew in a window of another size, and has alarms
    for its own housekeeping."""
    if each.wait.stranger:
        return True
    unseen = each.wait.kind in ("hidden", "unknown") and not each.thread.syscall and not each.process.sets_alarm
    if unseen and each.steady and not each.process.tty and each.process.pid not in {asks, *above}:
        return False  # a daemon that cannot be looked into (ssh-agent), and that did nothing meanwhile
    if each.process.pid != asks:
        return each.hope
    edits = raw and (each.process.catches_other or each.process.catches_all)
    if (each.process.catches_alarm or each.process.sets_alarm or each.process.timers) and not edits:
        return True
    return each.wait.kind not in ("input", "hidden", "signal") and each.wait.open_ended


def _above(view: SampleView, pid: int) -> set[int]:
    """The processes of the tree that a process descends from."""
    found: set[int] = set()
    process = view.sample.processes.get(pid)
    while process is not None and process.ppid not in found:
        found.add(process.ppid)
        process = view.sample.processes.get(process.ppid)
    return found


def _moving(view: SampleView, activity: Activity) -> Finding | None:
    if spells := [pid for pid, share in activity.by_pid.items() if share > 0 and _is_stopped(view, pid)]:
        # It may be caught in the middle of a spell as well, and must be judged as then: by what it does.
        text = f"works in short spells: {view.names(tuple(sorted(spells)))} is stopped and continued in turn"
        if _productive(view, activity):
            return Finding(ALIVE, causes.PROGRESS, text)
        return Finding(UNSURE, causes.BUSY, f"{text}, but moves no bytes: a loop, or a long computation")
    if activity.workers:
        parts = []
        for verb, names in (("started", activity.started), ("ended", activity.ended)):
            if names:
                parts.append(f"{verb} {', '.join(names[:3])}" + (" ..." if len(names) > 3 else ""))
        return Finding(ALIVE, causes.PROGRESS, _works(activity, " and ".join(parts)))
    if activity.cpu >= CPU_SHARE:
        return _computing(view, activity)
    if activity.net >= NET_RATE:
        return Finding(ALIVE, causes.PROGRESS, _works(activity, f"{human_rate(activity.net)} over the network"))
    if activity.moves_bytes:
        return Finding(ALIVE, causes.PROGRESS, _works(activity, f"reads and writes {human_rate(activity.io)}"))
    if activity.only_pauses:
        return Finding(
            UNSURE, causes.POLL, "loops around `sleep`: it polls for something, or works in very small steps"
        )
    return None


def _works(activity: Activity, how: str) -> str:
    """Say that it works, and whether it prints meanwhile, where that is known."""
    if activity.printed is None:
        return f"works: {how}"
    return (
        f"works and prints {human_rate(activity.printed)}: {how}" if activity.printed > 0 else f"works quietly: {how}"
    )


def _is_stopped(view: SampleView, pid: int) -> bool:
    process = view.sample.processes.get(pid)
    return process is not None and process.state == "T"


def _computing(view: SampleView, activity: Activity) -> Finding:
    who = _busiest(view, activity)
    if _productive(view, activity):
        return Finding(ALIVE, causes.PROGRESS, _works(activity, who))
    if activity.cpu < BUSY_SHARE and activity.wakeups >= 10:
        return Finding(UNSURE, causes.POLL, f"{who}, and wakes {activity.wakeups:.0f} times a second: it polls")
    return Finding(UNSURE, causes.BUSY, f"{who}, moves no bytes and takes no new memory: a loop, or a long computation")


def _productive(view: SampleView, activity: Activity) -> bool:
    """Whether the CPU that it uses makes something: bytes, new memory, or what only a compiler or a packer makes."""
    moves = activity.moves_bytes or activity.net >= NET_RATE
    return moves or activity.takes_memory or _only_works(view, activity)


def _only_works(view: SampleView, activity: Activity) -> bool:
    busy = [pid for pid, share in activity.by_pid.items() if share >= CPU_SHARE and pid in view.sample.processes]
    return any(view.sample.processes[pid].comm in WORKERS for pid in busy)


def _busiest(view: SampleView, activity: Activity) -> str:
    live = {pid: process for pid, process in view.sample.processes.items() if not is_dead(process)}
    pid = max(activity.by_pid, key=lambda each: (activity.by_pid[each], -each), default=None)
    count = len(live)
    if pid is None or activity.by_pid[pid] * 2 < activity.cpu or pid not in live:
        who = f"its {count} processes" if count > 1 else "its short-lived children"
        return f"{who} use {100 * activity.cpu:.0f} % of a core"
    share = f"uses {100 * activity.by_pid[pid]:.0f} % of a core"
    return f"1 of {count} processes, {live[pid].comm}, {share}" if count > 1 else f"{live[pid].comm} {share}"


# What a wait that may end says of the job, where its kind alone decides.
BY_KIND: dict[str, tuple[str, causes.Cause]] = {
    "listen": (ALIVE, causes.LISTENING),
    "watch": (ALIVE, causes.LISTENING),
    "net": (UNSURE, causes.NETWORK),
    "lock": (UNSURE, causes.LOCK),
    "input": (UNSURE, causes.INPUT),
    "fifo": (UNSURE, causes.INPUT),
    "stopped": (UNSURE, causes.STOPPED),
    "signal": (UNSURE, causes.IDLE),
    "loop": (UNSURE, causes.IDLE),
    "futex": (UNSURE, causes.DEADLOCK),
    "self_pipe": (UNSURE, causes.DEADLOCK),
    "common": (UNSURE, causes.LOCK),
    "scheduler": (UNSURE, causes.TIMER),
    "parked": (UNSURE, causes.DEADLOCK),
    "gil": (UNSURE, causes.DEADLOCK),
}


def _hopeful(view: SampleView, activity: Activity, blocked: list[Blocked]) -> Finding:
    """A thread may go on. Name the wait that says most about why nothing happens now."""
    best = min(blocked, key=lambda each: (each.rank, each.process.pid, each.thread.tid), default=None)
    if best is None:
        return Finding(UNSURE, causes.UNKNOWN, "none of its processes could be looked into")
    if best.wait.kind == "net":
        best = _server_below(view, best, blocked)
    process, wait = best.process, _told_by(best.wait)
    text = told(blocked, best, wait)
    if activity.cpu >= 0.01 and wait.kind not in ("timer", "listen"):
        text += f", while {_percent(activity.cpu)} of a core is used"
    if wait.kind == "timer":
        return _timer(view, activity, best, text)
    if wait.kind in CHAIN and wait.ends is not None and wait.ends <= LATER:
        # An event loop that waits for another process of the job, and until its next timer.
        return _timer(view, activity, best, f"{text}, and goes on by itself {in_time(wait.ends)}")
    if wait.kind == "input" and wait.ends is not None and wait.ends <= SOON:
        # The call that reads has a timeout of its own: what it does then, it does without input.
        text = f"{named(process)} {wait.text}, and goes on by itself {in_time(wait.ends)}"
        return Finding(ALIVE, causes.TIMER, text, process.pid, wait)
    if wait.kind == "running" and best.steady:
        text = f"{named(process)} runs, or waits for its turn on a busy machine"
        if process.comm in WORKERS:
            return Finding(ALIVE, causes.PROGRESS, text, process.pid, wait)
        return Finding(UNSURE, causes.BUSY, f"{text}: a loop, or a long computation", process.pid, wait)
    state, cause = BY_KIND.get(wait.kind, (UNSURE, causes.UNKNOWN))
    if process.sets_alarm and not wait.open_ended:
        text += ", and may have set an alarm that ends it"
        cause = causes.TIMER if cause is causes.UNKNOWN else cause
    lock = process.lock if cause is causes.LOCK else None
    if cause is causes.NETWORK:
        ends = best.wait.ends
        if ends is not None and ends != FOREVER and ends >= 5 and best.woke == 0:
            text += f", gives up {in_time(ends)}"
    elif cause is causes.UNKNOWN and process.lock is not None and not process.lock.blocked:
        cause, lock = causes.LOCK, process.lock
        text += f"; {holder_of(lock)} locks {lock.path}"
    return Finding(state, cause, text, process.pid, wait, lock)


def _server_below(view: SampleView, best: Blocked, blocked: list[Blocked]) -> Blocked:
    """The server that this process has started, where there is one: whatever connection a wrapper holds beside it."""
    servers = [each for each in blocked if each.wait.kind == "listen" and each.hope]
    below = [each for each in servers if best.process.pid in _above(view, each.process.pid)]
    return min(below, key=lambda each: each.rank, default=best)


def _told_by(wait: Wait) -> Wait:
    """The wait to name. Where the terminal is only one of several things and the screen asks nothing, it is another of
    them: a server that also takes keys is a server."""
    if wait.kind != "input" or not wait.shared:
        return wait
    return min(wait.beside, key=lambda each: (each.kind != "listen", place_of(each.kind), each.text))


def _timer(view: SampleView, activity: Activity, best: Blocked, text: str) -> Finding:
    process, ends = best.process, best.wait.ends
    lock = process.lock
    if lock is not None and not lock.blocked:
        held = f"{named(process)} asks again and again for {lock.path}, locked by {holder_of(lock)}"
        return Finding(UNSURE, causes.LOCK, held, process.pid, best.wait, lock)
    rate = best.woke / activity.seconds
    if rate >= POLLS and _often(best, activity.seconds):
        wakes = f"{named(process)} wakes {rate:.1f} times a second"
        if activity.any_bytes:
            # A heartbeat over a hung program moves bytes as well: too little to call it work, too much for "nothing".
            does = f"and moves {human_rate(activity.io + activity.net)}: it polls, or works slowly"
        elif unread := _unread(view, process):
            does = f"while {unread} bytes lie ready on its connection: it reads slowly, or polls"
        elif stopped := tuple(pid for pid in view.sample.processes if _is_stopped(view, pid)):
            does = f"while {view.names(stopped)} is stopped"
        elif activity.cpu > 0:
            does = f"and uses {_percent(activity.cpu)} of a core, but moves no bytes: it polls, or works in small steps"
        else:
            does = "and does nothing: it polls"
        return Finding(UNSURE, causes.POLL, f"{wakes} {does}", process.pid, best.wait)
    state = ALIVE if ends is not None and ends <= LATER else UNSURE
    return Finding(state, causes.TIMER, text, process.pid, best.wait)


def _often(best: Blocked, seconds: float) -> bool:
    """Whether it wakes in a quick rhythm, or more often than the rhythm of its timer explains."""
    period = _period(best.thread)
    return period <= RHYTHM or best.woke > 1 + seconds / period


def _period(thread: Thread) -> float:
    """From its last wake-up to its next, in seconds; 0 where that is not known."""
    if thread.asleep is not None and thread.remaining is not None:
        return thread.asleep + thread.remaining
    return thread.timeout or 0.0


def _unread(view: SampleView, process: ProcessSample) -> int:
    """The bytes that lie ready on the connections of a process, which it has not read."""
    links = {target for target in process.fds.values() if target in view.sample.sockets}
    return sum(view.sample.sockets[link].unread for link in links)


def _leak(view: SampleView, finding: Finding, blocked: list[Blocked]) -> Finding:
    """The command itself has ended; what is left of it only keeps the job open."""
    leader = view.sample.leader
    if leader is None:
        return finding
    process = view.sample.processes.get(leader)
    if process is not None and not is_dead(process):
        return finding
    left = [each for each in view.sample.processes.values() if not is_dead(each)]
    names = ", ".join(named(each) for each in sorted(left, key=lambda each: each.pid)[:3])
    state = finding.state
    if finding.cause is causes.TIMER and left and all(each.comm in PAUSES for each in left) and _sleep_long(blocked):
        state = HUNG  # what is left is a `sleep`, which does nothing when it wakes
    reason = f"the command has ended, but left {names} running: {finding.reason}"
    return finding._replace(state=state, cause=causes.LEAK, reason=reason)


def _sleep_long(blocked: list[Blocked]) -> bool:
    long = [each for each in blocked if each.wait.kind == "timer" and each.wait.ends is not None]
    return len(long) == len(blocked) and all(
        (each.wait.ends or 0) > SOON and not each.process.sets_alarm for each in long
    )


def _percent(share: float) -> str:
    return f"{max(1.0, 100 * share):.0f} %"
