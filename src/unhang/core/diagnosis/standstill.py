"""A tree that stands still: the proof that it cannot go on by itself, and what is known of it without another look.

**The proof.** Every thread that is not a runtime's own housekeeping is looked at. It has hope when its wait may end
without help from the tree: a timer, a peer outside, a device, something that cannot be seen. A file lock held outside
has hope unless its holder has none. No hope anywhere, and no thread ran between the looks: that is a standstill, and
its root is the wait that all others wait for.

**Without another look.** A tree that has not run is now as it was then. Explaining takes two samples, to see what
moved in between, and a full one costs as much as ten cheap looks. Most quiet trees sleep through, and a cheap look
sees that they did: so one sample is enough, of now or of long ago (`as_it_was`, `as_it_is`). Whatever could have
moved while no process of the tree ran (bytes on their way through a socket, the holder of a lock outside) makes the
answer "not known", and then two samples are taken as ever.
"""

from __future__ import annotations

from typing import NamedTuple

from unhang.core.diagnosis import causes
from unhang.core.diagnosis.alarms import may_have_alarm
from unhang.core.diagnosis.assemble import Finding
from unhang.core.diagnosis.descriptors import RINGS
from unhang.core.diagnosis.runtimes import RUBY, own_threads, wants_gil
from unhang.core.diagnosis.samples import FOREVER, FullSample, ProcessSample, Thread
from unhang.core.diagnosis.syscalls import or_for_a_signal, wait_of
from unhang.core.diagnosis.verdict import HUNG, UNSURE
from unhang.core.diagnosis.wait_graph import mutex_ring, ring
from unhang.core.diagnosis.waits import INTERNAL, SampleView, Wait, for_gil, is_dead, is_terminal, named

# HotSpot looks for a taken monitor again after at most one second.
RECHECK = 1.1
# Two looks closer together than this show too little of a standstill to call it one.
WINDOW = 1.0
# The kernel's "last ran" is as old as the last tick of its clock, and CPUs disagree by some milliseconds.
SURELY = 1.0
# Programs that handle SIGUSR1 or SIGUSR2 to say how far they are, and then wait on as before.
# man removes its files at a SIGHUP, and ends; ninja ends what it runs, and itself.
REPORTERS = frozenset({"make", "gmake", "dd", "wget", "rsync", "tmux: server", "tmux: client", "man", "ninja"})
# It handles SIGALRM for the delays that it can put into a call, and ends nothing of what it traces.
SHOWS_CALLS = frozenset({"strace"})
# How Ruby waits for one of its own threads, or for nothing.
OWN_WAITS = frozenset({"futex", "loop", "self_pipe"})
# What a daemon waits in while it has nothing to do but to wait for a signal.
RESTS = OWN_WAITS | {"signal", "parked"}
# What merely passes the question on to another process.
CHAIN = frozenset({"child", "pipe_read", "pipe_write", "peer", "terminal"})
# Which wait to name when several may end: first what the outside owes, then what the tree owes itself.
HOPE_GROUPS = (
    ("net", "listen"), ("lock", "stopped", "input", "fifo"), ("watch",), ("timer", "scheduler"),
    ("disk", "traced", "other", "hidden", "unknown", "running"),
    ("futex", "common", "signal", "loop", "self_pipe", "parked", "gil"),
    ("child", "pipe_write", "pipe_read", "peer", "terminal"),
)  # fmt: skip


class Blocked(NamedTuple):
    """A thread and its wait, in the later of two looks."""

    process: ProcessSample
    thread: Thread
    wait: Wait
    woke: int  # times it ran between the looks, of its own accord
    steady: bool  # it was there before, and has not run since
    main: bool

    @property
    def hope(self) -> bool:
        """Return whether the wait may end without help from the tree."""
        process = self.process
        alarm = process.catches_alarm or process.sets_alarm
        return self.wait.open_ended or alarm or heeds_signals(process) or process.timers

    @property
    def rank(self) -> tuple[bool, int, bool, int]:
        """Return the order in which to name waits: a hopeful one first, of the most telling group, in a main thread
        first.
        """
        group, place = place_of(self.wait.kind)
        return not self.hope, group, not self.main, place


