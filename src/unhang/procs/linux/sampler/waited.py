"""What the kernel says of the descriptors that a thread waits for, and which processes outside hold their other ends.

Only descriptors in a wait are asked about: a timerfd says when it fires, a pidfd whose end it tells, the master of a
terminal which terminal it made, an eventfd its number, which is the same in every process that has it.

A blocked reader of a pipe proves that a write end is open somewhere, or it would have met the end of the file. So where
neither the tree nor the watchdog has it, a stranger does, seen or not.
"""

from __future__ import annotations

import os
import socket
import struct

from unhang.core.diagnosis.descriptors import MASTERS
from unhang.core.diagnosis.samples import FOREVER, Common, Pipe, ProcessSample, Socket, Thread
from unhang.procs.linux.descriptors import targets
from unhang.procs.linux.procfs import read, short_name
from unhang.procs.linux.sampler.files import MOST_FDS_OURS, MOST_FDS_OUTSIDE, MOST_OUTSIDE, UNSEEN, access
from unhang.procs.linux.sampler.maps import read_maps
from unhang.procs.linux.sampler.syscalls import READS, WRITES

# More descriptors of these kinds in one wait are not asked about.
MOST_ASKED = 64
# Who writes to an eventfd when a transfer of Linux's own asynchronous I/O is over.
KERNEL = {0: "the kernel"}
# Processes that are asked who traces them.
MOST_TRACED = 4096
# Eventfds beyond this number may be anybody's.
MOST_EVENTS = 1024
# The same number on every machine.
_PIDFD_GETFD = 438
# The other end of a connection that the kernel does not tell: it is in another network namespace.
UNKNOWN = "socket:[?]"
EVENTFD, TIMERFD, PIDFD = "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:[pidfd"


def waited_for(threads: tuple[Thread, ...]) -> dict[int, tuple[bool, bool]]:
    """Return the descriptors that these threads wait for: (to read, to write)."""
    found: dict[int, tuple[bool, bool]] = {}
    for thread in threads:
        for fd in thread.reads:
            found[fd] = True, found.get(fd, (False, False))[1]
        for fd in thread.writes:
            found[fd] = found.get(fd, (False, False))[0], True
    return found


def timers_and_pids(
    pid: int, fds: dict[int, str], threads: tuple[Thread, ...]
) -> tuple[dict[int, float], dict[int, tuple[int, str]]]:
    """Return when the timerfds that are waited for fire, and whose end the pidfds tell."""
    timers: dict[int, float] = {}
    pids: dict[int, tuple[int, str]] = {}
    for fd in waited_for(threads):
        target = fds.get(fd, "")
        if len(timers) + len(pids) >= MOST_ASKED:
            break
        if target == TIMERFD and (left := _left(_info(pid, fd))) is not None:
            timers[fd] = left
        elif target.startswith(PIDFD) and (other := _integer(_info(pid, fd), b"Pid:")) is not None:
            pids[fd] = other, short_name(other) if other > 0 else ""
    return timers, pids


def patience_of(pid: int, fds: dict[int, str], threads: tuple[Thread, ...]) -> dict[int, float | None]:
    """Return after how many seconds the calls on sockets that these threads sit in give up, if they do or may."""
    found: dict[int, float | None] = {}
    for thread in threads:
        for fd, option in [(fd, socket.SO_RCVTIMEO) for fd in thread.reads] + [
            (fd, socket.SO_SNDTIMEO) for fd in thread.writes
        ]:
            plain = thread.syscall in READS or thread.syscall in WRITES
            if plain and fds.get(fd, "").startswith("socket:") and len(found) < MOST_ASKED:
                after = _timeout(pid, fd, option)
                if after != FOREVER:
                    found[fd] = after
    return found


def _timeout(pid: int, fd: int, option: int) -> float | None:
    """The timeout of a socket. The kernel tells it only through a descriptor, so we get one of our own for a moment."""
    import ctypes  # few trees have a thread in such a call

    try:
        process = os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None
    try:
        copy = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, process, fd, 0)
    finally:
        os.close(process)
    if copy < 0:
        return None
    try:
        mine = socket.socket(fileno=copy)
    except OSError:  # it was closed meanwhile, and its number is another file's now
        os.close(copy)
        return None
    with mine:
        seconds, fraction = struct.unpack("qq", mine.getsockopt(socket.SOL_SOCKET, option, 16))
    return float(seconds + fraction / 1e6) or FOREVER


def masters_of(processes: dict[int, ProcessSample]) -> dict[str, tuple[int, ...]]:
    """Return the terminals that processes of the tree have made: path -> those that hold the master."""
    found: dict[str, dict[int, None]] = {}
    for pid, process in processes.items():
        for fd, target in process.fds.items():
            if target in MASTERS and (index := _integer(_info(pid, fd), b"tty-index:")) is not None:
                found.setdefault(f"/dev/pts/{index}", {})[pid] = None
    return {path: tuple(pids) for path, pids in found.items()}


