"""What trees of processes use, many at once: one pass over /proc, whatever the number of trees."""

from __future__ import annotations

import os

from unhang.core.overview import Usage
from unhang.procs.linux import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def usage_below(roots: Iterable[int]) -> dict[int, Usage]:
    """What everything below each of these processes uses; a root that is gone is left out. Roots may be nested."""
    wanted = set(roots)
    table: dict[int, tuple[int, int, int]] = {}  # pid → parent, ticks, pages
    for name in os.listdir("/proc") if wanted else ():
        if not name.isdecimal():
            continue
        parts = procfs.split(procfs.read(f"/proc/{name}/stat", 2048))
        if parts is None:
            continue
        fields = parts[1]
        try:
            table[int(name)] = (int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[21]))
        except ValueError:
            continue  # cut off while the process went away
    tick, page = 1000 / os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    sums = {root: [0, 0, 0] for root in wanted if root in table}
    above: dict[int, int | None] = {}  # the nearest root above a process
    for pid, (_, ticks, pages) in table.items():
        root = _root(pid, table, sums, above)
        if root is not None:
            found = sums[root]
            found[0] += ticks
            found[1] += pages
            found[2] += 1
    return {root: Usage(round(ticks * tick), pages * page, count) for root, (ticks, pages, count) in sums.items()}


def _root(
    pid: int, table: dict[int, tuple[int, int, int]], roots: dict[int, list[int]], above: dict[int, int | None]
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
