"""What the driver of an ACP agent is to do."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.agents.acp.protocol.requests import DENY
from unhang.agents.base.plan import AgentPlan

FS_NONE, FS_READ, FS_WRITE = FS = ("none", "read", "write")


@dataclass(frozen=True, kw_only=True)
class AcpPlan(AgentPlan):
    """One task or several for an agent that speaks ACP.

    `idle` is the keeper's limit, told here for the driver's figures. A budget of None: the idle limit stands there.
    """

    argv: tuple[str, ...]
    tasks: tuple[str, ...]
    agent: str = ""  # the recipe's name
    session: str | None = None  # to be resumed; None: a new one
    model: str | None = None
    session_mode: str | None = None
    permissions: str = DENY
    permission_wait: float = 300.0
    fs: str = FS_NONE
    mcp: tuple[str, ...] = ()
    startup: float | None = None
    first: float | None = None
    idle: float | None = None
    tool: float | None = None

    @property
    def title(self) -> str:
        """Return the first task."""
        return self.tasks[0]
