"""Descriptors: what they are, which end of a pipe they hold, and what the terminal is set to."""

from __future__ import annotations

import fcntl
import os
import termios
from typing import NamedTuple

from unhang.core.diagnosis.descriptors import MASTERS
from unhang.core.diagnosis.samples import FOREVER, Pipe, ProcessSample, TerminalSettings
from unhang.core.diagnosis.waits import is_terminal, terminal_number
from unhang.procs.linux.descriptors import targets
from unhang.procs.linux.procfs import read, short_name, split
from unhang.procs.linux.sampler.local_files import MountTables

# A process with 100,000 descriptors is looked at as one with this many, plus those it waits for.
MOST_FDS = 1024
# When looking for the other end of a pipe outside of the tree.
# One program with many connections, or a thousand jobs, must not leave every pipe of the machine in doubt.
MOST_OUTSIDE = 16384
MOST_FDS_OUTSIDE = 65536
# One that holds an end and could not be looked at.
UNSEEN = {0: "a process that cannot be seen"}
# Of the watchdog's own processes: a program that uses unhang may hold many files.
MOST_FDS_OURS = 65536
_TIOCGPTN = 0x80045430  # which terminal a master has made


def access(pid: int, fd: int) -> tuple[bool, bool]:
    """Return whether it is open for reading, and for writing: the mode of the link says it, without another file to
    parse.
    """
    try:
        mode = os.lstat(f"/proc/{pid}/fd/{fd}").st_mode
    except OSError:
        return False, False
    return bool(mode & 0o400), bool(mode & 0o200)


def pipes_of(processes: dict[int, ProcessSample]) -> dict[str, Pipe]:
    """Return every pipe and FIFO that a process of the tree has open, with the holders of each end."""
    readers: dict[str, list[tuple[int, int]]] = {}
    writers: dict[str, list[tuple[int, int]]] = {}
    kinds: dict[str, bool] = {}
    tables = MountTables()
    for pid, process in processes.items():
        for fd, target in process.fds.items():
            if not target.startswith("pipe:") and not _fifo(tables, pid, fd, target, kinds):
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
    """Return who else on this machine holds these files: one pass over what we may look into, bounded.

    Where it ends before all was looked at, one that was not seen may hold each of them, too.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    names = os.listdir("/proc") if links else []
    cut = len(names) > MOST_OUTSIDE
    for name in names[:MOST_OUTSIDE]:
        if not name.isdecimal() or int(name) in inside or int(name) == os.getpid():
            continue
        seen = targets(int(name), MOST_FDS_OUTSIDE)
        cut |= seen is not None and len(seen[0]) >= MOST_FDS_OUTSIDE
        for target in links.intersection(seen[0].values()) if seen is not None else ():
            comm = short_name(int(name))
            found.setdefault(target, []).append((int(name), comm))
    for target in links if cut else ():
        found.setdefault(target, []).extend(UNSEEN.items())
    return found


def _fifo(tables: MountTables, pid: int, fd: int, target: str, kinds: dict[str, bool]) -> bool:
    if not target.startswith("/") or target.startswith("/dev/"):
        return False
    if target not in kinds:
        try:
            mode = os.stat(f"/proc/{pid}/fd/{fd}").st_mode if tables.of(pid).is_local(target) else 0
            kinds[target] = mode & 0o170000 == 0o010000
        except OSError:
            kinds[target] = False
    return kinds[target]


def terminal_of(
    processes: dict[int, ProcessSample], pty_master: int | None, keeper: int | None
) -> TerminalSettings | None:
    """Return what the job's terminal is set to, from its master where we hold it, else through a process's descriptor.

    `keeper` has started the job; None: the tree is not a job, and its terminal is the one that it sits at.
    """
    if pty_master is not None:
        return _settings(pty_master, _made_by(pty_master))
    found = sorted(_terminals(processes), key=lambda each: not each.own)
    if not found:
        return None
    seen = found[0]
    if keeper is not None:
        seen = seen._replace(own=_given(processes, seen.path, keeper))
    try:
        # Not to become its controlling process, not to wait for a modem; closed at once.
        fd = os.open(seen.through, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return TerminalSettings(path=seen.path, foreground=_foreground(processes), own=seen.own)
    try:
        settings = _settings(fd, seen.path)
        return settings and settings._replace(
            foreground=settings.foreground or (_foreground(processes) if seen.own else 0), own=seen.own
        )
    finally:
        os.close(fd)


class _Opened(NamedTuple):
    path: str
    through: str  # the descriptor of the process that has it
    own: bool  # it is the controlling terminal of that process


def _terminals(processes: dict[int, ProcessSample]) -> list[_Opened]:
    """The first terminal that each process has open."""
    found = []
    for pid, process in processes.items():
        for fd in (0, 2, 1, *process.fds):
            target = process.fds.get(fd, "")
            if is_terminal(target):
                found.append(_Opened(target, f"/proc/{pid}/fd/{fd}", process.tty != 0))
                break
    return found


def _given(processes: dict[int, ProcessSample], path: str, keeper: int) -> bool:
    """Whether a job was given this terminal: its keeper has made it, or a session outside of the job sits at it."""
    number = terminal_number(path)
    if number < 0:
        return True
    held = targets(keeper)
    for fd, target in held[0].items() if held is not None else ():
        if target in MASTERS and f"tty-index:\t{path[9:]}\n".encode() in read(f"/proc/{keeper}/fdinfo/{fd}", 512):
            return True
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) not in processes:
            parts = split(read(f"/proc/{name}/stat", 2048))
            if parts is not None and int(parts[1][4]) == number:
                return True
    return False


def _made_by(master: int) -> str:
    """The path of the terminal of a master."""
    try:
        number = fcntl.ioctl(master, _TIOCGPTN, b"\0" * 4)
    except OSError:
        return ""
    return f"/dev/pts/{int.from_bytes(number, 'little')}"


def _foreground(processes: dict[int, ProcessSample]) -> int:
    return next((process.tpgid for process in processes.values() if process.tpgid > 0), 0)


def _settings(fd: int, path: str) -> TerminalSettings | None:
    try:
        _, _, _, flags, _, _, keys = termios.tcgetattr(fd)
    except (termios.error, OSError, ValueError):
        return None
    try:
        group = os.tcgetpgrp(fd)
    except OSError:
        group = 0
    canonical = bool(flags & termios.ICANON)
    return TerminalSettings(
        path, bool(flags & termios.ECHO), canonical, group, patience=FOREVER if canonical else _patience(keys)
    )


def _patience(keys: list[bytes | int]) -> float:
    """After how many seconds a read returns without a key. Python shows both settings as numbers in raw mode only."""
    least, tenths = keys[termios.VMIN], keys[termios.VTIME]
    return tenths / 10 if isinstance(tenths, int) and least == 0 else FOREVER