def tracees_of(processes: dict[int, ProcessSample]) -> dict[int, tuple[tuple[int, str], ...]]:
    """Return what those of the tree that wait as tracers do trace outside of it.

    Few trees have such, so that all processes of the machine may be asked who traces them.
    """
    tracers = {pid for pid, process in processes.items() if any(thread.traces for thread in process.threads)}
    found: dict[int, dict[int, str]] = {}
    names = os.listdir("/proc") if tracers else []
    for name in names[:MOST_TRACED]:
        if name.isdecimal() and int(name) not in processes:
            tracer = _integer(read(f"/proc/{name}/status", 1024), b"TracerPid:")
            if tracer in tracers:
                found.setdefault(tracer, {})[int(name)] = short_name(int(name))
    hidden = UNSEEN if len(names) > MOST_TRACED else {}
    return {pid: tuple(sorted((found.get(pid, {}) | hidden).items())) for pid in tracers}


class Strangers:
    """The processes outside of a tree that hold what a thread in it waits for: one pass over what we may look into."""

    def __init__(
        self,
        processes: dict[int, ProcessSample],
        pipes: dict[str, Pipe],
        sockets: dict[str, Socket],
        keepers: set[int],
        commons: dict[str, Common],
    ) -> None:
        """Look for them. `keepers` are the watchdog's own processes."""
        self._processes = processes
        self._pipes = pipes
        self._needed: dict[str, tuple[bool, bool]] = {}  # pipe -> (a reader, a writer) is waited for
        # The other end of a socket, where the tree has it -> (pid, fd) in the tree that wait for it.
        self._peers: dict[str, list[tuple[int, int]]] = {}
        self._sockets = sockets
        self._held = {target for process in processes.values() for target in process.fds.values()}
        self._talkers: dict[str, dict[int, str]] = {}
        self._events: dict[int, list[tuple[int, int]]] = {}  # number of an eventfd -> (pid, fd) in the tree
        self._has_aio: dict[int, bool] = {}
        self._unasked: list[tuple[int, int]] = []  # (pid, fd) of eventfds beyond the bound
        self._kernel: list[tuple[int, int]] = []  # (pid, fd) of an eventfd that the kernel may write to
        self._holders: dict[str, dict[int, str]] = {}
        self._sharers: dict[int, dict[int, str]] = {}
        self._commons = commons
        self._closed: set[int] = set()  # processes that may not be looked into
        self._cut = False  # more processes or descriptors than are looked at: one of the others may hold it
        for pid, process in processes.items():
            for fd, (reads, writes) in waited_for(process.threads).items():
                self._ask(pid, fd, process.fds.get(fd, ""), reads, writes)
        # Those that share a thing of which nothing tells all holders, and the Unix sockets over which it may have been
        # handed to a process that cannot be looked into.
        self._both = {target: _holders_inside(pipes[target]) for target in self._needed}
        sharing = {pid for each in commons.values() for pid in each.inside}.union(*self._both.values()) | {
            pid
            for pid, process in processes.items()
            if any(process.fds.get(fd) == EVENTFD for fd in waited_for(process.threads))
        }
        self._met = {pid: self._unix_peers(pid) for pid in sharing.intersection(processes)}
        self._unmet = {peer for peers in self._met.values() for peer in peers}
        if self._needed or self._events or self._peers or self._unmet:
            for pid in keepers.difference(processes):  # whole: what we hold ourselves is no stranger's
                self._look(pid, MOST_FDS_OURS)
            names = os.listdir("/proc")
            self._cut |= len(names) > MOST_OUTSIDE
            for name in names[:MOST_OUTSIDE]:
                if name.isdecimal() and int(name) not in processes and int(name) not in keepers:
                    self._look(int(name), MOST_FDS_OUTSIDE)
        self._keepers = keepers

    def _ask(self, pid: int, fd: int, target: str, reads: bool, writes: bool) -> None:
        if target in self._pipes:
            before = self._needed.get(target, (False, False))
            self._needed[target] = before[0] or writes, before[1] or reads
        elif target in self._sockets and (peer := self._sockets[target].peer):
            if peer in self._held or (fd == 0 and self._sockets[target].family == "unix"):
                self._peers.setdefault(peer, []).append((pid, fd))
        elif target == EVENTFD:
            if len(self._events) >= MOST_EVENTS:
                self._unasked.append((pid, fd))
                return
            if pid not in self._has_aio:
                self._has_aio[pid] = _has_aio(pid)
            if self._has_aio[pid]:
                self._kernel.append((pid, fd))
            number = _integer(_info(pid, fd), b"eventfd-id:")
            if number is not None:
                self._events.setdefault(number, []).append((pid, fd))

    def _look(self, pid: int, most: int) -> None:
        seen = targets(pid, most)
        if seen is None or (seen[0] and not any(seen[0].values())):
            self._closed.add(pid)  # of one that hides, the numbers are told at most
        self._cut |= seen is not None and len(seen[0]) >= most
        for fd, target in seen[0].items() if seen is not None else ():
            self._unmet.discard(target)
            if target in self._needed:
                reads, writes = access(pid, fd)
                reader, writer = self._needed[target]
                if (reader and reads) or (writer and writes):
                    self._holders.setdefault(target, {})[pid] = short_name(pid)
            elif target in self._peers:
                self._talkers.setdefault(target, {})[pid] = short_name(pid)
            elif target == EVENTFD and self._events:
                number = _integer(_info(pid, fd), b"eventfd-id:")
                if number in self._events:
                    self._sharers.setdefault(number, {})[pid] = short_name(pid)

    def pipes(self) -> dict[str, Pipe]:
        """Return the pipes, with the strangers that hold the ends that are waited for."""
        found = dict(self._pipes)
        for target in self._needed:
            holders = self._holders.get(target, {})
            ours = not self._keepers.isdisjoint(holders)
            handed = UNSEEN if self._both[target] & self._handing() else {}
            others = self._others(holders | handed)
            found[target] = found[target]._replace(outside=others, ours=ours, searched=True)
        return found

    def processes(self) -> dict[int, ProcessSample]:
        """Return the processes, with the strangers that share an eventfd with them, or the other end of a socket."""
        found = dict(self._processes)
        hidden = self._may_share()
        unseen = [(pid, fd) for waiting in self._events.values() for pid, fd in waiting if pid in hidden]
        seen = [(unseen, UNSEEN)]
        seen += [(waiting, self._sharers.get(number, {})) for number, waiting in self._events.items()]
        seen += [
            (waiting, self._talkers.get(link, {} if link in self._held else UNSEEN))
            for link, waiting in self._peers.items()
        ]
        seen += [(self._kernel, KERNEL), (self._unasked, UNSEEN)]
        for waiting, holders in seen:
            others = self._others(holders)
            for pid, fd in waiting if others else ():
                found[pid] = found[pid]._replace(strangers=found[pid].strangers | {fd: others})
        return found

    def commons(self) -> dict[str, Common]:
        """Return what processes share, with a stranger that may share it, too."""
        hidden = self._may_share()
        return {
            key: each._replace(outside=(*each.outside, *UNSEEN.items())) if hidden.intersection(each.inside) else each
            for key, each in self._commons.items()
        }

    def _unix_peers(self, pid: int) -> set[str]:
        """The other ends of its connections over Unix sockets which no process of the tree has."""
        mine = [self._sockets[link] for link in self._processes[pid].fds.values() if link in self._sockets]
        connected = [each for each in mine if each.family == "unix" and (each.peer or each.state == "ESTABLISHED")]
        return {each.peer or UNKNOWN for each in connected} - self._held

    def _may_share(self) -> set[int]:
        """The processes that may share what they have with one that cannot be looked into.

        It was handed over a Unix socket, of which no process that we see has the other end; or it comes from their
        parent. The first process of the machine gives nothing.
        """
        return self._handing() | {pid for pid in self._met if self._processes[pid].ppid in self._closed - {1}}

    def _handing(self) -> set[int]:
        """The processes that are connected to one that cannot be looked into."""
        return {pid for pid, peers in self._met.items() if peers & self._unmet}

    def _others(self, holders: dict[int, str]) -> tuple[tuple[int, str], ...]:
        return others_of(holders, self._keepers, cut=self._cut)


