"""What a Claude driver is to do, as words of a command line: readable in `unhang ps`, and the same from every face."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

MODULE = "unhang.agents.claude.driver"
RUN = "run"
READ_ONLY_MODE = "plan"


@dataclass(frozen=True)
class Plan:
    task: str = ""
    claude: str = "claude"
    session: str | None = None  # to be resumed; None: a new one
    model: str | None = None
    effort: str | None = None
    permission_mode: str | None = None  # None: as Claude is configured
    allowed_tools: tuple[str, ...] = field(default=())
    mcp_config: tuple[str, ...] = field(default=())
    tool_limit: float | None = None
    linger: float = 10.0  # for commands in the background, after the last turn
    stall: float = 60.0  # say why nothing moves after this long
    grace: float = 5.0
    record: str | None = None
    more: tuple[str, ...] = field(default=())  # for Claude, as they are

    def words(self) -> list[str]:
        # the task comes first, as people read it; with "=", because it may begin with a dash
        found = [RUN, f"--task={self.task}", "--claude", self.claude]
        found += ["--linger", f"{self.linger:g}", "--stall", f"{self.stall:g}", "--grace", f"{self.grace:g}"]
        given = {
            "--session": self.session,
            "--model": self.model,
            "--effort": self.effort,
            "--permission-mode": self.permission_mode,
            "--tool-limit": None if self.tool_limit is None else f"{self.tool_limit:g}",
            "--record": self.record,
        }
        for name, value in given.items():
            if value is not None:
                found.append(f"{name}={value}")
        for name, values in (
            ("--allowed-tools", self.allowed_tools),
            ("--mcp-config", self.mcp_config),
            ("--more", self.more),
        ):
            found += [f"{name}={value}" for value in values]
        return found

    def command(self) -> list[str]:
        """Claude's own command line. Its stdin stays open: that is where it can be interrupted."""
        words = [self.claude, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        words += ["--include-partial-messages", "--include-hook-events"]
        given = {
            "--resume": self.session,
            "--model": self.model,
            "--effort": self.effort,
            "--permission-mode": self.permission_mode,
        }
        for name, value in given.items():
            if value is not None:
                words += [name, value]
        if self.allowed_tools:
            words += ["--allowed-tools", ",".join(self.allowed_tools)]
        if self.mcp_config:
            words += ["--mcp-config", *self.mcp_config]
        return [*words, *self.more]


def parsed(words: list[str]) -> Plan:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", allow_abbrev=False)
    parser.add_argument("verb", choices=(RUN,))
    parser.add_argument("--task", default="")
    parser.add_argument("--claude", default="claude")
    for name in ("--session", "--model", "--effort", "--permission-mode", "--record"):
        parser.add_argument(name)
    for name in ("--allowed-tools", "--mcp-config", "--more"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--tool-limit", type=float)
    for name, default in (("--linger", 10.0), ("--stall", 60.0), ("--grace", 5.0)):
        parser.add_argument(name, type=float, default=default)
    args = vars(parser.parse_args(words))
    del args["verb"]
    lists = {name: tuple(args[name]) for name in ("allowed_tools", "mcp_config", "more")}
    return Plan(**(args | lists))
