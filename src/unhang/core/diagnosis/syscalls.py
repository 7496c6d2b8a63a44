"""From a thread to its wait: which system call it sits in, and what that means."""

from __future__ import annotations

from unhang.core.diagnosis.descriptors import descriptors
from unhang.core.diagnosis.runtimes import is_parked, polls_for_ever, scheduler_rests, wants_gil
from unhang.core.diagnosis.samples import FOREVER, ProcessSample, Thread
from unhang.core.diagnosis.time_left import in_time
from unhang.core.diagnosis.waits import (
    FIFO,
    SampleView,
    Wait,
    ends_of,
    for_gil,
    for_lock,
    for_loop,
    for_timer,
    is_dead,
    is_terminal,
    strangers,
)

# SIGINT, SIGQUIT, SIGTERM and SIGCHLD, as bits: what waits for one of these waits for its own end or a child's.
ENDS = 1 << 1 | 1 << 2 | 1 << 14 | 1 << 16
# SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH, SIGIO, SIGPWR and the real-time
# signals: these come from a timer, a descriptor or another process, and make the program go on.
WAKES = (1 << 64) - (1 << 33) | sum(1 << number - 1 for number in (1, 10, 12, 14, 18, 21, 22, 23, 28, 29, 30))
WAITS_FOR_SIGNAL = frozenset({"pause", "rt_sigsuspend", "rt_sigtimedwait"})
SLEEPS = frozenset({"nanosleep", "clock_nanosleep"})
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
SYSTEM_V = {
    "semop": "a System V semaphore",
    "semtimedop": "a System V semaphore",
    "msgrcv": "a message in a System V queue",
    "msgsnd": "room in a System V queue",
}
SETS = frozenset({"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"})


def wait_of(view: SampleView, process: ProcessSample, thread: Thread) -> Wait:
    """Return what a thread of a process waits for."""
    if polls_for_ever(process, thread):
        thread = thread._replace(timeout=FOREVER, remaining=None)
    wait = _called(view, process, thread)
    if scheduler_rests(process, thread, wait.kind):
        text = "has nothing to run until a timer fires: one of the program's or of Erlang's own, which cannot be seen"
        return Wait("scheduler", text, wait.on, ends=None)
    return wait


def _called(view: SampleView, process: ProcessSample, thread: Thread) -> Wait:
    if thread.state in ("T", "t"):
        return _stopped(view, process, thread)
    if thread.state == "R" or thread.syscall == "running":
        return Wait("running", "runs", ends=None)
    if "freez" in thread.wchan:
        return Wait("other", "is frozen with its control group, until that is thawed", ends=None)
    if "seccomp" in thread.wchan:
        return Wait("other", "waits for a supervisor that answers its system calls", ends=None, stranger=True)
    lock = process.lock
    if lock is not None and lock.blocked and (thread.syscall in ("flock", "fcntl") or "lock" in thread.wchan):
        return for_lock(view, process, lock)
    if "vfork" in thread.wchan or thread.wchan == "kernel_clone":
        return _child(view, process, thread)
    if thread.state == "D":
        return Wait("disk", f"waits for a device ({thread.wchan or 'uninterruptible'})", ends=None)
    name = thread.syscall
    if not name:
        return _unseen(process, thread)
    if name == "restart_syscall":
        # Interrupted by a stop and gone on since. Only calls with a timeout are restarted this way.
        return for_timer(None)
    if name in ("wait4", "waitid"):
        return _child(view, process, thread)
    if name in WAITS_FOR_SIGNAL:
        return _signal(view, process, thread)
    if name in SLEEPS:
        return for_timer(ends_of(thread))
    if name in ("futex", "futex_waitv", "futex_wait"):
        return _futex(view, process, thread)
    if name in SYSTEM_V:
        return _common(view, process, thread, SYSTEM_V[name])
    if name in ("open", "openat", "openat2"):
        return _opening(thread)
    if thread.unseen:
        return Wait("unknown", f"waits in {name} for what could not be read", ends=None)
    if (thread.reads or thread.writes or thread.hangups) and name != "ioctl":
        return descriptors(view, process, thread)
    if name in SETS:  # an empty one
        ends = ends_of(thread)
        if ends == FOREVER and process.catches_other:
            return _signal(view, process, thread)
        return for_timer(ends) if ends != FOREVER else for_loop(view, process, ends)
    return Wait("unknown", f"is in {name}", ends=None)


def _unseen(process: ProcessSample, thread: Thread) -> Wait:
    if process.hidden:
        return Wait("hidden", "cannot be looked into (another user's or setuid)", ends=None)
    text = f"sleeps in {thread.wchan}" if thread.wchan and thread.wchan != "0" else "sleeps"
    return Wait("unknown", text, ends=None)


def _stopped(view: SampleView, process: ProcessSample, thread: Thread) -> Wait:
    if thread.state == "t":
        return Wait("traced", "is stopped by a debugger", ends=None)
    terminal = view.sample.terminal
    foreground = terminal.foreground if terminal is not None and terminal.foreground else process.tpgid
    # The call that the terminal has stopped it in is still to be seen; one that is stopped elsewhere got a signal.
    uses_terminal = any(is_terminal(process.fds.get(fd, "")) for fd in thread.reads + thread.writes)
    if process.tty and foreground > 0 and foreground != process.pgid and uses_terminal:
        return Wait("stopped", "is stopped by SIGTTIN or SIGTTOU: a background job used the terminal")
    # What has stopped it may continue it, as batch systems and throttles do.
    return Wait("stopped", "is stopped (SIGSTOP or SIGTSTP); SIGCONT would continue it", ends=None)


