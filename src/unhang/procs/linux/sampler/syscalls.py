"""From a system call's number and arguments to what it waits for.

`/proc/PID/task/TID/syscall` shows six registers. Which of them is a descriptor, a set of them or a timeout
depends on the call, and which number is which call depends on the machine: the numbers of aarch64 are those of
every architecture that came after 2011 (asm-generic), the ones of x86_64 are its own. Both are little-endian
with 64-bit pointers, so behind the name everything is the same.

`decode` reads the target's memory only through the function it is given, so it can be tried without a target.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from unhang.core.diagnosis.samples import FOREVER

X86_64 = {
    0: "read", 1: "write", 2: "open", 7: "poll", 16: "ioctl", 17: "pread64", 18: "pwrite64", 19: "readv",
    20: "writev", 23: "select", 34: "pause", 35: "nanosleep", 40: "sendfile", 42: "connect", 43: "accept",
    44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 65: "semop", 69: "msgsnd",
    70: "msgrcv", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 128: "rt_sigtimedwait",
    130: "rt_sigsuspend", 202: "futex", 208: "io_getevents", 219: "restart_syscall", 220: "semtimedop",
    230: "clock_nanosleep", 232: "epoll_wait", 242: "mq_timedsend", 243: "mq_timedreceive", 247: "waitid",
    257: "openat", 270: "pselect6", 271: "ppoll", 275: "splice", 281: "epoll_pwait", 285: "fallocate",
    288: "accept4", 295: "preadv", 296: "pwritev", 299: "recvmmsg", 326: "copy_file_range",
    426: "io_uring_enter", 437: "openat2", 441: "epoll_pwait2", 449: "futex_waitv", 455: "futex_wait",
}  # fmt: skip
AARCH64 = {
    4: "io_getevents", 22: "epoll_pwait", 25: "fcntl", 29: "ioctl", 32: "flock", 47: "fallocate", 56: "openat",
    63: "read", 64: "write", 65: "readv", 66: "writev", 67: "pread64", 68: "pwrite64", 69: "preadv",
    70: "pwritev", 71: "sendfile", 72: "pselect6", 73: "ppoll", 76: "splice", 82: "fsync", 83: "fdatasync",
    95: "waitid", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 128: "restart_syscall",
    133: "rt_sigsuspend", 137: "rt_sigtimedwait", 182: "mq_timedsend", 183: "mq_timedreceive", 188: "msgrcv",
    189: "msgsnd", 192: "semtimedop", 193: "semop", 202: "accept", 203: "connect", 206: "sendto",
    207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 242: "accept4", 243: "recvmmsg", 260: "wait4",
    285: "copy_file_range", 426: "io_uring_enter", 437: "openat2", 441: "epoll_pwait2", 449: "futex_waitv",
    455: "futex_wait",
}  # fmt: skip
TABLES = {"x86_64": X86_64, "aarch64": AARCH64}

READS = frozenset({"read", "readv", "pread64", "preadv", "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4"})
WRITES = frozenset({"write", "writev", "pwrite64", "pwritev", "sendto", "sendmsg", "connect"})
ENDLESS = READS | WRITES | {"pause", "rt_sigsuspend", "wait4", "waitid", "flock", "fcntl", "open", "openat"}
# More descriptors than this in one poll set are not examined.
MOST_POLLED = 1024

FUTEX_PRIVATE = 128
FUTEX_REALTIME = 256
_FUTEX_WAIT, _FUTEX_LOCK_PI, _FUTEX_WAIT_BITSET, _FUTEX_LOCK_PI2 = 0, 6, 9, 13
_CLOCK_REALTIME, _CLOCK_MONOTONIC = 0, 1
# What poll and epoll report: there is something to read, there is room to write; all else is an end or an error.
READABLE, WRITABLE = 0x0043, 0x0104
_WALL = 0x40000000  # wait for children of every kind, as strace and gdb do
_CONTENDED = 2  # what NPTL leaves in the lock word of a mutex that a thread waits for

Memory = Callable[[int, int], bytes]
Clock = Callable[[int], float]


class Call(NamedTuple):
    """What the registers say. `epoll` is the descriptor of the set, which only the kernel can list."""

    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    epoll: int | None = None
    timeout: float | None = None
    until: float | None = None  # seconds from now, where the deadline is absolute
    futex: int | None = None
    owner: int | None = None
    shared: bool = False
    child: int | None = None
    traces: bool = False
    path: str = ""
    hangups: tuple[int, ...] = ()
    unseen: bool = False
    ipc: str = ""  # kind and number of a System V object
    signals: int = 0  # one bit each


def decode(name: str, args: list[int], memory: Memory, clock: Clock) -> Call:
    """Return what a system call waits for; `args` are the six registers, and unknown parts stay None."""
    if name in READS:
        return Call(reads=(args[0],), timeout=FOREVER)
    if name in WRITES:
        return Call(writes=(args[0],), timeout=FOREVER)
    if name in ("flock", "fcntl", "ioctl"):
        return Call(reads=(args[0],), timeout=FOREVER)
    if name in ("poll", "ppoll"):
        timeout = _milliseconds(args[2]) if name == "poll" else _timespec(args[2], memory)
        reads, writes, hangups = _polled(args[0], args[1], memory)
        whole = args[1] <= MOST_POLLED and (not args[1] or bool(memory(args[0], 8)))
        return Call(reads=reads, writes=writes, timeout=timeout, hangups=hangups, unseen=not whole)
    if name in ("select", "pselect6"):
        unit = 1e6 if name == "select" else 1e9
        # The third set is for news of another kind: urgent data, a change of a file of /proc or /sys.
        reads = (*_bits(args[1], args[0], memory), *_bits(args[3], args[0], memory))
        writes = _bits(args[2], args[0], memory)
        asked = [address for address in args[1:4] if address]
        whole = args[0] <= MOST_POLLED and all(memory(address, 1) for address in asked)
        timeout = _timespec(args[4], memory, unit)
        return Call(reads=reads, writes=writes, timeout=timeout, unseen=not whole)
    if name in ("epoll_wait", "epoll_pwait"):
        return Call(epoll=args[0], timeout=_milliseconds(args[3]))
    if name == "epoll_pwait2":
        return Call(epoll=args[0], timeout=_timespec(args[3], memory))
    if name == "nanosleep":
        return Call(timeout=_timespec(args[0], memory))
    if name == "clock_nanosleep":
        return _sleep_until(args, memory, clock)
    if name == "rt_sigtimedwait":
        return Call(timeout=_timespec(args[2], memory), signals=int.from_bytes(memory(args[0], 8), "little"))
    if name == "futex":
        return _futex(args, memory, clock)
    if name in ("semop", "semtimedop"):
        timeout = FOREVER if name == "semop" else _timespec(args[3], memory)
        return Call(timeout=timeout, ipc=f"sem:{args[0] & 0xFFFFFFFF}")
    if name in ("msgrcv", "msgsnd"):
        return Call(timeout=FOREVER, ipc=f"msg:{args[0] & 0xFFFFFFFF}")
    if name in ("wait4", "waitid"):
        return _wait(name, args)
    if name in ("open", "openat", "openat2"):
        return Call(timeout=FOREVER, path=_text(args[0] if name == "open" else args[1], memory))
    return Call(timeout=FOREVER if name in ENDLESS else None)


def _milliseconds(register: int) -> float:
    value = register & 0xFFFFFFFF
    return FOREVER if value & 0x80000000 else value / 1000


def _timespec(address: int, memory: Memory, unit: float = 1e9) -> float | None:
    if not address:
        return FOREVER
    data = memory(address, 16)
    if len(data) < 16:
        return None
    seconds, fraction = struct.unpack("<qq", data)
    value: float = seconds + fraction / unit
    return value if value >= 0 else None


def _polled(address: int, count: int, memory: Memory) -> tuple[tuple[int, ...], ...]:
    count = min(count, MOST_POLLED)
    data = memory(address, 8 * count) if count else b""
    reads: list[int] = []
    writes: list[int] = []
    hangups: list[int] = []
    for fd, events, _ in struct.iter_unpack("<ihh", data[: len(data) // 8 * 8]):
        if fd >= 0:
            (reads if events & READABLE else writes if events & WRITABLE else hangups).append(fd)
    return tuple(reads), tuple(writes), tuple(hangups)


def _bits(address: int, count: int, memory: Memory) -> tuple[int, ...]:
    count = min(count, MOST_POLLED)
    if not address or count <= 0:
        return ()
    data = memory(address, (count + 63) // 64 * 8)
    return tuple(fd for fd in range(min(count, len(data) * 8)) if data[fd // 8] >> (fd % 8) & 1)


def _sleep_until(args: list[int], memory: Memory, clock: Clock) -> Call:
    value = _timespec(args[2], memory)
    if value is None or value == FOREVER or not args[1] & 1:
        return Call(timeout=value)
    left = max(0.0, value - clock(args[0]))
    return Call(timeout=left, until=left)


def _futex(args: list[int], memory: Memory, clock: Clock) -> Call:
    word, operation, expected, deadline = args[0], args[1], args[2] & 0xFFFFFFFF, args[3]
    kind = operation & 0x7F
    timeout = _timespec(deadline, memory)
    until = None
    if kind != _FUTEX_WAIT and timeout is not None and timeout != FOREVER:
        realtime = kind == _FUTEX_LOCK_PI or bool(operation & FUTEX_REALTIME)
        timeout = until = max(0.0, timeout - clock(_CLOCK_REALTIME if realtime else _CLOCK_MONOTONIC))
    owner = None
    if kind in (_FUTEX_LOCK_PI, _FUTEX_LOCK_PI2):
        held = memory(word, 4)
        owner = struct.unpack("<I", held)[0] & 0x3FFFFFFF if len(held) == 4 else None
    elif kind == _FUTEX_WAIT and expected == _CONTENDED:
        # pthread_mutex_t: lock, count, owner, users. The caller, who knows the threads, checks that it is one.
        held = memory(word, 16)
        owner = struct.unpack("<IIiI", held)[2] if len(held) == 16 else None
    shared = not operation & FUTEX_PRIVATE
    if shared and owner is None:
        owner = expected  # pthread_join: the word holds the number of the thread it waits for
    return Call(timeout=timeout, until=until, futex=word, owner=owner or None, shared=shared)


def _wait(name: str, args: list[int]) -> Call:
    first, second = args[0] & 0xFFFFFFFF, args[1] & 0xFFFFFFFF
    if name == "wait4":
        child = first if 0 < first < 0x80000000 else None
        return Call(timeout=FOREVER, child=child, traces=bool(args[2] & _WALL))
    return Call(timeout=FOREVER, child=second if first == 1 else None, traces=bool(args[3] & _WALL))  # P_PID


def _text(address: int, memory: Memory) -> str:
    """A path; read in two steps because a read across an unmapped page fails whole."""
    to_page_end = 4096 - address % 4096
    data = memory(address, min(to_page_end, 512))
    if b"\0" not in data and data and to_page_end < 512:
        data += memory(address + to_page_end, 512)
    return data.split(b"\0", 1)[0].decode("utf-8", "replace") if b"\0" in data else ""
