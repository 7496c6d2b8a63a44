"""What the world can tell the watchdog. One small type a fact; together a closed union.

Facts are told before the clock is asked: a keeper drains, reaps and tells everything it knows, and only then
calls `wake`. That order is what makes late output life and a late exit not a timeout.
"""

from __future__ import annotations

from unhang.core.record import Record


class Output(Record):
    """The job printed something."""


class Typed(Record):
    """Input came: typed by the person at the job's terminal, or sent by another caller."""


class Heartbeat(Record):
    """The job said by the notify protocol that it is alive (`extend` seconds: it asks for at least that long)."""

    extend: float = 0.0


class AgentMoved(Record):
    """The agent in the job made progress, as its driver understands it: a delta, a finished item."""


# What a window stands for (`core.limits.BUDGETS`).
STARTUP, FIRST, TOOL, PERSON = "startup", "first", "tool", "person"


class Window(Record):
    """The agent waits for something that has a limit of its own. None: it has come, the idle limit is back.

    `purpose`: STARTUP, FIRST (a task was given, no response has come), TOOL (one is in flight), PERSON (a question
    is open).
    """

    idle: float | None
    purpose: str = ""


class AgentStuck(Record):
    """The driver has said why its agent shows no sign of life: this silence has been announced."""


class Looked(Record):
    """The answer to a `Look`: did the quiet tree move since the last one?

    `still`: no process of the tree has run for a while, so the next look can explain it without an earlier sample.
    `explains`: False where a full look had nothing to compare its sample with, so that no diagnosis is known yet.
    """

    alive: bool
    reason: str = ""
    still: bool = False
    explains: bool = True


class LeaderExited(Record):
    """The process that was started has ended; what it left behind may still run."""


class TreeGone(Record):
    """The kernel says (ECHILD) that no descendant is left, and all they wrote has been read."""


class PipesClosed(Record):
    """End of file on every stream of the job."""


class StopRequested(Record):
    """The job is to end: a caller asked, a signal came, or the caller exited. `force` goes to SIGKILL at once.

    `interrupt`: SIGINT first, and the other steps after a grace each.
    `hasty`: no caller is left who could use what a grace would save.
    """

    force: bool = False
    interrupt: bool = False
    hasty: bool = False


class TermIgnored(Record):
    """Everything that is left of the tree ignores SIGTERM: it will not die of it, however long the grace."""


class Extend(Record):
    """A caller gives more time: seconds added to either limit."""

    idle: float = 0.0
    hard: float = 0.0


class Paused(Record):
    """The keeper itself did not run for this long; that time is not the job's silence."""

    seconds: float


class Held(Record):
    """The reader of the job's output blocks us (True), or reads on (False). A blocked job is not a silent one."""

    blocked: bool


class Away(Record):
    """These limits stand still from now on, by their tier; none: all run again.

    The person at the terminal has stopped the job, or the job waits for that person: such time is not the job's.
    """

    tiers: tuple[str, ...] = ()


class HungVerdict(Record):
    """The diagnosis says hung and the policy says `on_hung: end`."""


Fact = (
    Output
    | Typed
    | Heartbeat
    | AgentMoved
    | Window
    | AgentStuck
    | Looked
    | LeaderExited
    | TreeGone
    | PipesClosed
    | StopRequested
    | TermIgnored
    | Extend
    | Paused
    | Held
    | Away
    | HungVerdict
)