def _holders_inside(pipe: Pipe) -> set[int]:
    """The processes of a pipe whose two ends the tree has, so that nothing tells whether there is one more."""
    return {pid for pid, _ in (*pipe.readers, *pipe.writers)} if pipe.readers and pipe.writers else set()


def others_of(holders: dict[int, str], keepers: set[int], *, cut: bool) -> tuple[tuple[int, str], ...]:
    """Return the strangers among those that were found to hold an end. `cut`: not all could be looked at, so there may
    be one more that was not found, whatever was.
    """
    strangers = {pid: comm for pid, comm in holders.items() if pid not in keepers}
    return tuple(sorted((strangers | (UNSEEN if cut else {})).items()))


def _has_aio(pid: int) -> bool:
    """Whether a process uses Linux's own asynchronous I/O (`io_setup`), whose rings are among its mappings."""
    if read("/proc/sys/fs/aio-nr", 32).strip() == b"0":  # no process does
        return False
    return b"/[aio]" in read_maps(pid)


def _left(info: bytes) -> float | None:
    """Seconds until a timerfd fires; FOREVER where it is not set."""
    if (ticks := _integer(info, b"ticks:")) is None:
        return None
    at = info.find(b"it_value:")
    words = info[at + 9 :].split(b"\n", 1)[0].strip(b" \t()").split(b",") if at >= 0 else []
    try:
        seconds = int(words[0]) + int(words[1]) / 1e9
    except (IndexError, ValueError):
        return None
    return seconds if seconds > 0 else 0.0 if ticks else FOREVER


def _integer(info: bytes, name: bytes) -> int | None:
    at = info.find(name)
    try:
        return int(info[at + len(name) :].split(None, 1)[0]) if at >= 0 else None
    except (ValueError, IndexError):
        return None


def _info(pid: int, fd: int) -> bytes:
    return read(f"/proc/{pid}/fdinfo/{fd}", 1024)
