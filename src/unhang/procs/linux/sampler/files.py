"""Descriptors: what they are, which end of a pipe they hold, and what the terminal is set to."""

from __future__ import annotations

import os
import termios

from unhang.core.diagnosis.samples import Pipe, ProcessSample, TerminalSettings
from unhang.procs.linux.descriptors import targets
from unhang.procs.linux.procfs import read

# A process with 100,000 descriptors is looked at as one with this many, plus those it waits for.
MOST_FDS = 1024
# When looking for the other end of a pipe outside of the tree.
MOST_OUTSIDE = 4096
MOST_FDS_OUTSIDE = 256


def access(pid: int, fd: int) -> tuple[bool, bool]:
    """(open for reading, open for writing): the mode of the link says it, without another file to parse."""
    try:
        mode = os.lstat(f"/proc/{pid}/fd/{fd}").st_mode
    except OSError:
        return False, False
    return bool(mode & 0o400), bool(mode & 0o200)


def pipes_of(processes: dict[int, ProcessSample]) -> dict[str, Pipe]:
    """Every pipe and FIFO that a process of the tree has open, with the holders of each end."""
    readers: dict[str, list[tuple[int, int]]] = {}
    writers: dict[str, list[tuple[int, int]]] = {}
    kinds: dict[str, bool] = {}
    for pid, process in processes.items():
        for fd, target in process.fds.items():
            if not target.startswith("pipe:") and not _fifo(pid, fd, target, kinds):
                continue
            reads, writes = access(pid, fd)
            if reads:
                readers.setdefault(target, []).append((pid, fd))
            if writes:
                writers.setdefault(target, []).append((pid, fd))
    return {
        target: Pipe(tuple(readers.get(target, ())), tuple(writers.get(target, ())))
        for target in {**readers, **writers}
    }


def outside_holders(links: set[str], inside: set[int]) -> dict[str, list[tuple[int, str]]]:
    """Who else on this machine holds these pipes: one pass over what we may look into, bounded."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in os.listdir("/proc")[:MOST_OUTSIDE] if links else ():
        if not name.isdecimal() or int(name) in inside or int(name) == os.getpid():
            continue
        seen = targets(int(name), MOST_FDS_OUTSIDE)
        for target in links.intersection(seen[0].values()) if seen is not None else ():
            comm = read(f"/proc/{name}/comm", 64).decode("utf-8", "replace").strip()
            found.setdefault(target, []).append((int(name), comm))
    return found


def _fifo(pid: int, fd: int, target: str, kinds: dict[str, bool]) -> bool:
    if not target.startswith("/") or target.startswith("/dev/"):
        return False
    if target not in kinds:
        try:
            kinds[target] = os.stat(f"/proc/{pid}/fd/{fd}").st_mode & 0o170000 == 0o010000
        except OSError:
            kinds[target] = False
    return kinds[target]


def is_terminal(target: str) -> bool:
    """Whether the target of a descriptor is a terminal."""
    return target.startswith(("/dev/pts/", "/dev/tty", "/dev/console"))


def terminal_of(processes: dict[int, ProcessSample], pty_master: int | None) -> TerminalSettings | None:
    """What the terminal is set to, from its master where we hold it, else through a descriptor of the tree."""
    path, holder = "", ""
    for pid, process in processes.items():
        for fd in (0, 2, 1, *process.fds):
            target = process.fds.get(fd, "")
            if is_terminal(target):
                path, holder = target, f"/proc/{pid}/fd/{fd}"
                break
        if path:
            break
    if pty_master is not None:
        return _settings(pty_master, path)
    if not holder:
        return None
    try:
        # Not to become its controlling process, not to wait for a modem; closed at once.
        fd = os.open(holder, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return TerminalSettings(path=path, foreground=_foreground(processes))
    try:
        seen = _settings(fd, path)
        return seen and seen._replace(foreground=seen.foreground or _foreground(processes))
    finally:
        os.close(fd)


def _foreground(processes: dict[int, ProcessSample]) -> int:
    return next((process.tpgid for process in processes.values() if process.tpgid > 0), 0)


def _settings(fd: int, path: str) -> TerminalSettings | None:
    try:
        flags: int = termios.tcgetattr(fd)[3]
    except (termios.error, OSError, ValueError):
        return None
    try:
        group = os.tcgetpgrp(fd)
    except OSError:
        group = 0
    return TerminalSettings(path, bool(flags & termios.ECHO), bool(flags & termios.ICANON), group)
