"""What the driver of an ACP agent is to do, as words of a command line: readable in `unhang ps`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from unhang.agents.acp.protocol.requests import ASK, DENY, POLICIES

MODULE = "unhang.agents.acp.driver"
FS_NONE, FS_READ, FS_WRITE = FS = ("none", "read", "write")
_SECONDS = ("startup", "first", "idle", "tool", "stall", "grace", "permission_wait")
_WORDS = ("agent", "session", "model", "mode", "permissions", "fs", "record")


@dataclass(frozen=True)
class Plan:
    """`idle` is the keeper's, told here for its figures; None in a budget: the idle limit stands there."""

    argv: tuple[str, ...]
    tasks: tuple[str, ...]
    agent: str = ""  # the recipe's name
    session: str | None = None  # to be resumed; None: a new one
    model: str | None = None
    mode: str | None = None
    permissions: str = DENY
    permission_wait: float = 300.0
    fs: str = FS_NONE
    mcp: tuple[str, ...] = ()
    startup: float | None = None
    first: float | None = None
    idle: float | None = None
    tool: float | None = None
    stall: float = 60.0
    grace: float = 5.0
    record: str | None = None

    def words(self) -> list[str]:
        # the task comes first, as people read it; with "=", because it may begin with a dash
        found = [f"--task={task}" for task in self.tasks]
        for name in _WORDS:
            value = getattr(self, name)
            if value:
                found.append(f"--{name}={value}")
        for name in _SECONDS:
            value = getattr(self, name)
            if value is not None and (name != "permission_wait" or self.permissions == ASK):
                found.append(f"--{name.replace('_', '-')}={value:g}")
        found += [f"--mcp={entry}" for entry in self.mcp]
        return [*found, "--", *self.argv]


def parsed(words: list[str]) -> Plan:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", allow_abbrev=False)
    parser.add_argument("--task", dest="tasks", action="append", required=True)
    for name in ("agent", "session", "model", "mode", "record"):
        parser.add_argument(f"--{name}", default="" if name == "agent" else None)
    parser.add_argument("--permissions", choices=POLICIES, default=DENY)
    parser.add_argument("--fs", choices=FS, default=FS_NONE)
    parser.add_argument("--mcp", action="append", default=[])
    for name in _SECONDS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(Plan, name))
    at = words.index("--")
    args = vars(parser.parse_args(words[:at]))
    return Plan(**(args | {"argv": tuple(words[at + 1 :]), "tasks": tuple(args["tasks"]), "mcp": tuple(args["mcp"])}))
