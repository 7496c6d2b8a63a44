"""The network connections of a program that runs tools (its own, not those of its tools), and where jobs listen."""

from __future__ import annotations

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
    links: dict[str, int] = {}
    for member in members:
        held, _ = targets(member) or ({}, 0)
        links |= {link: member for link in held.values() if link.startswith("socket:")}
    return {link: seen for link, seen in sockets_of(links, unix=False).items() if seen.remote}


def listening(roots: list[int]) -> dict[int, list[str]]:
    """Return for each process the addresses at which those below it listen (TCP), as 127.0.0.1:8080, sorted."""
    holders: dict[str, set[int]] = {}
    links: dict[str, int] = {}
    for root in roots:
        processes, _ = walk(root)
        for member in processes:
            held, _ = targets(member) or ({}, 0)
            for link in held.values():
                if link.startswith("socket:"):
                    holders.setdefault(link, set()).add(root)
                    links[link] = member
    found: dict[int, list[str]] = {}
    for link, seen in sockets_of(links, unix=False).items():
        if seen.state == "LISTEN":
            for root in holders[link]:
                found.setdefault(root, []).append(seen.local)
    return {root: sorted(set(addresses)) for root, addresses in found.items()}
