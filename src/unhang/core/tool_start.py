"""When a tool of an agent began: a process that was started after that moment may be the tool's.

What was there before the agent was ready is the agent itself, whatever it says of its tools.
"""

from __future__ import annotations

# A tool may run this long before its agent says so, in seconds.
BEFORE_WORD = 2.0


def tool_began(said: float, ready: float) -> float:
    """Return the moment from which on a process may be of a tool that the agent told of at the moment `said`.

    `ready`: when the agent was; before that nothing is a tool's. Both are of one clock, and so is the answer.
    """
    return max(said - BEFORE_WORD, ready)


class AgentStart:
    """When an agent was ready: the last time that it said it was starting, before it said anything else."""

    def __init__(self) -> None:
        self.ready_at = 0.0
        self._starts = True

    def note(self, phase: object, at: float) -> None:
        """Take in the next phase that the agent told, in order; None: it told of none."""
        if phase == "starting" and self._starts:
            self.ready_at = at
        elif phase not in (None, "starting", "warning"):
            self._starts = False
