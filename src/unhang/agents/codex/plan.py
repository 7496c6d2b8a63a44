"""What a Codex driver is to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from unhang.agents.base.plan import AgentPlan

RUN, REVIEW, COMPACT, EXEC = "run", "review", "compact", "exec"
# Said before the task of a further attempt, in the thread of the one before.
GO_ON = "The last turn was ended because nothing had moved for too long. Go on from where it stopped. The task was:"
DENY, ACCEPT, ASK = "deny", "accept", "ask"
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
APPROVALS = (DENY, ACCEPT, ASK)


@dataclass(frozen=True, kw_only=True)
class CodexPlan(AgentPlan):
    """One turn, review or compaction of a Codex thread."""

    verb: str
    task: str = ""
    codex: str = "codex"
    thread: str | None = None  # to be resumed; None: a new one
    model: str | None = None
    effort: str | None = None
    sandbox: str | None = None
    ask_for_approval: str | None = None  # when Codex asks; None: as its own configuration has it
    approvals: str = DENY  # what it is told then
    approval_wait: float = 300.0
    compact_first: bool = False
    target: str = "uncommitted"  # of a review: uncommitted, base:BRANCH, commit:SHA, custom
    tool_limit: float | None = None
    config: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """Return the verb."""
        return self.verb

    def after(self, events: Iterable[dict[str, Any]]) -> Self:
        """Go on in the thread of the attempt before: what was done there is known there."""
        from unhang.agents.codex.report import report

        thread = report(events)["threadId"]
        if not isinstance(thread, str) or self.verb not in (RUN, EXEC):
            return self
        return replace(self, thread=thread, task=f"{GO_ON}\n\n{self.task}", compact_first=False)

    @property
    def title(self) -> str:
        """Return the task, or what stands in its place."""
        if self.task:
            return self.task
        return f"compact {self.thread}" if self.verb == COMPACT else f"review {self.target}"
