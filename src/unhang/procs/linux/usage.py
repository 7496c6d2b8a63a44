"""What processes use, alone or as trees, many at once: one pass over /proc, whatever the number of trees."""

from __future__ import annotations

import os

from unhang.core.overview import Usage
from unhang.procs.linux import descriptors, procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable


def usage_of(pids: Iterable[int]) -> dict[int, Usage]:
    """Return what each of these processes uses by itself; one that is gone is left out."""
    tick, page = 1000 / os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    found: dict[int, Usage] = {}
    for pid in pids:
        used = _used(pid)
        if used is not None:
            found[pid] = Usage(round(used[1] * tick), used[2] * page, 1, used[3].decode())
    return found


def readers_of(paths: Container[str], but: Container[int] = ()) -> int:
    """Return how many processes, without those of `but`, have one of these files open, as far as can be seen."""
    count = 0
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) in but:
            continue
        seen = descriptors.targets(int(name))
        count += seen is not None and any(target in paths for target in seen[0].values())
    return count


def _used(pid: int) -> tuple[int, int, int, bytes] | None:
    """Its parent, the ticks and pages that it uses, and when it began (empty: it is dead); None: it is gone."""
    parts = procfs.split(procfs.read(f"/proc/{pid}/stat", 2048))
    if parts is None:
        return None
    fields = parts[1]
    try:
        start = b"" if procfs.is_dead(fields) else fields[19]
        return int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[21]), start
    except ValueError:
        return None  # cut off while the process went away


def usage_below(roots: Iterable[int]) -> dict[int, Usage]:
    """Return what everything below each of these processes uses; a root that is gone is left out.

    Roots may be nested.
    """
    wanted = set(roots)
    table: dict[int, tuple[int, int, int, bytes]] = {}  # as `_used` gives it
    for name in os.listdir("/proc") if wanted else ():
        if not name.isdecimal():
            continue
        used = _used(int(name))
        if used is not None:
            table[int(name)] = used
    tick, page = 1000 / os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    sums = {root: [0, 0, 0] for root in wanted if root in table}
    above: dict[int, int | None] = {}  # the nearest root above a process
    for pid, (_, ticks, pages, _) in table.items():
        root = _root(pid, table, sums, above)
        if root is not None:
            found = sums[root]
            found[0] += ticks
            found[1] += pages
            found[2] += 1
    return {
        root: Usage(round(ticks * tick), pages * page, count, table[root][3].decode())
        for root, (ticks, pages, count) in sums.items()
    }


def _root(
    pid: int, table: dict[int, tuple[int, int, int, bytes]], roots: dict[int, list[int]], above: dict[int, int | None]
) -> int | None:
    """The nearest root above a process; every process on the way remembers it."""
    way: list[int] = []
    found: int | None = None
    at = pid
    while at in table and at not in above and at not in way:
        way.append(at)
        at = table[at][0]
        if at in roots:
            found = at
            break
    else:
        found = above.get(at)
    for each in way:
        above[each] = found
    return found
