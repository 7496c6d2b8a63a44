"""Who waits for whose file lock.

/proc/locks lists each lock with its holder and, below it, with an arrow, those who wait:

    1: FLOCK  ADVISORY  WRITE 812 fe:00:1234 0 EOF
    1: -> FLOCK  ADVISORY  WRITE 900 fe:00:1234 0 EOF

The file is named by device and inode; its path is found among the descriptors of the processes that have it open. An
open-file-description lock has no pid there (-1), neither of its holder nor of who waits, and a flock has the pid that
asked for it: both belong to an open file, and the processes that have it open show the lock in its fdinfo.
"""

from __future__ import annotations

import os

from unhang.core.diagnosis.samples import Lock, ProcessSample
from unhang.procs.linux import descriptors
from unhang.procs.linux.procfs import read, read_all, short_name
from unhang.procs.linux.sampler.files import MOST_FDS_OUTSIDE, UNSEEN, outside_holders
from unhang.procs.linux.sampler.local_files import MountTables

_KINDS = {"FLOCK": "flock", "POSIX": "posix", "OFDLCK": "ofd"}
MOST_STATS = 256
_Range = tuple[str, str]


def locks_of(processes: dict[int, ProcessSample], *, table: bytes | None = None) -> dict[int, Lock]:
    """Return for each pid the lock it waits for, or (blocked=False) a lock of another on a file that it has open."""
    text = read_all("/proc/locks") if table is None else table
    held: dict[str, tuple[str, int]] = {}
    waits: dict[int, tuple[str, str, int]] = {}
    several: set[int] = set()  # whose threads wait for more locks than one
    in_the_way: dict[str, set[tuple[int, _Range]]] = {}  # of those who wait without a pid: holder and range, by file
    current: tuple[str, int, str, _Range] | None = None
    for line in text.decode("ascii", "replace").splitlines():
        words = line.split()
        try:
            if len(words) > 1 and words[1] == "->":
                pid, file = int(words[5]), words[6]
                if current is not None and current[2] == file and pid > 0:
                    if waits.setdefault(pid, (current[0], file, current[1])) != (current[0], file, current[1]):
                        several.add(pid)
                elif current is not None and current[2] == file:
                    in_the_way.setdefault(file, set()).add((current[1], current[3]))
            else:
                current = _KINDS.get(words[1], words[1].lower()), int(words[4]), words[5], (words[6], words[7])
                if words[3] == "WRITE":
                    held[words[5]] = current[0], current[1]
        except (IndexError, ValueError):
            continue
    tables = MountTables()
    found = _blocked(tables, processes, {pid: wait for pid, wait in waits.items() if pid in processes})
    for pid in several.intersection(found):  # each of them would have to be held for ever
        found[pid] = found[pid]._replace(holders=(*found[pid].owners, *UNSEEN))
    found |= _open_files(tables, processes, in_the_way) if in_the_way else {}
    foreign = {file: (kind, holder) for file, (kind, holder) in held.items() if holder > 0}
    if foreign:
        for pid in processes:
            if pid not in found and (lock := _open_but_held(tables, processes, pid, foreign)) is not None:
                found[pid] = lock
    return found


def _open_but_held(
    tables: MountTables, processes: dict[int, ProcessSample], pid: int, foreign: dict[str, tuple[str, int]]
) -> Lock | None:
    """SQLite, apt and others do not block in the kernel: they ask again and again. The lock shows all the same."""
    for fd, target in list(processes[pid].fds.items())[:MOST_STATS]:
        if not target.startswith("/") or target.startswith("/dev/"):
            continue
        file = _identity(tables, pid, fd)
        if file in foreign and foreign[file][1] != pid and not _holds(pid, fd, file):
            kind, holder = foreign[file]
            return Lock(kind, target, holder, short_name(holder), False)
    return None


def _blocked(
    tables: MountTables, processes: dict[int, ProcessSample], waits: dict[int, tuple[str, str, int]]
) -> dict[int, Lock]:
    """The locks that processes sleep for, by pid. However many want one, its holders are looked for once."""
    paths = {pid: _path(tables, processes, pid, file) for pid, (_, file, _) in waits.items()}
    shared = {(paths[pid], file) for pid, (kind, file, _) in waits.items() if kind != "posix" and paths[pid]}
    outside = outside_holders({path for path, _ in shared}, set(processes))
    holders: dict[str, tuple[int, ...]] = {}
    for path, file in shared:
        suspects = {pid for pid, _ in outside.get(path, [])} | {os.getpid()}
        found = _inside(processes, path, file) + _outside(suspects - set(processes), path, file)
        holders[file] = tuple(dict.fromkeys((*holders.get(file, ()), *found)))
    return {
        pid: _lock(pid, kind, paths[pid], recorded, holders.get(file) if kind != "posix" else None)
        for pid, (kind, file, recorded) in waits.items()
    }


