"""What a Codex driver is to do."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.agents.base.plan import AgentPlan

INSTALL = "npm install -g @openai/codex"
RUN, REVIEW, COMPACT, EXEC = "run", "review", "compact", "exec"
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
        """The verb."""
        return self.verb

    @property
    def title(self) -> str:
        """The task, or what stands in its place."""
        if self.task:
            return self.task
        return f"compact {self.thread}" if self.verb == COMPACT else f"review {self.target}"
