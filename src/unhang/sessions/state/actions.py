"""What the machine of a session can ask for: an event, a look, a step."""

from __future__ import annotations

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The steps, gentlest first.
END_TREE, KILL_TREE, LEAVE_MODE, ESCAPE, CONTINUE, CLEAR, RESTART = (
    "end_tree",
    "kill_tree",
    "leave_copy_mode",
    "escape",
    "continue",
    "clear",
    "restart",
)
STEPS = (END_TREE, KILL_TREE, LEAVE_MODE, ESCAPE, CONTINUE, CLEAR, RESTART)


class Say(Record):
    """Record an event. `aloud`: show it to a person now (tmux message, notification)."""

    phase: str
    message: str
    fields: dict[str, Any] = {}  # noqa: RUF012 - a default of a frozen record
    aloud: bool = False


class LookAtPane(Record):
    """Look at the pane; then tell `Pane`."""


class LookAtTree(Record):
    """Look at the processes of this call; then tell `CallTree`."""

    call: str


class Take(Record):
    """Take this step, if at that moment nothing has changed since the look; then tell `Done`."""

    step: str
    call: str = ""
    text: str = ""  # what is typed


class TellModel(Record):
    """Have the session's model told this with its next context. An empty text takes the note of this call back."""

    call: str
    text: str
    agent_id: str = ""  # "": the main loop's model


Action = Say | LookAtPane | LookAtTree | Take | TellModel
