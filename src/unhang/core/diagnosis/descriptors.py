"""What a thread waits for when it waits for descriptors: one in read, or many in poll and its kin.

In a set the things differ in weight. A terminal or stdin asks a person; a connection to the outside may be answered at
any moment; a listening socket is a server doing its job; an eventfd, or a pipe of which the process itself holds both
ends, is how a program wakes itself and says nothing.
"""

from __future__ import annotations

from unhang.core.diagnosis.samples import FOREVER, ProcessSample, Socket, Thread
from unhang.core.diagnosis.waits import (
    DESCRIPTOR,
    INTERNAL,
    STDIN,
    TERMINAL,
    SampleView,
    Wait,
    ends_of,
    for_loop,
    for_timer,
    is_terminal,
)
from unhang.core.durations import human

# In a set, the first of these that is there names the wait.
# A server with idle connections is a server, so listening comes before them.
ORDER = ("input", "listen", "net", "peer", "pipe_write", "pipe_read", "self_pipe", "watch", "other")


def descriptors(view: SampleView, process: ProcessSample, thread: Thread) -> Wait:
    """The wait of a thread that sits in a call on the descriptors it `reads` and `writes`."""
    ends = ends_of(thread)
    single = len(thread.reads) + len(thread.writes) == 1 and not _in_set(thread)
    asked = [(fd, False) for fd in thread.reads] + [(fd, True) for fd in thread.writes]
    seen = [_one(view, process, thread, fd, writing, single) for fd, writing in asked]
    found = [wait for wait in seen if wait is not None]
    if not found:
        return for_timer(ends) if ends != FOREVER else for_loop(view, process, ends)
    found.sort(key=lambda wait: ORDER.index(wait.kind) if wait.kind in ORDER else len(ORDER))
    first = found[0]
    others = {wait.kind for wait in found} - {first.kind}
    on = tuple(dict.fromkeys(pid for wait in found for pid in wait.on))
    shared = bool(others & {"net", "listen", "peer", "other", "watch"})
    # One of several may come from outside at any moment, even where the first alone never would.
    until = ends if ends != FOREVER else None if any(wait.ends is None for wait in found) else first.ends
    return first._replace(on=on, shared=shared, ends=until, beside=tuple(found[1:]))


def _in_set(thread: Thread) -> bool:
    return "poll" in thread.syscall or "select" in thread.syscall


def _one(view: SampleView, process: ProcessSample, thread: Thread, fd: int, writing: bool, single: bool) -> Wait | None:
    target = process.fds.get(fd, "")
    if target in INTERNAL:
        # In a set it is how the loop wakes itself; a plain read of one waits for another thread.
        return None if not single else Wait("futex", "waits for another of its threads (eventfd)")
    if is_terminal(target):
        if writing:
            return Wait("other", "waits to write to its terminal", ends=None)
        return Wait("input", "waits for input on its terminal", channel=TERMINAL)
    if target in view.sample.pipes:
        return _pipe(view, process, fd, target, writing, single)
    if target.startswith("socket:"):
        return _socket(view, process, thread, fd, target, single)
    if target == "anon_inode:[timerfd]":
        return Wait("other", "waits for a timer (timerfd)", ends=None)
    if target == "anon_inode:inotify" or target.startswith("anon_inode:[fanotify"):
        return Wait("watch", "watches files for changes", ends=None)
    if target.startswith("anon_inode:[pidfd"):
        below = view.children.get(process.pid, ())
        return Wait("child", "waits for a child", below, FOREVER if below else None)
    if not target and fd > 2:
        return Wait("other", f"waits for descriptor {fd}", ends=None)
    return Wait("other", f"waits for {target or 'a closed descriptor'}", ends=None)


def _pipe(view: SampleView, process: ProcessSample, fd: int, target: str, writing: bool, single: bool) -> Wait | None:
    pipe = view.sample.pipes[target]
    ends_held = pipe.readers if writing else pipe.writers
    partners = tuple(dict.fromkeys(pid for pid, _ in ends_held if pid != process.pid))
    own = any(pid == process.pid for pid, _ in ends_held)
    name = "a pipe" if target.startswith("pipe:") else f"the FIFO {target}"
    channel, where = (STDIN, "stdin") if fd == 0 else (DESCRIPTOR, f"descriptor {fd}")
    if partners:
        names = view.names(partners)
        if writing:
            return Wait("pipe_write", f"writes to a full pipe that {names} does not read", partners)
        return Wait("pipe_read", f"reads {name} that {names} may write to", partners)
    if pipe.outside:
        names = ", ".join(f"{comm} [{pid}]" for pid, comm in pipe.outside[:3])
        if writing:
            return Wait("other", f"writes to a pipe that {names} outside does not read", ends=None)
        kind = "input" if fd == 0 else "other"
        return Wait(kind, f"waits for {names} outside to write to its {where}", ends=None, channel=channel)
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
    if process.pid in partners:
        # It talks to itself: the other end is for its own threads, whatever a fork has inherited of it.
        return Wait("futex", "waits for another of its threads (socket)") if single else None
    if partners:
        return Wait("peer", f"waits for {view.names(partners)} over a socket", partners)
    if fd == 0 and seen.family == "unix":
        text = "waits for input on stdin (a socket that no process of the job writes to)"
        return Wait("input", text, channel=STDIN)
    if seen.family == "udp" and not seen.remote and seen.local:
        return Wait("listen", f"waits for packets on {seen.local}", ends=None)
    return Wait("net", _peer_text(seen), ends=None, socket=seen)


def _peer_text(seen: Socket) -> str:
    if seen.family == "unix":
        return f"waits for a process outside of the job over a Unix socket {seen.local}".rstrip()
    if seen.state == "SYN_SENT":
        return f"connects to {seen.remote}, no answer yet"
    if seen.state == "CLOSE_WAIT":
        return f"waits on {seen.remote}, which has closed the connection"
    quiet = f", no byte for {human(seen.since_receive)}" if seen.since_receive is not None else ""
    if seen.received == 0:
        quiet = ", not one byte received" + (f" in {human(seen.since_receive)}" if seen.since_receive else "")
    return f"waits for {seen.remote or 'its peer'}, connected{quiet}"
