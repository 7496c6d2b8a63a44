"""Who waits for whom. A ring of waits, none of which can end by itself, is a deadlock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unhang.core.diagnosis.samples import Process


def ring(edges: Mapping[int, Iterable[int]]) -> list[int]:
    """One ring, its members in order, or nothing. The same for every order of the same edges."""
    state: dict[int, int] = {}
    for start in sorted(edges):
        if state.get(start):
            continue
        # By hand instead of by recursion: a chain may be as deep as the tree.
        path: list[int] = [start]
        state[start] = 1
        ways = [iter(sorted(set(edges[start])))]
        while path:
            step = next(ways[-1], None)
            if step is None:
                state[path.pop()] = 2
                ways.pop()
            elif state.get(step) == 1:
                return path[path.index(step) :]
            elif step in edges and not state.get(step):
                state[step] = 1
                path.append(step)
                ways.append(iter(sorted(set(edges[step]))))
    return []


def mutex_ring(process: Process) -> list[int]:
    """Threads of one process that wait for each other's mutex; one alone waits for what it holds itself."""
    tids = {thread.tid for thread in process.threads}
    edges = {
        thread.tid: (thread.owner,)
        for thread in process.threads
        if thread.owner is not None and thread.owner in tids and thread.timeout == float("inf")
    }
    return ring(edges)
