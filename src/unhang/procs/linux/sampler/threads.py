"""What the threads of one process do, and for how long they have not run.

`sched` gives the moment a thread last ran, in the clock of the scheduler; reading our own line at the same
time says what that clock shows now, and the difference is how long the thread sleeps. That is the "since when"
that no other file has, and it is readable even for other users' processes. On some virtual machines each CPU
has its own idea of that clock, seconds apart, so the clock is read on the CPU on which the thread last ran.
"""

from __future__ import annotations

import os
import time

from unhang.core.diagnosis.samples import FOREVER, Thread
from unhang.procs.linux import descriptors
from unhang.procs.linux.procfs import read, read_all, split
from unhang.procs.linux.sampler.local_files import is_local
from unhang.procs.linux.sampler.syscalls import READABLE, TABLES, WRITABLE, Call, decode

# A thread costs 25 us. What lies beyond is counted, and named in the notes of the sample.
MOST_THREADS = 256
MOST_EPOLL_TARGETS = 1024
_ONE_SHOT = 1 << 30  # EPOLLONESHOT
_NOWHERE = Call()


class Reader:
    """Reads the threads of one process; keeps its memory open for the time of one look."""

    def __init__(self, pid: int, table: dict[int, str], clocks: SchedulerClocks, still: float | None = None) -> None:
        self._pid = pid
        self._table = table
        self._clocks = clocks
        self._still = still
        self._mem: int | None = None

    def close(self) -> None:
        """Close the memory file of the process, if it was opened."""
        if self._mem is not None and self._mem >= 0:
            os.close(self._mem)
        self._mem = None

    def threads(
        self, count: int, most: int, parts: tuple[str, list[bytes]], status: bytes
    ) -> tuple[tuple[Thread, ...], int]:
        """Return the threads, the main one first, and how many there are. `most` bounds the work.

        `count` is what there were a moment ago. A runtime starts and ends threads of its own: those that have ended
        meanwhile were not left out.

        `parts` and `status` are the process's own: where there is one thread, they are the thread's, too.
        """
        if count == 1:
            return _whole([self._thread(self._pid, f"/proc/{self._pid}/", parts, status)]), count
        try:
            names = sorted(os.listdir(f"/proc/{self._pid}/task"), key=int)
        except OSError:
            return (), count
        main = str(self._pid)
        if main in names:
            names.remove(main)
            names.insert(0, main)
        found = []
        for name in names[:most]:
            where = f"/proc/{self._pid}/task/{name}/"
            seen = split(read(where + "stat", 2048))
            if seen is not None:
                found.append(self._thread(int(name), where, seen, None))
        return _whole(found), len(found) + max(0, len(names) - most)

    def _thread(self, tid: int, where: str, parts: tuple[str, list[bytes]], status: bytes | None) -> Thread:
        comm, fields = parts
        switches, asleep = self._slept(where, fields, status)
        name, call = self._call(read(where + "syscall", 512))
        remaining = call.until
        if remaining is None and call.timeout not in (None, FOREVER) and asleep is not None:
            # A relative timeout began when it fell asleep.
            remaining = max(0.0, (call.timeout or 0.0) - asleep)
        reads, writes, hangups, unseen = call.reads, call.writes, call.hangups, call.unseen
        if call.epoll is not None:
            watched = self._epoll(call.epoll)
            reads, writes, hangups = tuple(watched.reads), tuple(watched.writes), tuple(watched.hangups)
            unseen = not watched.whole
        return Thread(
            tid=tid,
            comm=comm,
            state=fields[0].decode(),
            cpu=int(fields[11]) + int(fields[12]),
            faults=int(fields[7]) + int(fields[9]),
            switches=switches,
            wchan=read(where + "wchan", 128).decode("ascii", "replace").strip("\0\n"),
            syscall=name,
            reads=reads,
            writes=writes,
            timeout=call.timeout,
            remaining=remaining,
            asleep=asleep,
            futex=call.futex,
            owner=call.owner,
            shared=call.shared,
            child=call.child,
            traces=call.traces,
            path=call.path,
            hangups=hangups,
            common=call.ipc,
            signals=call.signals,
            unseen=unseen,
        )

    def _slept(self, where: str, fields: list[bytes], status: bytes | None) -> tuple[int, float | None]:
        """(voluntary switches, for how many seconds it has not run)"""
        runs = fields[0] == b"R"
        if self._still is not None:  # known already: neither the long file nor a visit to another CPU is needed
            return _voluntary(where, status), None if runs else self._still
        switches, ran = _scheduled(read(where + "sched", 8192))
        if switches is None:
            switches = _voluntary(where, status)
        if ran is None or runs:
            return switches, None
        now = self._clocks.now(int(fields[36]) if len(fields) > 36 else 0)
        slept = None if now is None else max(0.0, now - ran)
        # A clock that says it has slept for longer than it exists was not set yet, and says nothing.
        return switches, None if slept is None or slept > _age(fields) + 1 else slept

    def _call(self, line: bytes) -> tuple[str, Call]:
        words = line.split()
        if not words:
            return "", _NOWHERE
        if words[0] == b"running":
            return "running", _NOWHERE
        try:
            number = int(words[0])
            args = [int(word, 16) for word in words[1:7]]
        except ValueError:
            return "", _NOWHERE
        if number < 0 or len(args) < 6:
            return "", _NOWHERE  # blocked outside of any call: a page fault, a signal stop
        name = self._table.get(number)
        if name is None:
            return f"syscall {number}", _NOWHERE
        return name, decode(name, args, self._memory, _clock)

    def _memory(self, address: int, size: int) -> bytes:
        if self._mem is None:
            try:
                self._mem = os.open(f"/proc/{self._pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._mem = -1
        if self._mem < 0 or address <= 0 or address >= 1 << 63:
            return b""
        try:
            return os.pread(self._mem, size, address)
        except (OSError, OverflowError):
            return b""

    def _epoll(self, fd: int, depth: int = 2) -> _Watched:
        """What an epoll set watches; a set inside a set is opened up once."""
        found = _Watched()
        text = read_all(f"/proc/{self._pid}/fdinfo/{fd}", 1 << 18)
        head, _, _ = text.partition(b"tfd:")
        entries = text.split(b"tfd:")[1:]
        found.whole = bool(text) and len(entries) <= MOST_EPOLL_TARGETS
        for line in entries[:MOST_EPOLL_TARGETS]:
            words = line.split()
            try:
                target, events = int(words[0]), int(words[2], 16)
            except (ValueError, IndexError):
                found.whole = False
                continue
            link = descriptors.target(self._pid, target)
            if link and _renumbered(self._pid, target, link, line, head):
                found.whole = False  # the file is open under another number, which nothing tells
            elif depth > 1 and link == "anon_inode:[eventpoll]":
                found.add(self._epoll(target, depth - 1))
            elif events & READABLE:
                found.reads.append(target)
            elif events & WRITABLE:  # a connection being made, for one
                found.writes.append(target)
            elif not events & _ONE_SHOT:  # such a one has had its event, and none comes until it is set again
                found.hangups.append(target)
        return found


class _Watched:
    """The descriptors of an epoll set: to read, to write, to learn of their end; and whether these are all."""

    def __init__(self) -> None:
        self.reads: list[int] = []
        self.writes: list[int] = []
        self.hangups: list[int] = []
        self.whole = True

    def add(self, inner: _Watched) -> None:
        self.reads += inner.reads
        self.writes += inner.writes
        self.hangups += inner.hangups
        self.whole = self.whole and inner.whole


def _renumbered(pid: int, fd: int, link: str, entry: bytes, head: bytes) -> bool:
    """Return whether a number in an epoll set is another file's by now.

    The set keeps the file, and the number under which it was added. A copy of that descriptor keeps the file open when
    the number is given away.
    """
    inode = _after(entry, b"ino:", 16)
    if inode is None:
        return False
    if link.startswith(("socket:[", "pipe:[")):
        return not link.endswith(f":[{inode}]")
    if link.startswith("anon_inode:") and inode == _after(head, b"ino:", 10):
        return False  # they share one inode, and the set itself is one of them
    try:
        if link.startswith("/") and not is_local(pid, link):
            return False
        return os.stat(f"/proc/{pid}/fd/{fd}").st_ino != inode
    except OSError:
        return False


def _after(text: bytes, name: bytes, base: int) -> int | None:
    at = text.find(name)
    try:
        return int(text[at + len(name) :].split(None, 1)[0], base) if at >= 0 else None
    except (ValueError, IndexError):
        return None


def _age(fields: list[bytes]) -> float:
    """For how many seconds a thread exists."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _whole(found: list[Thread]) -> tuple[Thread, ...]:
    tids = {thread.tid for thread in found}
    return tuple(_joined(thread, tids) if thread.shared else thread for thread in found)


def _voluntary(where: str, status: bytes | None) -> int:
    status = read(where + "status") if status is None else status
    at = status.rfind(b"\nvoluntary_ctxt_switches:")
    return 0 if at < 0 else int(status[at + 25 :].split(None, 1)[0])


def _scheduled(text: bytes) -> tuple[int | None, float | None]:
    """(voluntary switches, seconds of the scheduler's clock when it last ran); None where there is no such file."""
    ran = _number(text[at:]) if (at := text.find(b"se.exec_start")) >= 0 else None
    switches = _number(text[at:]) if (at := text.find(b"nr_voluntary_switches")) >= 0 else None
    return None if switches is None else int(switches), None if ran is None else ran / 1000


def _number(text: bytes) -> float | None:
    try:
        return float(text[text.index(b":") + 1 :].split(None, 1)[0])
    except (ValueError, IndexError):
        return None


class SchedulerClocks:
    """What the scheduler's clock shows on a CPU, from the line of the one thread that surely runs there: ours.

    To read it on another CPU we move there for a moment (0.1 ms, and only this thread of ours is moved). The
    entry is as old as the last tick, so it lags by some milliseconds: good enough for seconds.
    """

    MOST = 8

    def __init__(self) -> None:
        self._ahead: dict[int, float | None] = {}  # monotonic time minus that CPU's clock

    def now(self, cpu: int) -> float | None:
        """Return what the scheduler's clock of this CPU shows now, in seconds; None where it cannot be read."""
        if cpu not in self._ahead:
            self._ahead[cpu] = self._read(cpu) if len(self._ahead) < self.MOST else None
        ahead = self._ahead[cpu]
        return None if ahead is None else time.monotonic() - ahead

    @staticmethod
    def _read(cpu: int) -> float | None:
        try:
            allowed = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {cpu})
        except (OSError, ValueError):
            return None
        try:
            ran = _scheduled(read("/proc/thread-self/sched", 8192))[1]
            return None if ran is None else time.monotonic() - ran
        finally:
            try:
                os.sched_setaffinity(0, allowed)
            except OSError:
                pass  # our set of CPUs was changed meanwhile, and the kernel has seen to it


def _joined(thread: Thread, tids: set[int]) -> Thread:
    """pthread_join waits in shared mode for a word that holds the other thread's number: not shared at all."""
    if thread.owner in tids:
        return thread._replace(shared=False)
    return thread._replace(owner=None)


def syscall_table() -> dict[int, str]:
    """Return the names of this machine's system calls by number; empty for an unknown architecture."""
    return TABLES.get(os.uname().machine, {})


def _clock(clock: int) -> float:
    try:
        return time.clock_gettime(clock)
    except (OSError, OverflowError):
        return time.monotonic()
