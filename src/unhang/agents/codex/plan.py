"""What a Codex driver is to do, as words of a command line: readable in `unhang ps`, and the same from every face."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

MODULE = "unhang.agents.codex.driver"
RUN, REVIEW, COMPACT, EXEC = "run", "review", "compact", "exec"
DENY, ACCEPT, ASK = "deny", "accept", "ask"
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
APPROVALS = (DENY, ACCEPT, ASK)


@dataclass(frozen=True)
class Plan:
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
    stall: float = 60.0  # say why nothing moves after this long
    grace: float = 5.0
    record: str | None = None
    config: tuple[str, ...] = field(default=())

    def words(self) -> list[str]:
        # the task comes first, as people read it; with "=", because it may begin with a dash
        found = [self.verb, f"--task={self.task}"] if self.verb != COMPACT else [self.verb]
        found += ["--codex", self.codex, "--approvals", self.approvals]
        found += ["--stall", f"{self.stall:g}", "--grace", f"{self.grace:g}"]
        given = {
            "--thread": self.thread,
            "--model": self.model,
            "--effort": self.effort,
            "--sandbox": self.sandbox,
            "--ask-for-approval": self.ask_for_approval,
            "--tool-limit": None if self.tool_limit is None else f"{self.tool_limit:g}",
            "--record": self.record,
        }
        for name, value in given.items():
            if value is not None:
                found += [name, value]
        if self.approvals == ASK:
            found += ["--approval-wait", f"{self.approval_wait:g}"]
        if self.compact_first:
            found.append("--compact-first")
        if self.verb == REVIEW:
            found += ["--target", self.target]
        for entry in self.config:
            found += ["--config", entry]
        return found


def parsed(words: list[str]) -> Plan:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", allow_abbrev=False)
    parser.add_argument("verb", choices=(RUN, REVIEW, COMPACT, EXEC))
    parser.add_argument("--task", default="")
    parser.add_argument("--codex", default="codex")
    for name in ("--thread", "--model", "--effort", "--ask-for-approval", "--record"):
        parser.add_argument(name)
    parser.add_argument("--sandbox", choices=SANDBOXES)
    parser.add_argument("--approvals", choices=APPROVALS, default=DENY)
    parser.add_argument("--approval-wait", type=float, default=300.0)
    parser.add_argument("--compact-first", action="store_true")
    parser.add_argument("--target", default="uncommitted")
    parser.add_argument("--tool-limit", type=float)
    parser.add_argument("--stall", type=float, default=60.0)
    parser.add_argument("--grace", type=float, default=5.0)
    parser.add_argument("--config", action="append", default=[])
    args = vars(parser.parse_args(words))
    return Plan(**(args | {"config": tuple(args["config"])}))
