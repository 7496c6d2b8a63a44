"""From a thread to its wait: which system call it sits in, and what that means."""

from __future__ import annotations

from unhang.core.diagnosis.descriptors import descriptors
from unhang.core.diagnosis.samples import FOREVER, Process, Thread
from unhang.core.diagnosis.waits import View, Wait, ends_of, lock_text, loop, timer_text

WAITS_FOR_SIGNAL = frozenset({"pause", "rt_sigsuspend", "rt_sigtimedwait"})
SLEEPS = frozenset({"nanosleep", "clock_nanosleep"})
SETS = frozenset({"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"})


def wait_of(view: View, process: Process, thread: Thread) -> Wait:
    if thread.state in ("T", "t"):
        return _stopped(view, process, thread)
    if thread.state == "R" or thread.syscall == "running":
        return Wait("running", "runs", ends=None)
    lock = process.lock
    if lock is not None and lock.blocked and (thread.syscall in ("flock", "fcntl") or "lock" in thread.wchan):
        inside = (lock.holder,) if lock.holder in view.sample.processes and lock.holder is not None else ()
        return Wait("lock", lock_text(process), inside)
    if "vfork" in thread.wchan or thread.wchan == "kernel_clone":
        return _child(view, process, thread)
    if thread.state == "D":
        return Wait("disk", f"waits for a device ({thread.wchan or 'uninterruptible'})", ends=None)
    name = thread.syscall
    if not name:
        return Wait("hidden" if process.hidden else "unknown", _unseen(process, thread), ends=None)
    if name == "restart_syscall":
        # Interrupted by a stop and gone on since. Only calls with a timeout are restarted this way.
        return Wait("timer", "sleeps, with a timeout", ends=None)
    if name in ("wait4", "waitid"):
        return _child(view, process, thread)
    if name in WAITS_FOR_SIGNAL:
        return _signal(view, process, thread)
    if name in SLEEPS:
        return Wait("timer", timer_text(thread), ends=ends_of(thread))
    if name in ("futex", "futex_waitv", "futex_wait"):
        return _futex(thread)
    if name in ("open", "openat", "openat2"):
        return _opening(thread)
    if thread.unseen:
        return Wait("unknown", f"waits in {name} for what could not be read", ends=None)
    if thread.reads or thread.writes:
        return descriptors(view, process, thread)
    if name in SETS:
        return _empty_set(view, process, thread)
    return Wait("unknown", f"is in {name}", ends=None)


def _unseen(process: Process, thread: Thread) -> str:
    if process.hidden:
        return "cannot be looked into (another user's or setuid)"
    return f"sleeps in {thread.wchan}" if thread.wchan and thread.wchan != "0" else "sleeps"


def _stopped(view: View, process: Process, thread: Thread) -> Wait:
    if thread.state == "t":
        return Wait("traced", "is stopped by a debugger", ends=None)
    terminal = view.sample.terminal
    foreground = terminal.foreground if terminal is not None and terminal.foreground else process.tpgid
    if process.tty and foreground > 0 and foreground != process.pgid:
        return Wait("stopped", "stopped by SIGTTIN or SIGTTOU: a background job used the terminal")
    return Wait("stopped", "is stopped (SIGSTOP or SIGTSTP); SIGCONT would continue it")


def _child(view: View, process: Process, thread: Thread) -> Wait:
    below = view.children.get(process.pid, ())
    if thread.child is not None and thread.child in view.sample.processes:
        below = (thread.child,)
    if not below:
        # Its child may have ended this very moment, or is traced by somebody else.
        return Wait("child", "waits for a child", ends=None)
    names = ", ".join(f"{view.sample.processes[pid].comm} [{pid}]" for pid in below[:3])
    return Wait("child", f"waits for its child {names}", below)


def _signal(view: View, process: Process, thread: Thread) -> Wait:
    ends = ends_of(thread) if thread.syscall == "rt_sigtimedwait" else FOREVER
    if below := view.children.get(process.pid, ()):
        return Wait("child", "waits for a signal, and has children", below, ends)
    if process.catches_alarm:
        return Wait("signal", "waits for a signal; it may have set itself an alarm", ends=ends)
    return Wait("signal", f"waits for a signal ({thread.syscall})", ends=ends)


def _futex(thread: Thread) -> Wait:
    if thread.timeout is None:
        return Wait("timer", "waits for another thread, with a timeout", ends=None)
    if thread.timeout != FOREVER:
        return Wait("timer", f"waits for another thread, {timer_text(thread)}", ends=ends_of(thread))
    if thread.shared:
        return Wait("futex", "waits for a lock in shared memory", ends=None)
    return Wait("futex", "waits for another of its threads")


def _opening(thread: Thread) -> Wait:
    if "fifo" in thread.wchan or "partner" in thread.wchan:
        return Wait("fifo", f"opens the FIFO {thread.path or '?'}, and nobody opens its other end")
    return Wait("disk", f"opens {thread.path or 'a file'}", ends=None)


def _empty_set(view: View, process: Process, thread: Thread) -> Wait:
    ends = ends_of(thread)
    if ends != FOREVER:
        return Wait("timer", timer_text(thread), ends=ends)
    return loop(view, process, ends)
