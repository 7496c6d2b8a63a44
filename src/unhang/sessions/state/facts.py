"""What the machine of a session can be told. Times are monotonic seconds; `at` is now or in the past."""

from __future__ import annotations

from unhang.core.record import Record
from unhang.sessions.state.screen import AgentScreen
from unhang.sessions.state.traffic import ConnectionPeer, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BUSY, IDLE, WAITING = "busy", "idle", "waiting"


class Hook(Record):
    """One hook of Claude Code's. The fields have the names that Claude Code gives them."""

    method: str
    at: float
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: dict[str, Any] = {}  # noqa: RUF012 - a default of a frozen record
    agent_id: str = ""  # of the subagent; "": the main loop's own hook
    background_tasks: int | None = None  # how many go on after a Stop
    source: str = ""
    moved_after: float | None = None  # seconds after which Claude Code has moved the command to the background


class Status(Record):
    """The status file. `stamp` tells two periods of the same status apart; it is never used as a time."""

    status: str | None  # None: there is no such file
    stamp: int
    at: float
    waiting_for: str = ""


class Grew(Record):
    """The model or a tool has written to the transcript."""

    at: float


class Renamed(Record):
    """The same process has another session id now (/clear)."""


class Died(Record):
    """The process has ended."""


class Pane(Record):
    """A fresh look at the pane. `refused`: why nothing may be sent to it (no pane, not certain, another process)."""

    refused: str = ""
    final: bool = False  # refused for good: there is no pane at all
    synchronized: bool = False  # refused, because a key would reach the panes beside it
    in_mode: bool = False  # copy mode
    human: bool = False  # a person typed a moment ago
    screen: AgentScreen = AgentScreen()
    wire: Wire = {}  # noqa: RUF012 - a default of a frozen record; what came in on its connections
    peers: tuple[ConnectionPeer, ...] = ()  # the other ends of these connections


class CallTree(Record):
    """A fresh look at the processes of one call. `moved` is None for the first look."""

    call: str
    count: int  # processes; 0: none is certainly the call's
    moved: bool | None = None
    reason: str = ""  # by what it shows that it moves
    why: str = ""  # what it waits for, if it does not
    hung: bool = False  # that wait can be proved to be without an end


class Done(Record):
    """What became of a step: sent, or refused at the last moment."""

    step: str
    sent: bool
    detail: str = ""
    saved: str = ""  # the file that the session's last state was saved to


Fact = Hook | Status | Grew | Renamed | Died | Pane | CallTree | Done