def heeds_signals(process: ProcessSample) -> bool:
    """Return whether a signal from another process may make it go on."""
    return process.catches_signal and process.comm not in REPORTERS


def waits_of(view: SampleView, process: ProcessSample) -> list[tuple[Thread, Wait]]:
    """Return the threads of a process that count, and what each waits for. Where a signal, or a transfer that the
    kernel makes for it, may come first, the wait is not endless.
    """
    seen = [(thread, wait_of(view, process, thread)) for thread in own_threads(process)]
    rests = _rests_for_a_signal(view, process, [wait for _, wait in seen])
    rings = any(held.startswith(RINGS) for held in process.fds.values())
    found = []
    for thread, wait in seen:
        if rests or _for_a_signal(view, process, wait):
            wait = or_for_a_signal(view, wait.on) if wait.on else wait._replace(ends=None)
        elif rings and wait.ends == FOREVER:
            wait = wait._replace(ends=None)  # it may write to what the thread reads
        found.append((thread, wait))
    return found


def _rests_for_a_signal(view: SampleView, process: ProcessSample, waits: list[Wait]) -> bool:
    """Whether it rests, has nothing else to wait for, and handles a signal that may have been meant for that.

    A daemon reads its settings again at a SIGHUP; what removes its traces then, as at SIGQUIT, waits for something
    else.
    Without a terminal no program handles SIGCONT or SIGWINCH by chance.
    """
    beside_terminals = any(is_terminal(held) for held in process.fds.values())
    meant = process.catches_reload or (process.catches_other and not beside_terminals)
    if not meant or process.comm in REPORTERS or view.children.get(process.pid):
        return False
    return all(wait.kind in RESTS for wait in waits)


def _for_a_signal(view: SampleView, process: ProcessSample, wait: Wait) -> bool:
    """Whether a signal may end this wait of a process that handles all of them, whichever it means.

    A shell runs a trap while it waits for what it has started with &, and not before a command in the foreground ends.
    """
    if not process.catches_all:
        return False
    if process.runtime == RUBY:
        return wait.kind in OWN_WAITS and _all_in_ruby(process)
    below = view.children.get(process.pid, ())
    return wait.kind == "child" and all(view.sample.processes[pid].background for pid in below)


def _all_in_ruby(process: ProcessSample) -> bool:
    """Whether all threads of a Ruby program wait for each other, or for nothing: none for a descriptor of the program.

    Ruby makes an error of it unless one of them sleeps without an end.
    """
    if process.thread_count == 1:
        return True
    return all(
        each.syscall == "futex" or (each.reads and all(process.fds.get(fd) in INTERNAL for fd in each.reads))
        for each in own_threads(process)
    )


def place_of(kind: str) -> tuple[int, int]:
    """Return where a kind of wait stands in HOPE_GROUPS: its group, and its place in that."""
    for group, kinds in enumerate(HOPE_GROUPS):
        if kind in kinds:
            return group, kinds.index(kind)
    return len(HOPE_GROUPS), 0


def blocked_in(view: SampleView, before: FullSample) -> list[Blocked]:
    """Return every thread that counts, with its wait and whether it has run since the look `before`."""
    found: list[Blocked] = []
    alarmed = may_have_alarm(view.sample)
    for process in view.sample.processes.values():
        if is_dead(process):
            continue
        if process.comm in SHOWS_CALLS:
            process = process._replace(catches_alarm=False)
        if process.pid in alarmed and not process.sets_alarm:
            process = process._replace(sets_alarm=True)
        mine: list[Blocked] = []
        old = before.processes.get(process.pid)
        if old is not None and old.start != process.start:
            old = None
        known = {thread.tid: thread for thread in old.threads} if old is not None else {}
        kept = old is not None and process.handovers is not None and old.handovers == process.handovers
        for thread, wait in waits_of(view, process):
            was = known.get(thread.tid)
            woke = thread.switches - was.switches if was is not None else 0
            steady = was is not None and woke == 0 and (was.syscall, was.futex) == (thread.syscall, thread.futex)
            main = thread.tid == process.pid
            if kept and wait.kind == "running" and was is not None and old is not None and wants_gil(old, was):
                wait = for_gil()  # caught as it asked again: it has not got the lock since the look before
            # It asks every few milliseconds, and the lock says whether one of those that ask has got it.
            steady = steady or (kept and was is not None and wait.kind == "gil")
            mine.append(Blocked(process, thread, wait, max(0, woke), steady, main))
        found += _monitors(mine, old, process)
    return found


