"""What processes share beside files: memory with locks in it, and System V's semaphores and queues.

A lock in shared memory can be released by every process that maps the memory. Nameless memory (anonymous, or a file
that is deleted) is mapped by those that map it now, and by those that they give it to: the table of mappings of each
process says which these are. Memory with a name may be mapped by any process at any moment. An object of System V has a
key by which any process finds it, or none; the kernel keeps the pid of the process that last used it.

All of this is looked for only where a thread sits in such a wait.
"""

from __future__ import annotations

import os
import time

from unhang.core.diagnosis.samples import FOREVER, Common, ProcessSample, Thread
from unhang.procs.linux.procfs import read_all, short_name
from unhang.procs.linux.sampler.files import outside_holders
from unhang.procs.linux.sampler.maps import is_shared, key_of, mappings, path_of, read_maps, span_of

MOST_SEMAPHORES = 64
# To read what a process maps costs ten times as much as to read what it has open.
MOST_MAPPED = 4096
_GETPID = 11


def commons_of(
    processes: dict[int, ProcessSample], *, foreign: bool
) -> tuple[dict[int, ProcessSample], dict[str, Common]]:
    """Return the processes, whose threads know what they wait for, and those that share it.

    `foreign`: the tree is not ours, so its first process may share memory with its parent.
    """
    paths: dict[str, str] = {}  # of the memory, as the table of mappings has it
    known = dict(processes)
    objects: set[str] = set()
    for pid, process in processes.items():
        objects.update(thread.common for thread in process.threads if thread.common)
        if any(_in_shared_memory(thread) for thread in process.threads):
            known[pid] = _located(process, read_maps(pid), paths)
    found = _memories(paths, known, foreign) if paths else {}
    for name in objects:
        if (common := _system_v(name, known)) is not None:
            found[name] = common
    return known, found


def _in_shared_memory(thread: Thread) -> bool:
    return thread.shared and thread.futex is not None and thread.timeout == FOREVER


def _located(process: ProcessSample, maps: bytes, paths: dict[str, str]) -> ProcessSample:
    """The process, its threads with the memory that their lock words lie in."""
    threads = []
    for thread in process.threads:
        seen = mapping(maps, thread.futex) if _in_shared_memory(thread) and thread.futex is not None else None
        if seen is not None:
            shared, key, path = seen
            if shared:
                paths[key] = path
                thread = thread._replace(common=key)
            else:
                thread = thread._replace(shared=False)  # asked for as if it were shared, in memory that is not
        threads.append(thread)
    return process._replace(threads=tuple(threads))


def mapping(maps: bytes, address: int) -> tuple[bool, str, str] | None:
    """Return whether the mapping that an address lies in is shared, its device and inode, and its path."""
    for each in mappings(maps):
        low, high = span_of(each)
        if low <= address < high:
            return is_shared(each), key_of(each), path_of(each)
    return None


def is_nameless(path: str) -> bool:
    """Return whether no process can open this memory by a name.

    A segment of System V looks deleted, and has a number.
    """
    return path.endswith(" (deleted)") and not path.startswith("/SYSV")


def _memories(paths: dict[str, str], processes: dict[int, ProcessSample], foreign: bool) -> dict[str, Common]:
    inside: dict[str, list[int]] = {}
    outside: dict[str, list[tuple[int, str]]] = {}
    wanted = {key for key, path in paths.items() if is_nameless(path)}
    above = {process.ppid for process in processes.values()} - set(processes) if foreign else set()
    names = os.listdir("/proc") if wanted else []
    if len(names) > MOST_MAPPED:
        wanted, names = set(), []  # too many to look at: any of them may map it
    for name in names:
        if not name.isdecimal():
            continue
        pid = int(name)
        maps = read_maps(pid)
        keys = wanted if not maps and pid in above else _shared_keys(maps) & wanted
        for key in keys:
            if pid in processes:
                inside.setdefault(key, []).append(pid)
            else:
                outside.setdefault(key, []).append((pid, short_name(pid)))
    # One that has the memory open as a file may map it whenever it likes.
    links = {paths[key] for key in wanted if not paths[key].startswith("/dev/zero")}
    for path, holders in outside_holders(links, set(processes)).items():
        for key in wanted:
            if paths[key] == path:
                outside.setdefault(key, []).extend(holders)
    return {
        key: Common(tuple(sorted(inside.get(key, ()))), tuple(sorted(set(outside.get(key, ())))), key not in wanted)
        for key in paths
    }


def _shared_keys(maps: bytes) -> set[str]:
    return {key_of(each) for each in mappings(maps) if is_shared(each) and path_of(each)}


def _system_v(name: str, processes: dict[int, ProcessSample]) -> Common | None:
    """Who has used an object. One that is older than the job was made outside, by a process that still may use it; one
    that a single process of the job has used was made for another, which may have been told its number.
    """
    kind, _, number = name.partition(":")
    row = _row(kind, number)
    if row is None:
        return None
    users = (
        _semaphore_users(int(number), int(row["nsems"])) if kind == "sem" else {int(row["lspid"]), int(row["lrpid"])}
    )
    if users is None:
        return None
    waits = tuple(pid for pid, each in processes.items() if any(thread.common == name for thread in each.threads))
    strangers = [pid for pid in users if pid not in processes and os.path.exists(f"/proc/{pid}")]
    older = int(row["ctime"]) <= _began(processes)
    inside = {*waits, *users.intersection(processes)}
    return Common(
        tuple(sorted(inside)),
        tuple((pid, short_name(pid)) for pid in sorted(strangers)),
        row["key"] != "0" or older or len(inside) < 2,
    )


def _row(kind: str, number: str) -> dict[str, str] | None:
    lines = read_all(f"/proc/sysvipc/{kind}").decode("ascii", "replace").splitlines()
    names = lines[0].split() if lines else []
    for line in lines[1:]:
        row = dict(zip(names, line.split(), strict=False))
        if row.get("semid" if kind == "sem" else "msqid") == number and len(row) == len(names):
            return row
    return None


def _semaphore_users(number: int, count: int) -> set[int] | None:
    """The processes that last used each semaphore of a set; None where that may not be asked."""
    import ctypes  # takes longer to import than everything else here, and few trees need it

    libc = ctypes.CDLL(None)
    found = {libc.semctl(number, index, _GETPID) for index in range(min(count, MOST_SEMAPHORES))}
    return None if -1 in found or count > MOST_SEMAPHORES else found - {0}


def _began(processes: dict[int, ProcessSample]) -> float:
    """When the oldest process of the tree was started, in seconds of the wall clock."""
    ticks = min((process.start for process in processes.values()), default=0)
    up = time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.time() - up + ticks / os.sysconf("SC_CLK_TCK")
