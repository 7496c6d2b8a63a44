"""What a session's machine can be told. Times are monotonic seconds; `at` may lie in the past, never in the future."""

from __future__ import annotations

from unhang.core.record import Record
from unhang.sessions.state.screen import Screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BUSY, IDLE, WAITING = "busy", "idle", "waiting"


class Hook(Record):
    """One hook of the agent's, as recorded."""

    method: str
    at: float
    tool: str = ""
    call: str = ""
    given: dict[str, Any] = {}  # noqa: RUF012 - a default of a frozen record
    agent: str = ""
    background: int | None = None  # tasks that go on after a Stop
    source: str = ""


class Status(Record):
    """The status file. `stamp` tells two spells of the same status apart; as a time it is never used."""

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
    """The process is gone."""


class Pane(Record):
    """A fresh look at the pane. `refused`: why nothing may be sent there (not ours, not certain, not there)."""

    refused: str = ""
    final: bool = False  # refused for good: there is no pane at all
    in_mode: bool = False  # copy mode
    human: bool = False  # somebody typed a moment ago
    screen: Screen = Screen()


class Tree(Record):
    """A fresh look at the processes of one call. `moved` is None for the first look: there is nothing to compare."""

    call: str
    count: int  # processes; 0: none that is certainly its
    moved: bool | None = None
    reason: str = ""


class Done(Record):
    """What became of a step: sent, or refused at the last moment."""

    step: str
    sent: bool
    detail: str = ""


Fact = Hook | Status | Grew | Renamed | Died | Pane | Tree | Done