def _monitors(mine: list[Blocked], old: ProcessSample | None, process: ProcessSample) -> list[Blocked]:
    """HotSpot wakes a thread that waits for a monitor once a second. If every short wake-up between the looks was a
    futile one by the JVM's own count, those threads wait for monitors and not for timers."""
    if old is None or old.futile is None or process.futile is None:
        return mine
    short = [each for each in mine if each.woke and each.wait.kind == "timer" and (each.wait.ends or 9.9) <= RECHECK]
    if not short or sum(each.woke for each in short) > process.futile - old.futile:
        return mine
    waits = Wait("futex", "waits for a monitor that another of its threads holds")
    return [each._replace(wait=waits, steady=True) if each in short else each for each in mine]


def all_seen(view: SampleView) -> bool:
    """Return whether nothing of the tree was left out of the look."""
    living = [process for process in view.sample.processes.values() if not is_dead(process) and not process.hidden]
    return not view.sample.notes and all(len(process.threads) >= process.thread_count for process in living)


def proof(view: SampleView, before: FullSample, blocked: list[Blocked], window: float) -> Finding | None:
    """Return the standstill and its root cause, or None where a thread may go on."""
    if not blocked or window < WINDOW or not all_seen(view):
        return None
    if any(each.hope or not each.steady for each in blocked):
        return None
    seen = {each.process.pid for each in blocked}
    if any(not is_dead(process) and process.pid not in seen for process in view.sample.processes.values()):
        return None
    locks = [each for each in blocked if each.wait.kind == "lock"]
    if any(not _holders_are_still(view, before, each.process) for each in locks):
        return None
    return _root(view, blocked)


def _holders_are_still(view: SampleView, before: FullSample, process: ProcessSample) -> bool:
    """Whether no process that holds the lock can give it up. Those in the tree were judged with all others."""
    lock = process.lock
    if lock is None or not lock.owners:
        return False
    outside = [pid for pid in lock.owners if pid not in view.sample.processes]
    if any(pid not in view.sample.others for pid in outside):
        return False
    return not outside or _others_are_still(view, before)


def _others_are_still(view: SampleView, before: FullSample) -> bool:
    """Whether the processes outside that hold a lock, and those below them, wait for ever and have not run."""
    around = SampleView.of(view.sample._replace(processes=view.sample.others, pipes={}))
    alarmed = may_have_alarm(around.sample)
    for holder in view.sample.others.values():
        if is_dead(holder):
            continue
        if holder.hidden or not holder.threads or holder.thread_count > len(holder.threads):
            return False
        if holder.catches_alarm or heeds_signals(holder) or holder.timers or holder.pid in alarmed:
            return False
        old = before.others.get(holder.pid)
        ran = {each.tid: each.switches for each in old.threads} if old is not None and old.start == holder.start else {}
        for thread, wait in waits_of(around, holder):
            if ran.get(thread.tid) != thread.switches or wait.open_ended:
                return False
            if any(holder.fds.get(fd) in INTERNAL for fd in thread.reads + thread.writes):
                return False  # who shares its eventfd was not looked for
            if wait.kind in ("input", "stopped") or (wait.kind in CHAIN and not wait.on):
                return False  # a person may type or continue it, or it waits for processes that were not looked at
    return True


