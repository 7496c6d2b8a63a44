"""The processes of one Bash call: which they are, whether they move, and ending them.

Claude Code starts `/bin/bash -c "… eval 'COMMAND' …"` as its own child, in a session of its own. Beside it live MCP
servers, hooks and commands in the background. So a shell is taken for the call's only if it runs the call's very
command and began after the call did; and if there are several, only if there are as many calls of that command. If
Claude Code changes its ways, nothing is found, and the next rung of the ladder is tried.
"""

from __future__ import annotations

import os
import shlex
import signal

from unhang.core.diagnosis import rules
from unhang.core.diagnosis.counters import CheapSample
from unhang.core.diagnosis.progress import progressed
from unhang.core.diagnosis.samples import FullSample
from unhang.core.diagnosis.verdict import Diagnosis
from unhang.core.plural import several
from unhang.core.record import Record
from unhang.procs import clock, descriptors, identity
from unhang.procs.base import ProcessInfo
from unhang.procs.sampler.cheap import cheap
from unhang.procs.sampler.full import full
from unhang.procs.tree import children, descendants, signal_one
from unhang.sessions.state.calls import ToolCall

# A hook is a process that takes its time to start, on a busy machine some seconds; one that is not waited for may
# record a call after its command has begun.
SLACK = 10.0
_CUT = "…"  # a long command is cut in the record of its hook


class Sample(Record):
    """The state of a tree at one moment, to be compared with a later one."""

    counters: CheapSample
    printed: dict[str, int]  # file → size
    whole: FullSample  # to explain a silence


def roots(pid: int, calls: list[ToolCall], call: ToolCall) -> list[ProcessInfo]:
    """Return the shell of this call; empty if it is not certain which one that is."""
    now = clock.monotonic()
    found: list[ProcessInfo] = []
    try:
        below = children(pid)
    except OSError:
        return found  # what cannot be seen is not certain
    for child in below:
        at = identity.find(child)
        if at is None or at.session != child or at.is_dead:
            continue
        if identity.age(at.start) > now - call.opened + SLACK:
            continue
        command = evaluated_command(child)
        if command and _fits(call, command) and not any(_fits_better(each, call, command) for each in calls):
            found.append(at)
    if len(found) <= 1:
        return found
    same = sorted((each for each in calls if _text(each) == _text(call)), key=lambda each: each.opened)
    if len(same) != len(found):
        return []
    found.sort(key=lambda process: int(process.start))
    return [found[[each.id for each in same].index(call.id)]]


def evaluated_command(pid: int) -> str:
    """Return the command that a shell of Claude Code was started to evaluate; empty: it is no such shell."""
    words = identity.argv(pid, 1 << 17)
    if len(words) < 3 or words[1] not in ("-c", "-lc"):
        return ""
    try:
        pieces = shlex.split(words[2])
        return _one_line(pieces[pieces.index("eval") + 1])
    except (ValueError, IndexError):
        return ""


def _text(call: ToolCall) -> str:
    command = call.tool_input.get("command")
    return _one_line(command) if isinstance(command, str) else ""


def _one_line(text: str) -> str:
    """As the hooks record a command."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _fits(call: ToolCall, command: str) -> bool:
    text = _text(call)
    return text == command or (text.endswith(_CUT) and len(text) > 1 and command.startswith(text[:-1]))


def _fits_better(other: ToolCall, call: ToolCall, command: str) -> bool:
    """Another open call says more of this command than the one that was asked about."""
    return len(_text(other)) > len(_text(call)) and _fits(other, command)


def sample(root: ProcessInfo) -> Sample:
    """Return the counters of a tree and the sizes of the files it prints to."""
    printed: dict[str, int] = {}
    for process in [root, *descendants(root.pid)]:
        for fd in (1, 2):
            path = descriptors.target(process.pid, fd)
            if path.startswith("/") and not path.startswith("/dev/"):
                try:
                    printed[path] = os.stat(path).st_size
                except OSError:
                    continue
    return Sample(cheap(root.pid, include_root=True), printed, full(root.pid, include_root=True))


def compare(before: Sample, after: Sample) -> tuple[bool, str]:
    """Return whether the tree has moved between two samples, and by what that shows."""
    grown = sum(max(0, size - before.printed.get(path, 0)) for path, size in after.printed.items())
    if grown:
        return True, f"it has printed {several(grown, 'byte')}"
    moved = progressed(before.counters, after.counters)
    return moved.alive, moved.reason


def diagnose(before: Sample, after: Sample) -> Diagnosis:
    """Return why the tree is quiet."""
    return rules.diagnose(before.whole, after.whole)


def end(root: ProcessInfo, number: int) -> list[int]:
    """Signal the whole tree, parents first, but no process that has replaced one; return the pids that were reached."""
    reached: list[int] = []
    if identity.start_time(root.pid) != root.start:
        return reached  # its number is another process's by now, and so is what is below it
    for process in [root, *descendants(root.pid)]:
        try:
            if signal_one(process, (number, signal.SIGCONT), direct=False):
                reached.append(process.pid)
        except OSError:  # another user's, or no descriptor to reach it by
            continue
    return reached
