"""Who is below whom.

The kernel lists the children of each thread (`task/TID/children`), which costs what the tree costs and not
what the machine runs. Where that file is missing, or a process has so many threads that asking each would
cost more than asking all processes, one pass over /proc answers instead: in every stat line stands the parent.
"""

from __future__ import annotations

import os

from unhang.procs.linux.procfs import read, sees_own_namespace, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A fork bomb must not make the look at it unbounded; what lies beyond is reported as not looked at.
MOST_PROCESSES = 4096
# One `children` file costs 2 us, a pass over /proc 5 us for each process on the machine.
MANY_THREADS = 128


def children(pid: int, threads: int) -> list[int] | None:
    """Return the direct children; None when asking each thread is impossible or too dear."""
    if threads > MANY_THREADS:
        return None
    if threads == 1:
        return _listed(pid, str(pid))
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for tid in tids:
        listed = _listed(pid, tid)
        if listed is None:
            return None
        found += listed
    return found


def _listed(pid: int, tid: str) -> list[int] | None:
    try:
        fd = os.open(f"/proc/{pid}/task/{tid}/children", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        # Either it has just ended, or this kernel was built without the file.
        return [] if not os.path.exists(f"/proc/{pid}/task/{tid}/stat") else None
    except OSError:
        return []
    try:
        text = os.read(fd, 1 << 16)
        while text and (more := os.read(fd, 1 << 16)):
            text += more
        return [int(word) for word in text.split()]
    except (OSError, ValueError):
        return []
    finally:
        os.close(fd)


def children_table() -> dict[int, list[int]]:
    """Return the children of each parent, for the whole machine, in one pass."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        parts = split(read(f"/proc/{name}/stat"))
        if parts is not None:
            below.setdefault(int(parts[1][1]), []).append(int(name))
    return below


def walk(root: int, *, include_root: bool = False) -> tuple[dict[int, tuple[str, list[bytes]]], bool]:
    """Return every process below `root` with its stat fields, parents first; and whether there were too many."""
    found: dict[int, tuple[str, list[bytes]]] = {}
    table: dict[int, list[int]] | None = None
    queue = [root]
    seen = {root}
    if not sees_own_namespace():
        return found, False  # its numbers would be those of strangers
    at = 0
    while at < len(queue):
        if len(found) >= MOST_PROCESSES:
            return found, True
        pid = queue[at]
        at += 1
        parts = split(read(f"/proc/{pid}/stat", 2048))
        if parts is None:
            continue
        if pid != root or include_root:
            found[pid] = parts
        below: list[int] | None = None
        if table is None:
            below = children(pid, int(parts[1][17]))
        if below is None:
            if table is None:
                table = children_table()
            below = table.get(pid, [])
        for child in below:
            if child not in seen:
                seen.add(child)
                queue.append(child)
    return found, False


def head_of(pid: int, root: int) -> int:
    """Return the highest process above `pid`, or that itself, which is not above `root` as well, nor the machine's
    first.

    What has started a process may end it, and is no part of the tree below it.
    """
    ours = {1, root, *_above(root)}
    for parent in _above(pid):
        if parent in ours or pid in ours:
            break
        pid = parent
    return pid


def _above(pid: int) -> Iterator[int]:
    """The parents of a process, the nearest first."""
    seen = {pid, 0}
    while (parts := split(read(f"/proc/{pid}/stat", 2048))) is not None and (pid := int(parts[1][1])) not in seen:
        seen.add(pid)
        yield pid
