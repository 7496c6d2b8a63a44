"""What /proc says about a process. Here is the one parser of /proc/PID/stat.

`comm` may hold anything, also `) R 1`, so the line is cut at its *last* closing bracket. Files are read by plain
system calls: a look at 200 processes is a thousand reads, and `open()` costs three times as much.
"""

from __future__ import annotations

import os

from unhang.procs.base import ProcessInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 1 << 16


def read(path: str, most: int = _MOST) -> bytes:
    """Return what one read gives (/proc answers whole), or nothing where the file is gone or forbidden."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, most)
    except OSError:
        return b""
    finally:
        os.close(fd)


def read_all(path: str, most: int = 1 << 22) -> bytes:
    """Return the whole of a file that may be longer than one read (/proc/locks, an environment)."""
    try:
        return read_or_raise(path, most)
    except OSError:
        return b""


def read_or_raise(path: str, most: int = 1 << 22) -> bytes:
    """Return the whole of a file, for callers to whom the reason of a failure matters."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, 4096)
        while data and len(data) < most and (more := os.read(fd, _MOST)):
            data += more
        return data
    finally:
        os.close(fd)


def split(line: bytes) -> tuple[str, list[bytes]] | None:
    """Return (comm, fields from `state` on) of a stat line; None when the process is gone.

    Fields by their index here: 0 state, 1 ppid, 2 pgid, 3 sid, 4 tty, 5 tpgid, 7 minflt, 9 majflt, 11 utime,
    12 stime, 13 cutime, 14 cstime, 17 threads, 19 start, 21 rss (proc(5) counts from 1 and two more).
    """
    close = line.rfind(b")")
    begin = line.find(b"(")
    if begin < 0 or close < begin:
        return None
    fields = line[close + 2 :].split()
    if len(fields) < 22:
        return None
    return line[begin + 1 : close].decode("utf-8", "replace"), fields


def is_dead(fields: list[bytes]) -> bool:
    """Return whether the process has ended and only waits to be collected, so that its end shows as an end.

    Where it has more threads, only the first of them has ended, and the answer is no.
    """
    return fields[0] in (b"Z", b"X") and int(fields[17]) <= 1


def find(pid: int) -> ProcessInfo | None:
    """Return the process that has this number, dead or alive; None: there is none, or it cannot be looked at."""
    parts = split(read(f"/proc/{pid}/stat", 2048))
    if parts is None:
        return None
    name, fields = parts
    try:
        ppid, group, session, tty, foreground = (int(word) for word in fields[1:6])
        return ProcessInfo(
            pid,
            fields[19].decode(),
            ppid,
            fields[0].decode(),
            name,
            group,
            session,
            _device(tty),
            max(0, foreground),
            int(fields[17]),
        )
    except ValueError:
        return None  # cut off while the process went away


def _device(tty: int) -> int:
    """The kernel packs a terminal's device number in its own old way."""
    tty &= 0xFFFFFFFF
    return os.makedev((tty >> 8) & 0xFFF, (tty & 0xFF) | ((tty >> 12) & 0xFFF00)) if tty else 0


def every() -> Iterator[ProcessInfo]:
    """Return every process that can be seen, zombies included, in no order."""
    for name in os.listdir("/proc"):
        if name.isdecimal() and (process := find(int(name))) is not None:
            yield process


def sees_own_namespace() -> bool:
    """Return whether /proc shows our own PID namespace.

    One that was made without a /proc of its own has its parent's, in which our numbers name other processes. False
    also where there is no /proc.
    """
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def age(start: str) -> float:
    """Return the seconds since a process with this start time began, by the clock that the kernel uses for it."""
    from unhang.procs import clock

    return clock.monotonic() - int(start) / os.sysconf("SC_CLK_TCK")


def argv(pid: int, most: int = 1 << 18) -> list[str]:
    """Return the arguments it was started with; empty: it has none (a kernel thread, a zombie), or is gone."""
    return _entries(f"/proc/{pid}/cmdline", most)


def environment(pid: int, most: int = 1 << 22) -> dict[str, str]:
    """Return the environment it was started with; empty where we may not see it."""
    return dict(entry.partition("=")[::2] for entry in _entries(f"/proc/{pid}/environ", most) if "=" in entry)


def _entries(path: str, most: int) -> list[str]:
    data = read(path, most) if most <= _MOST else read_all(path, most)
    return os.fsdecode(data[:most].rstrip(b"\0")).split("\0") if data else []


def short_name(pid: int) -> str:
    """Return the kernel's name of a process (`comm`, at most 15 characters); empty if it is gone."""
    return read(f"/proc/{pid}/comm", 64).decode("utf-8", "replace").strip()


def executable(pid: int) -> str:
    """Return the path of the program that it runs. OSError: it is gone, or not ours to look into."""
    return os.readlink(f"/proc/{pid}/exe")


def working_directory(pid: int) -> str:
    """Return the directory it works in. OSError: it is gone, or not ours to look into."""
    return os.readlink(f"/proc/{pid}/cwd")


def owner(pid: int) -> int | None:
    """Return the user it runs as; None: it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def ignores(pid: int, number: int) -> bool:
    """Return whether the process was seen to ignore a signal."""
    for line in read(f"/proc/{pid}/status", 4096).split(b"\n"):
        if line.startswith(b"SigIgn:"):
            return bool(int(line[7:], 16) & (1 << (number - 1)))
    return False


def lock_limit(pid: int) -> int | None:
    """Return its soft RLIMIT_LOCKS, in which jobs are tagged (`markers`); None: unlimited, or unknown."""
    limits = read(f"/proc/{pid}/limits")
    at = limits.find(b"Max file locks")
    word = limits[at + 14 : limits.find(b"\n", at)].split(None, 1)[0] if at >= 0 else b""
    return int(word) if word.isdigit() else None


def boot_id() -> str:
    """Return what names this boot of this machine; empty: unknown."""
    return read("/proc/sys/kernel/random/boot_id").decode().strip()


def pid_namespace() -> str:
    """Return the PID namespace of this process as the kernel writes it; empty: unknown."""
    return _namespace("pid")


def time_namespace() -> str:
    """Return the time namespace of this process, by whose clock it is told all start times; empty: unknown."""
    return _namespace("time")


def _namespace(kind: str) -> str:
    try:
        return os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return ""


def memory_kills() -> int | None:
    """Return how many processes the kernel has ended for want of memory since the boot; None where it does not say."""
    _, found, rest = read_all("/proc/vmstat").partition(b"\noom_kill ")  # each keeper asks for it before its job runs
    return int(rest.split(maxsplit=1)[0]) if found else None