def _open_files(
    tables: MountTables, processes: dict[int, ProcessSample], in_the_way: dict[str, set[tuple[int, _Range]]]
) -> dict[int, Lock]:
    """The processes that sleep for a lock of an open file description. Which of the locks on that file is in the way of
    which is not shown: each waits for the holders of all of them, and none is known where one holder is not found."""
    waiting = {}
    for pid, process in processes.items():
        for fd in (each.reads[0] for each in process.threads if each.syscall == "fcntl" and each.reads):
            if (file := _identity(tables, pid, fd)) in in_the_way:
                waiting[pid] = file, process.fds.get(fd, "")
    found: dict[tuple[str, str], tuple[int, ...]] = {}
    for file, path in set(waiting.values()):
        suspects = {pid for pid, _ in outside_holders({path}, set(processes)).get(path, [])} | {os.getpid()}
        owners: list[tuple[int, ...]] = []
        for recorded, where in in_the_way[file]:
            inside = _inside(processes, path, file, where)
            owners.append(inside + _outside(suspects - set(processes), path, file, where) or _recorded(recorded))
        found[file, path] = tuple(sorted({pid for each in owners for pid in each})) if all(owners) else ()
    return {pid: _lock(pid, "ofd", path, -1, found[file, path]) for pid, (file, path) in waiting.items()}


def _recorded(pid: int) -> tuple[int, ...]:
    return (pid,) if pid > 0 else ()


def _path(tables: MountTables, processes: dict[int, ProcessSample], pid: int, file: str) -> str:
    """The path of a locked file, from the descriptor of the process that wants it."""
    for fd in list(processes[pid].fds)[:MOST_STATS]:
        if processes[pid].fds[fd].startswith("/") and _identity(tables, pid, fd) == file:
            return descriptors.target(pid, fd)
    return ""


def _lock(pid: int, kind: str, path: str, recorded: int, holders: tuple[int, ...] | None) -> Lock:
    known: int | None = recorded if recorded > 0 else None
    if holders is not None and known not in holders:
        # The pid in the table is the one that asked. The lock belongs to the open file, which a fork shares, and which
        # may have outlived that process.
        seen = [each for each in holders if each not in UNSEEN]
        known = min((each for each in seen if each != pid), default=seen[0] if seen else _living(known))
    return Lock(kind, path, known, short_name(known) if known else "", True, holders or ())


def _living(pid: int | None) -> int | None:
    """The pid, unless that process has ended: it holds nothing any more."""
    return pid if pid is not None and os.path.exists(f"/proc/{pid}") else None


def _inside(processes: dict[int, ProcessSample], path: str, file: str, where: _Range | None = None) -> tuple[int, ...]:
    """The processes of the tree that have the very descriptor open through which the lock is held."""
    return tuple(
        pid
        for pid, process in processes.items()
        if any(target == path and _holds(pid, fd, file, where) for fd, target in process.fds.items())
    )


def _outside(suspects: set[int], path: str, file: str, where: _Range | None = None) -> tuple[int, ...]:
    """As `_inside`, of processes outside that have the file open; one that could not be looked at may hold it."""
    found = []
    for pid in sorted(suspects):
        if pid in UNSEEN:
            found.append(pid)
            continue
        seen = descriptors.targets(pid, MOST_FDS_OUTSIDE)
        if seen is not None and any(target == path and _holds(pid, fd, file, where) for fd, target in seen[0].items()):
            found.append(pid)
    return tuple(found)


def _holds(pid: int, fd: int, file: str, where: _Range | None = None) -> bool:
    """Whether a lock on the file, or on that range of it, is held through this descriptor: then its fdinfo shows it."""
    info = read(f"/proc/{pid}/fdinfo/{fd}", 4096)
    held = [line.decode("ascii", "replace").split() for line in info.splitlines() if b"lock:" in line]
    return any(file in words and (where is None or tuple(words[-2:]) == where) for words in held)


def _identity(tables: MountTables, pid: int, fd: int) -> str:
    """device:inode as /proc/locks writes it: major and minor in hexadecimal, the inode in decimal.

    The kernel has both at hand; only an older one than 5.14 has to ask the file system.
    """
    said = dict(
        line.split(None, 1) for line in read(f"/proc/{pid}/fdinfo/{fd}", 4096).splitlines()[:5] if b"\t" in line
    )
    device, inode = tables.of(pid).device(said.get(b"mnt_id:", b"").strip()), said.get(b"ino:", b"").strip()
    if inode:
        return "" if device is None else f"{device[0]:02x}:{device[1]:02x}:{int(inode)}"
    try:
        if not tables.of(pid).is_local(descriptors.target(pid, fd)):
            return ""
        seen = os.stat(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return ""
    return f"{os.major(seen.st_dev):02x}:{os.minor(seen.st_dev):02x}:{seen.st_ino}"