def _child(view: SampleView, process: ProcessSample, thread: Thread) -> Wait:
    below = view.children.get(process.pid, ())
    if thread.traces and process.tracees:
        text = f"waits for {strangers(process.tracees)} outside of the job, which it traces"
        return Wait("other", text, ends=None, stranger=True)
    if thread.child is not None and thread.child in view.sample.processes:
        below = (thread.child,)
    if not below:
        # Its child may have ended this very moment, or is traced by another process.
        return Wait("child", "waits for a child", ends=None)
    return Wait("child", f"waits for its child {view.names(below)}", below)


def _signal(view: SampleView, process: ProcessSample, thread: Thread) -> Wait:
    ends = ends_of(thread) if thread.syscall == "rt_sigtimedwait" else FOREVER
    if process.timers and ends == FOREVER:
        return _own_timer(view, process)
    if below := view.children.get(process.pid, ()):
        if process.catches_signal and ends == FOREVER:
            return or_for_a_signal(view, below)
        return Wait("child", "waits for a signal, and has children", below, ends)
    if process.catches_alarm:
        return Wait("signal", "waits for a signal; it may have set itself an alarm", ends=ends)
    if process.catches_signal or process.catches_other or _meant_for_others(thread):
        return Wait(
            "signal", "waits for a signal, which another process may send", ends=None if ends == FOREVER else ends
        )
    return Wait("signal", f"waits for a signal ({thread.syscall})", ends=ends)


def or_for_a_signal(view: SampleView, below: tuple[int, ...]) -> Wait:
    """Return the wait of a shell for its children, in which a signal may come first."""
    return Wait("signal", f"waits for its child {view.names(below)}, or for a signal that it handles", below, ends=None)


def _meant_for_others(thread: Thread) -> bool:
    """Whether a thread in sigwait, or one of its kin, waits for a signal that is not for the end of the job."""
    return thread.syscall == "rt_sigtimedwait" and bool(thread.signals & WAKES or not thread.signals & ENDS)


def _own_timer(view: SampleView, process: ProcessSample) -> Wait:
    """A wait for the signal of a timer. The kernel shows that there is one, and not when it fires; timeout(1) was told
    that when it was started."""
    below = view.children.get(process.pid, ())
    limit = time_limit(process.cmd) if process.comm == "timeout" else None
    if limit is None:
        return Wait("signal", "waits for a signal, and has made a timer that may send one", below, ends=None)
    left = max(0.0, limit - (view.sample.at - process.start / view.sample.hz))
    return Wait("timer", f"ends what it runs {in_time(left)} at most", below, left)


def time_limit(command: str) -> float | None:
    """Return the seconds after which timeout(1), started by this command line, ends its command; None where it says
    none.
    """
    words = iter(command.split()[1:])
    for word in words:
        if word in ("-k", "-s", "--kill-after", "--signal"):
            next(words, None)
        elif not word.startswith("-"):
            number, unit = (word[:-1], word[-1]) if word[-1] in _UNITS else (word, "s")
            try:
                return float(number) * _UNITS[unit]
            except ValueError:
                return None
    return None


def _futex(view: SampleView, process: ProcessSample, thread: Thread) -> Wait:
    if wants_gil(process, thread):
        return for_gil()
    if thread.timeout != FOREVER:
        ends = None if thread.timeout is None else ends_of(thread)
        return for_timer(ends, before="waits for another thread, ")
    if is_parked(process, thread):
        return Wait("parked", "has nothing to run: its goroutines wait")
    if thread.shared:
        return _common(view, process, thread, "a lock in shared memory")
    return Wait("futex", "waits for another of its threads")


def _common(view: SampleView, process: ProcessSample, thread: Thread, what: str) -> Wait:
    """A wait for what processes share. It is endless where only the tree shares it and no other process could."""
    if thread.timeout is None or thread.timeout != FOREVER:
        return for_timer(ends_of(thread), before=f"waits for {what}, ")
    common = view.sample.commons.get(thread.common)
    if common is None or common.outside or common.reachable:
        others = strangers(common.outside) if common is not None else ""
        whose = f" that {others} outside may release" if others else ""
        # A message is no lock: what is said of one must not send the reader to look for a holder.
        return Wait("other" if thread.syscall.startswith("msg") else "common", f"waits for {what}{whose}", ends=None)
    others_inside = tuple(pid for pid in common.inside if pid != process.pid and pid in view.sample.processes)
    alive = tuple(pid for pid in others_inside if not is_dead(view.sample.processes[pid]))
    if alive:
        return Wait("common", f"waits for {what} that only {view.names(alive)} could give", alive)
    return Wait("common", f"waits for {what} that no other process could give any more")


def _opening(thread: Thread) -> Wait:
    if "fifo" in thread.wchan or "partner" in thread.wchan:
        text = f"opens the FIFO {thread.path or '?'}, and no process opens its other end"
        return Wait("fifo", text, ends=None, channel=FIFO)
    return Wait("disk", f"opens {thread.path or 'a file'}", ends=None)