def _root(view: SampleView, blocked: list[Blocked]) -> Finding:
    def first(*kinds: str) -> Blocked | None:
        fitting = [each for each in blocked if each.wait.kind in kinds]
        return min(fitting, key=lambda each: (not each.main, each.process.pid, each.thread.tid), default=None)

    def first_of(pids: list[int], kind: str) -> Blocked | None:
        return next((each for each in blocked if each.process.pid in pids and each.wait.kind == kind), None)

    for process in sorted({each.process.pid: each.process for each in blocked}.values(), key=lambda one: one.pid):
        if tids := mutex_ring(process):
            return _mutexes(process, sorted(tids))
    if each := first("stopped"):
        return _found(causes.STOPPED, each)
    if crossed := ring(_edges(blocked, frozenset({"lock"}))):
        return _crossed(view, crossed)
    if (around := ring(_edges(blocked, CHAIN | {"lock"}))) and (each := first_of(around, "lock")):
        found = _ring(view, causes.DEADLOCK, around, "")
        reason = f"{named(each.process)} {each.wait.text}, which waits for it in turn"
        return found._replace(reason=reason, pid=each.process.pid, lock=each.process.lock)
    if each := first("lock"):
        # A holder in the tree ends with it; one outside is still there, and stuck, when this runs again.
        return _found(causes.LOCK, each)._replace(lock=each.process.lock, repeats=not each.wait.on)
    if each := first("input", "fifo"):
        return _found(causes.INPUT, each)
    if each := first("common"):
        return _commons(view, blocked, each)
    if around := ring(_edges(blocked, CHAIN)):
        return _ring(view, causes.PIPE_CYCLE, around, "wait for each other")
    if each := first("futex", "self_pipe"):
        return _threads(blocked, each)
    if finding := _goroutines(blocked):
        return finding
    if each := first("signal", "loop", "timer"):
        held = held_up(blocked, each) or each
        return _found(causes.IDLE, held)._replace(reason=told(blocked, each, each.wait))
    if each := first(*CHAIN):
        return _found(causes.UNKNOWN, each)._replace(state=UNSURE)
    return Finding(UNSURE, causes.UNKNOWN, "nothing moves, and nothing says why")


def held_up(blocked: list[Blocked], holder: Blocked) -> Blocked | None:
    """Return the wait that says more than that of a process in the background: of what reads a pipe which that one only
    holds open, or, where it holds the reading end, of the other reader; None where there is none.
    """
    pid = holder.process.pid
    if not holder.process.background:
        return None
    ends = [each for each in blocked if pid in each.wait.on and each.wait.kind in ("pipe_read", "pipe_write")]
    readers = {other for each in ends if each.wait.kind == "pipe_write" for other in each.wait.on} - {pid}
    names = [each for each in ends if each.wait.kind == "pipe_read"]
    names += [each for each in blocked if each.process.pid in readers and each.wait.kind not in CHAIN]
    fitting = [each for each in names if not each.hope and not each.process.background]
    return min(fitting, key=lambda each: (not each.main, each.process.pid, each.thread.tid), default=None)


def told(blocked: list[Blocked], each: Blocked, wait: Wait) -> str:
    """Return what a process waits for, in words; behind the wait that it holds up, where it is in the background."""
    text = f"{named(each.process)} {wait.text}"
    held = held_up(blocked, each)
    return text if held is None else f"{named(held.process)} {held.wait.text}; in the background {text}"


def _found(cause: causes.Cause, each: Blocked) -> Finding:
    return Finding(HUNG, cause, f"{named(each.process)} {each.wait.text}", each.process.pid, each.wait)


def _mutexes(process: ProcessSample, tids: list[int]) -> Finding:
    """Threads that wait for each other's mutex; one alone waits for what it holds itself, and will do so again."""
    alone = len(tids) == 1
    text = "a thread waits for a lock that it holds itself"
    if not alone:
        text = f"{'two' if len(tids) == 2 else len(tids)} threads wait for each other's lock"
    reason = f"{text}: {named(process)}, threads {', '.join(str(tid) for tid in tids)}"
    return Finding(HUNG, causes.DEADLOCK, reason, process.pid, repeats=alone, evidence={"threads": tids})


