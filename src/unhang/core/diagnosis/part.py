"""The part of a tree that a tool of an agent has started, as a sample of its own.

The agent itself, an event loop with files, timers and sockets of its own, is outside of that part, as a stranger is:
what it holds the other end of may come at any moment, so no proof rests on it.
"""

from __future__ import annotations

from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import Common, FullSample, Pipe, ProcessSample
from unhang.core.diagnosis.verdict import Diagnosis

# Their models type at the terminals of their commands: a prompt there is a question to the model, which may think.
TYPISTS = frozenset({"codex"})


def diagnose_part(before: FullSample, after: FullSample, since: float) -> Diagnosis | None:
    """Return the diagnosis of what was started after a moment of the clock of this boot; None: nothing was."""
    part = begun_since(after, since)
    return diagnose(begun_since(before, since), part) if part.processes else None


def begun_since(sample: FullSample, since: float) -> FullSample:
    """Return a sample with the processes alone that were started after a moment of the clock of this boot."""
    begun = {pid: seen for pid, seen in sample.processes.items() if seen.start >= since * sample.hz}
    older = {pid: seen for pid, seen in sample.processes.items() if pid not in begun}
    held = {target for seen in begun.values() for target in seen.fds.values()}
    return sample._replace(
        processes=_with_strangers(begun, older, sample),
        sockets={link: socket for link, socket in sample.sockets.items() if link in held},
        pipes={link: _pipe(pipe, older) for link, pipe in sample.pipes.items()},
        commons={key: _common(common, older) for key, common in sample.commons.items()},
        leader=sample.leader if sample.leader in begun else None,
        screen="",  # the agent's words
        command="",
        printed=None,
    )


def _with_strangers(
    begun: dict[int, ProcessSample], older: dict[int, ProcessSample], sample: FullSample
) -> dict[int, ProcessSample]:
    """The processes, each with the older ones that hold the other end of one of its sockets, or of its terminal."""
    holders: dict[str, list[tuple[int, str]]] = {}
    ends = {link: socket.peer for link, socket in sample.sockets.items()}
    for path, pids in sample.masters.items():
        holders[path] = [(pid, older[pid].comm) for pid in pids if pid in older and older[pid].comm in TYPISTS]
        ends[path] = path
    for pid, process in older.items():
        for target in set(process.fds.values()):
            if target.startswith("socket:"):
                holders.setdefault(target, []).append((pid, process.comm))
    found: dict[int, ProcessSample] = {}
    for pid, process in begun.items():
        theirs = {fd: holders.get(ends.get(link, "")) for fd, link in process.fds.items()}
        strangers = {fd: (*process.strangers.get(fd, ()), *others) for fd, others in theirs.items() if others}
        found[pid] = process._replace(strangers=process.strangers | strangers) if strangers else process
    return found


def _pipe(pipe: Pipe, older: dict[int, ProcessSample]) -> Pipe:
    gone = sorted({pid for pid, _ in (*pipe.readers, *pipe.writers) if pid in older})
    return pipe._replace(
        readers=tuple(end for end in pipe.readers if end[0] not in older),
        writers=tuple(end for end in pipe.writers if end[0] not in older),
        outside=(*pipe.outside, *((pid, older[pid].comm) for pid in gone)),
    )


def _common(common: Common, older: dict[int, ProcessSample]) -> Common:
    gone = [pid for pid in common.inside if pid in older]
    return common._replace(
        inside=tuple(pid for pid in common.inside if pid not in older),
        outside=(*common.outside, *((pid, older[pid].comm) for pid in gone)),
    )
