"""What a thread waits for when it waits for descriptors: one in read, or many in poll and its kin.

In a set the things differ in weight. A terminal or stdin asks a person; a connection to the outside may be answered at
any moment; a listening socket is a server doing its job; an eventfd, or a pipe of which the process itself holds both
ends, is how a program wakes itself and says nothing.
"""

from __future__ import annotations

from unhang.core.diagnosis.samples import FOREVER, ProcessSample, Socket, Thread
from unhang.core.diagnosis.time_left import in_ms, quiet_words
from unhang.core.diagnosis.waits import (
    DESCRIPTOR,
    FIFO,
    INTERNAL,
    STDIN,
    TERMINAL,
    SampleView,
    Wait,
    ends_of,
    for_loop,
    for_timer,
    is_terminal,
    own_terminal,
    strangers,
)

# The end of a terminal that belongs to the program which made it.
MASTERS = ("/dev/ptmx", "/dev/pts/ptmx")
# Through these the kernel itself may write to an eventfd, when a transfer or a timer of theirs is over.
RINGS = ("anon_inode:[io_uring]", "anon_inode:io_uring")
# By this FIFO a program tells its fellows that settings have changed, which they read again, and wait on.
NOTICES = {"fish": "/fish_universal_variables.notifier"}
# In a set, the first of these that is there names the wait.
# A server with idle connections is a server, so listening comes before them.
ORDER = ("input", "listen", "fifo", "net", "peer", "terminal", "pipe_write", "pipe_read", "self_pipe", "watch", "other")


def descriptors(view: SampleView, process: ProcessSample, thread: Thread) -> Wait:
    """Return the wait of a thread that sits in a call on the descriptors it `reads` and `writes`."""
    ends = ends_of(thread)
    single = len(thread.reads) + len(thread.writes) == 1 and not _in_set(thread)
    closed = [_hangup(process.fds.get(fd, "")) for fd in thread.hangups]
    asked = [(fd, False) for fd in thread.reads] + [(fd, True) for fd in thread.writes]
    seen = [_one(view, process, thread, fd, writing, single) for fd, writing in asked]
    found = [wait for wait in seen if wait is not None] + closed
    if not found:
        return for_timer(ends) if ends != FOREVER else for_loop(view, process, ends)
    found.sort(key=lambda wait: ORDER.index(wait.kind) if wait.kind in ORDER else len(ORDER))
    first = found[0]
    if (relay := _relay(found, ends)) is not None:
        return relay
    others = {wait.kind for wait in found} - {first.kind}
    on = tuple(dict.fromkeys(pid for wait in found for pid in wait.on))
    fires = [wait.ends for wait in found if wait.kind == "timer" and wait.ends is not None]
    ends = None if ends is None else min([ends, *fires])
    shared = bool(others & {"net", "listen", "peer", "other", "watch"})
    # One of several may come from outside at any moment, even where the first alone never would.
    until = ends if ends != FOREVER else None if any(wait.ends is None for wait in found) else first.ends
    stranger = any(wait.stranger for wait in found)
    return first._replace(on=on, shared=shared, ends=until, beside=tuple(found[1:]), stranger=stranger)


def _relay(found: list[Wait], ends: float | None) -> Wait | None:
    """The wait of a program that passes its own terminal on to one that it made: those who use that one are asked.

    A server of terminals (tmux, screen) has timers for its status line only; another's timeout may end the job.
    """
    users = next((wait.on for wait in found if wait.kind == "terminal"), ())
    if not users or found[0].channel != TERMINAL or any(wait.stranger for wait in found):
        return None
    serves = any(wait.kind == "listen" for wait in found)
    return Wait("peer", "passes its terminal on to the one that it made", users, FOREVER if serves else ends)


def _hangup(target: str) -> Wait:
    return Wait("other", f"waits for the other end of {target or 'a descriptor'} to be closed", ends=None)


def _in_set(thread: Thread) -> bool:
    return "poll" in thread.syscall or "select" in thread.syscall


