"""Reading /proc/PID/stat, the cheap way, and without being fooled by a process called `) R 1`."""

from __future__ import annotations

import os

from unhang.procs.base import Process

# the command of a process that cannot be looked at
GONE = "[gone]"


def read_file(path: str, size: int = 4096) -> bytes | None:
    """None when the process is gone or hides, or when no file can be opened."""
    try:
        return read(path, size)
    except OSError:
        return None


def read(path: str, size: int = 4096) -> bytes:
    """The same, for callers to whom the reason matters. Plain system calls: this is the inner loop of every walk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, size)
        while len(data) == size:  # only `children` of a very broad tree is longer than one read
            more = os.read(fd, 1 << 20)
            if not more:
                break
            data += more
            size = len(data)
        return data
    finally:
        os.close(fd)


def proc_is_ours() -> bool:
    """Does /proc show our own PID namespace? One that was made without a /proc of its own has its parent's, in which
    our numbers name other processes. False also where there is none."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def parse(pid: int, data: bytes) -> tuple[Process, int]:
    """The process and its number of threads. Fields are counted from the *last* `)`: comm may hold anything."""
    close = data.rfind(b")")
    fields = data[close + 2 :].split()
    name = data[data.find(b"(") + 1 : close].decode("utf-8", "replace")
    process = Process(pid, fields[19].decode(), int(fields[1]), fields[0].decode(), name)
    return process, int(fields[17])


def of(pid: int) -> tuple[Process, int] | None:
    data = read_file(f"/proc/{pid}/stat")
    if not data:
        return None
    try:
        return parse(pid, data)
    except (IndexError, ValueError):
        return None  # truncated while the process went away


def start_time(pid: int) -> str | None:
    found = of(pid)
    return found[0].start if found else None


def is_alive(pid: int, start: str) -> bool:
    """The same process, and neither dead nor a zombie."""
    found = of(pid)
    return found is not None and found[0].start == start and found[0].state not in "ZX"


def command_line(pid: int, limit: int = 120) -> str:
    """For people: the command, else the name in brackets as ps shows it; cut, on one line."""
    from unhang.procs.cmdline import shown  # not needed before something is to be named

    text = shown(pid, limit)
    if not text:
        found = of(pid)
        text = f"[{found[0].name}]" if found else GONE
    return "".join(c if c.isprintable() else " " for c in text)


def boot_id() -> str:
    return (read_file("/proc/sys/kernel/random/boot_id") or b"").decode().strip()