def _threads(blocked: list[Blocked], each: Blocked) -> Finding:
    mine = [other for other in blocked if other.process.pid == each.process.pid]
    who = named(each.process)
    alone = each.wait.kind == "self_pipe" or len(mine) == 1
    if each.wait.kind == "self_pipe":
        text = f"{who} {each.wait.text}"
    elif alone:
        text = f"{who} waits for a lock that no other thread is there to release"
    else:
        text = f"all {len(mine)} threads of {who} wait for each other"
    return Finding(HUNG, causes.DEADLOCK, text, each.process.pid, each.wait, repeats=alone)


def _crossed(view: SampleView, pids: list[int]) -> Finding:
    """Processes that wait for each other's file lock; one alone waits for what it holds through another descriptor."""
    lock = view.sample.processes[pids[0]].lock
    path = lock.path if lock is not None else ""
    found = _ring(view, causes.DEADLOCK, pids, f"wait for each other's file lock: {path}")
    if len(pids) == 1:
        own = f"{named(view.sample.processes[pids[0]])} waits for the lock {path}, which it holds itself"
        found = found._replace(reason=f"{own} through another descriptor")
    return found._replace(lock=lock)


def _commons(view: SampleView, blocked: list[Blocked], each: Blocked) -> Finding:
    """Processes that wait for what only they could give each other; or one whose fellows have ended."""
    if around := ring(_edges(blocked, frozenset({"common"}))):
        return _ring(view, causes.DEADLOCK, around, "wait for each other, over what they share")
    return _found(causes.DEADLOCK, each)


def _goroutines(blocked: list[Blocked]) -> Finding | None:
    """A Go program whose goroutines wait for each other. Where one waits for a child or a pipe, that is the root."""
    passes_on = {each.process.pid for each in blocked if each.wait.kind in CHAIN}
    idle = [each for each in blocked if each.wait.kind == "parked" and each.process.pid not in passes_on]
    if not idle:
        return None
    each = min(idle, key=lambda one: (one.process.pid, one.thread.tid))
    reason = f"the goroutines of {named(each.process)} wait for each other: none is left to run, and no timer"
    return Finding(HUNG, causes.DEADLOCK, reason, each.process.pid, each.wait)


def _edges(blocked: list[Blocked], kinds: frozenset[str]) -> dict[int, set[int]]:
    edges: dict[int, set[int]] = {}
    for each in blocked:
        if each.wait.kind in kinds:
            edges.setdefault(each.process.pid, set()).update(each.wait.on)
    return edges


def _ring(view: SampleView, cause: causes.Cause, pids: list[int], what: str) -> Finding:
    names = [named(view.sample.processes[pid]) for pid in sorted(pids)]
    reason = f"{names[0]} waits for itself" if len(names) == 1 else f"{' and '.join(names)} {what}"
    return Finding(HUNG, cause, reason, pids[0], repeats=len(pids) == 1, evidence={"ring": sorted(pids)})


def as_it_was(now: FullSample, since: float) -> FullSample | None:
    """Return what a full look at the moment `since`, or as soon after as is certain, would have shown.

    None: not known.
    """
    if not now.processes or now.others or now.notes:
        return None
    if any(socket.received is not None for socket in now.sockets.values()):
        return None
    asleep = now.at - since
    for process in now.processes.values():
        if process.hidden or len(process.threads) != process.thread_count:
            return None
        for thread in process.threads:
            if thread.asleep is None:  # it runs, or the kernel does not say
                return None
            asleep = min(asleep, thread.asleep)
    return now._replace(at=now.at - asleep) if asleep >= SURELY else None


def as_it_is(then: FullSample, now: float) -> FullSample:
    """Return what a full look at `now` would show of a tree that has not run since."""
    seconds = now - then.at
    processes = {
        pid: process._replace(threads=tuple(_later(thread, seconds) for thread in process.threads))
        for pid, process in then.processes.items()
    }
    return then._replace(at=now, processes=processes)


def _later(thread: Thread, seconds: float) -> Thread:
    asleep, remaining = thread.asleep, thread.remaining
    return thread._replace(
        asleep=None if asleep is None else asleep + seconds,
        remaining=None if remaining is None else max(0.0, remaining - seconds),
    )