def _one(view: SampleView, process: ProcessSample, thread: Thread, fd: int, writing: bool, single: bool) -> Wait | None:
    target = process.fds.get(fd, "")
    if target in INTERNAL:
        if others := process.strangers.get(fd):
            text = f"waits for {strangers(others)} outside of the job, with which it shares an eventfd"
            return Wait("other", text, ends=None, stranger=True)
        if any(held.startswith(RINGS) for held in process.fds.values()):
            return Wait("other", "waits for an eventfd that the kernel may write to (io_uring)", ends=None)
        # In a set it is how the loop wakes itself; a plain read of one waits for another thread.
        return Wait("self_pipe", "waits for an eventfd that only it could write to") if single else None
    if target in MASTERS:
        return _master(view, process)
    if is_terminal(target):
        if writing:
            return Wait("other", "waits to write to its terminal", ends=None)
        if not own_terminal(view, process, target):
            text = f"waits for a process outside of the job to write to the terminal {target}"
            return Wait("other", text, ends=None, stranger=True)
        if others := process.strangers.get(fd):
            text = f"waits for input on its terminal, at which {strangers(others)} may type"
            return Wait("input", text, ends=None, channel=TERMINAL, stranger=True)
        return Wait("input", "waits for input on its terminal", ends=_patience(view, target, thread), channel=TERMINAL)
    if target in view.sample.pipes:
        return _pipe(view, process, fd, target, writing, single)
    if target.startswith("socket:"):
        return _socket(view, process, thread, fd, target, single)
    if target == "anon_inode:[timerfd]":
        return _timer(process, fd, single)
    if target == "anon_inode:inotify" or target.startswith("anon_inode:[fanotify"):
        return Wait("watch", "watches files for changes", ends=None)
    if target.startswith("anon_inode:[pidfd"):
        return _pidfd(view, process, fd)
    if not target and fd > 2:
        return Wait("other", f"waits for descriptor {fd}", ends=None)
    return Wait("other", f"waits for {target or 'a closed descriptor'}", ends=None)


def _patience(view: SampleView, target: str, thread: Thread) -> float:
    """After how long a read of a terminal returns without a key. One that polls it says itself how long it waits."""
    terminal = view.sample.terminal
    if terminal is None or terminal.path not in ("", target) or _in_set(thread):
        return FOREVER
    left = terminal.patience - (thread.asleep or 0.0)
    return max(0.0, left)


def _timer(process: ProcessSample, fd: int, single: bool) -> Wait | None:
    if fd not in process.timerfds:
        return Wait("other", "waits for a timer (timerfd)", ends=None)
    left = process.timerfds[fd]
    if left == FOREVER:  # in a set it is a timer that is not in use
        return Wait("timer", "waits for a timer that is not set (timerfd)") if single else None
    return for_timer(left)


def _pidfd(view: SampleView, process: ProcessSample, fd: int) -> Wait:
    below = view.children.get(process.pid, ())
    if fd in process.pidfds:
        pid, comm = process.pidfds[fd]
        if pid in view.sample.processes:
            return Wait("child", f"waits for the end of {view.names((pid,))}", (pid,))
        if pid > 0:
            text = f"waits for the end of {comm} [{pid}], which is no process of the job"
            return Wait("other", text, ends=None, stranger=True)
    return Wait("child", "waits for a child", below, FOREVER if below else None)


def _master(view: SampleView, process: ProcessSample) -> Wait:
    """The wait of a program that has made a terminal for others, such as `script`, `expect` and tmux."""
    users = view.terminals.get(process.pid, ())
    if not any(view.sample.processes[pid].tty in view.made_by(process.pid) for pid in users):
        # A line, at which no session sits: any process may open it by its name.
        return Wait("other", "waits for the terminal that it made", ends=None)
    return Wait("terminal", f"waits for {view.names(users)} on the terminal that it made", users)


