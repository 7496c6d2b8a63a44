"""Which process or thread waits for which. A ring of waits, none of which can end by itself, is a deadlock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unhang.core.diagnosis.samples import ProcessSample


def ring(edges: Mapping[int, Iterable[int]]) -> list[int]:
    """Return one ring, its members in order; empty where there is none. The order of the edges changes nothing."""
    state: dict[int, int] = {}
    for start in sorted(edges):
        if state.get(start):
            continue
        # A loop instead of recursion: a chain may be as deep as the tree.
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


def mutex_ring(process: ProcessSample) -> list[int]:
    """Return the threads of one process that wait for each other's mutex.

    One alone waits for a mutex that it holds itself.
    """
    tids = {thread.tid for thread in process.threads}
    edges = {
        thread.tid: (thread.owner,)
        for thread in process.threads
        if thread.owner is not None and thread.owner in tids and thread.timeout == float("inf")
    }
    return ring(edges)
