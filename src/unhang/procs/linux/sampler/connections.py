"""The network connections of a program that runs tools (its own, not those of its tools), and where a tree listens."""

from __future__ import annotations

from collections.abc import Iterable

from unhang.core.diagnosis.samples import Socket
from unhang.procs.linux.descriptors import targets
from unhang.procs.linux.sampler.net import sockets_of
from unhang.procs.linux.sampler.tree import walk

_SESSION = 3  # where a stat line has it, counted from the state


def connections(pid: int, *, alone: bool = False) -> dict[str, Socket]:
    """Return the connected sockets of a process and of its descendants in the same session, by their link.

    `alone`: only of the process itself.
    """
    members = [pid]
    if not alone:
        processes, _ = walk(pid, include_root=True)
        if pid not in processes:
            return {}
        session = processes[pid][1][_SESSION]
        members = [member for member, (_, fields) in processes.items() if fields[_SESSION] == session]
    return {link: seen for link, seen in _held_by(members).items() if seen.remote}


def listeners(root: int) -> tuple[str, ...]:
    """Return the TCP addresses that the descendants of a process listen on, sorted."""
    processes, _ = walk(root)
    found = _held_by(processes).values()
    return tuple(sorted({seen.local for seen in found if seen.family == "tcp" and seen.state == "LISTEN"}))


def _held_by(members: Iterable[int]) -> dict[str, Socket]:
    """The network sockets of these processes, by their link."""
    links: dict[str, int] = {}
    for member in members:
        held, _ = targets(member) or ({}, 0)
        links |= {link: member for link in held.values() if link.startswith("socket:")}
    return sockets_of(links, unix=False)