def _pipe(view: SampleView, process: ProcessSample, fd: int, target: str, writing: bool, single: bool) -> Wait | None:
    if not writing and not single and target.endswith(NOTICES.get(process.comm, "\0")):
        return None
    pipe = view.sample.pipes[target]
    ends_held = pipe.readers if writing else pipe.writers
    partners = tuple(dict.fromkeys(pid for pid, _ in ends_held if pid != process.pid))
    own = any(pid == process.pid for pid, _ in ends_held)
    name = "a pipe" if target.startswith("pipe:") else f"the FIFO {target}"
    channel, where = (STDIN, "stdin") if fd == 0 else (DESCRIPTOR, f"descriptor {fd}")
    stranger = strangers(pipe.outside)
    # A FIFO has a name: any process may open it, write a line or read what is in it, and close it again.
    reachable = not target.startswith("pipe:") and not target.endswith(" (deleted)")
    if partners:
        names = view.names(partners)
        until = None if pipe.outside or reachable else FOREVER
        if pipe.outside:
            names += f" and, outside of the job, {stranger}"
        if writing:
            text = f"writes to a full pipe that {names} does not read"
            return Wait("pipe_write", text, partners, until, stranger=bool(pipe.outside))
        text = f"reads {name} that {names} may write to"
        return Wait("pipe_read", text, partners, until, stranger=bool(pipe.outside))
    if not stranger and pipe.searched and not pipe.ours and not own:
        # A reader without any writer would have met the end of the file, and a writer without a reader an error.
        stranger = "a process that cannot be seen"
    if stranger:
        if writing:
            text = f"writes to a pipe that {stranger} outside does not read"
            return Wait("other", text, ends=None, stranger=True)
        kind = "input" if fd == 0 else "other"
        text = f"waits for {stranger} outside to write to its {where}"
        return Wait(kind, text, ends=None, channel=channel, stranger=True)
    if own and reachable:
        does = "which any process may read" if writing else "to which any process may write"
        text = f"waits for {name} of which it holds both ends itself, and {does}"
        return Wait("fifo", text, ends=None, channel=FIFO)
    if own:
        return Wait("self_pipe", f"waits for {name} of which it holds both ends") if single else None
    if writing:
        return Wait("other", "writes to a pipe whose reader outside of the job does not read", ends=None)
    text = f"waits for input on {where} ({name} that no process of the job writes to)"
    return Wait("input", text, channel=channel)


def _socket(
    view: SampleView, process: ProcessSample, thread: Thread, fd: int, target: str, single: bool
) -> Wait | None:
    seen = view.sample.sockets.get(target)
    if seen is None:
        if thread.syscall in ("accept", "accept4"):
            return Wait("listen", "waits for connections", ends=None)
        return Wait("net", "waits for a socket", ends=None)
    if seen.state == "LISTEN":
        return Wait("listen", f"waits for connections on {seen.local or 'a Unix socket'}", ends=None)
    partners = view.holders.get(seen.peer, ()) if seen.peer else ()
    # No program gives the job's own stdin a timeout, so there it counts only where it was read.
    if single and fd in process.patience and (partners or (fd == 0 and process.patience[fd] is not None)):
        return _gives_up(process.patience[fd], thread)
    if partners and (others := process.strangers.get(fd)):
        text = f"waits for {strangers(others)} outside of the job over a socket"
        return Wait("net", text, ends=None, socket=seen, stranger=True)
    if process.pid in partners:
        # It talks to itself: the other end is for its own threads, whatever a fork has inherited of it.
        return Wait("self_pipe", "waits for a socket of which it holds both ends") if single else None
    if partners:
        return Wait("peer", f"waits for {view.names(partners)} over a socket", partners)
    if fd == 0 and seen.family == "unix" and (others := process.strangers.get(fd)):
        text = f"waits for {strangers(others)} outside to write to its stdin"
        return Wait("input", text, ends=None, channel=STDIN, stranger=True)
    if fd == 0 and seen.family == "unix":
        text = "waits for input on stdin (a socket that no process of the job writes to)"
        return Wait("input", text, channel=STDIN)
    if seen.family == "udp" and not seen.remote and seen.local:
        return Wait("listen", f"waits for packets on {seen.local}", ends=None)
    return Wait("net", _peer_text(seen), ends=None, socket=seen)


def _gives_up(after: float | None, thread: Thread) -> Wait:
    """The wait of a call on a socket that has a timeout of its own (SO_RCVTIMEO, SO_SNDTIMEO)."""
    if after is None:
        return Wait("other", "waits on a socket, and may have told it to give up", ends=None)
    return for_timer(max(0.0, after - (thread.asleep or 0.0)), before="waits on a socket, ")


def _peer_text(seen: Socket) -> str:
    if seen.family == "unix":
        return f"waits for a process outside of the job over a Unix socket {seen.local}".rstrip()
    if seen.state == "SYN_SENT":
        return f"connects to {seen.remote}, no answer yet"
    if seen.state == "CLOSE_WAIT":
        return f"waits on {seen.remote}, which has closed the connection"
    quiet = quiet_words(seen.received, None if seen.since_receive is None else in_ms(seen.since_receive))
    return f"waits for {seen.remote or 'its peer'}, connected{quiet}"
