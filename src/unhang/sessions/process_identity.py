"""Is this still the same process, whose is it, and is it the one in front on its terminal?"""

from __future__ import annotations

import os
import time

from unhang.core.record import Record
from unhang.procs.stat import read_file

# What a process was started with, as far as it concerns us. Nothing else of its environment is kept.
_OF_INTEREST = (b"TMUX=", b"TMUX_PANE=", b"CLAUDE_CONFIG_DIR=")


class Identity(Record):
    pid: int
    start: str  # ticks since boot
    ppid: int
    state: str
    group: int
    session: int
    tty: int  # as the kernel numbers it; 0: none
    foreground: int  # the group in front on that terminal
    name: str


def of(pid: int) -> Identity | None:
    data = read_file(f"/proc/{pid}/stat")
    if not data:
        return None
    close = data.rfind(b")")
    fields = data[close + 2 :].split()
    try:
        state, ppid, group, session, tty, front = fields[0].decode(), *(int(word) for word in fields[1:6])
        name = data[data.find(b"(") + 1 : close].decode("utf-8", "replace")
        return Identity(pid, fields[19].decode(), ppid, state, group, session, tty & 0xFFFFFFFF, front, name)
    except (IndexError, ValueError):
        return None


def alive(pid: int, start: str) -> Identity | None:
    """The same process, neither dead nor a zombie, and ours to touch."""
    found = of(pid)
    if found is None or found.start != start or found.state in "ZX":
        return None
    try:
        return found if os.stat(f"/proc/{pid}").st_uid == os.geteuid() else None
    except OSError:
        return None


def age(start: str) -> float:
    """Seconds since a process with this start began. By the clock that the kernel itself uses for it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(start) / os.sysconf("SC_CLK_TCK")


def environment(pid: int) -> dict[str, str]:
    """TMUX, TMUX_PANE and CLAUDE_CONFIG_DIR, where it has them."""
    data = read_file(f"/proc/{pid}/environ", 1 << 16) or b""
    found: dict[str, str] = {}
    for entry in data.split(b"\0"):
        if entry.startswith(_OF_INTEREST):
            name, _, value = os.fsdecode(entry).partition("=")
            found[name] = value
    return found


def is_terminal(found: Identity, path: str) -> bool:
    """Its controlling terminal is this device."""
    try:
        device = os.stat(path).st_rdev
    except OSError:
        return False
    minor = (found.tty & 0xFF) | ((found.tty >> 12) & 0xFFF00)
    return found.tty != 0 and (os.major(device), os.minor(device)) == ((found.tty >> 8) & 0xFFF, minor)


def is_below(pid: int, ancestor: int) -> bool:
    """`pid` is `ancestor` or descends from it."""
    for _ in range(64):
        if pid == ancestor:
            return True
        found = of(pid)
        if found is None or found.ppid <= 0:
            return False
        pid = found.ppid
    return False
