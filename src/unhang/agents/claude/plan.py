"""What a Claude driver is to do."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.agents.base.plan import AgentPlan

INSTALL = "npm install -g @anthropic-ai/claude-code"
READ_ONLY_MODE = "plan"


@dataclass(frozen=True, kw_only=True)
class ClaudePlan(AgentPlan):
    """One task for a headless Claude Code."""

    task: str = ""
    claude: str = "claude"
    session: str | None = None  # to be resumed; None: a new one
    model: str | None = None
    effort: str | None = None
    permission_mode: str | None = None  # None: as Claude is configured
    allowed_tools: tuple[str, ...] = ()
    mcp_config: tuple[str, ...] = ()
    tool_limit: float | None = None
    linger: float = 10.0  # seconds for commands in the background, after the last turn
    more: tuple[str, ...] = ()  # words for Claude's own command line, as they are

    @property
    def title(self) -> str:
        """Return the task."""
        return self.task

    def to_argv(self) -> list[str]:
        """Return Claude's own command line. Its stdin stays open: that is where it can be interrupted."""
        argv = [self.claude, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        argv += ["--include-partial-messages", "--include-hook-events"]
        given = {
            "--resume": self.session,
            "--model": self.model,
            "--effort": self.effort,
            "--permission-mode": self.permission_mode,
        }
        for name, value in given.items():
            if value is not None:
                argv += [name, value]
        if self.allowed_tools:
            argv += ["--allowed-tools", ",".join(self.allowed_tools)]
        if self.mcp_config:
            argv += ["--mcp-config", *self.mcp_config]
        return [*argv, *self.more]
