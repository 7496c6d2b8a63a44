"""Drives the real `unhang claude run` with the real Claude Code and a fake model, in folders of a test's own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.agents.claude import recordings
from tests.support import programs
from tests.support.engine import Done
from tests.support.fakes.anthropic_messages import FakeAnthropic
from tests.support.jobs import Jobs
from tests.support.places import SUPPORT
from tests.support.turn import Turn
from unhang.jobs.handle import Job

KEY = "sk-ant-dummy-0000000000000000000000000000"
SLOW_MCP = SUPPORT / "claude_sessions" / "slow_mcp.py"
# Generous: a loaded machine may need seconds to start a program of 366 MB.
PATIENT = ("--idle", "90", "--hard", "100", "--grace", "10")
# The idle limit holds for the start of Claude Code, too: the time that it needs on a loaded machine.
SHORT = ("--idle", "15", "--hard", "100", "--stall", "2", "--grace", "30")
BASH = ("--allowed-tools", "Bash")


def environment(config: Path, port: int) -> dict[str, str]:
    """What makes Claude Code use this configuration and the model at this port, and nothing else."""
    return {
        "CLAUDE_CONFIG_DIR": str(config),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


class Bench(Jobs):
    def __init__(self, folder: Path, fake: FakeAnthropic) -> None:
        super().__init__(folder)
        self.fake = fake
        self.config = folder / "claude-config"
        self.workspace = folder / "workspace"
        for place in (self.config, self.workspace, folder / "user", folder / "tmp"):
            place.mkdir()
        for name in [name for name in self.env if name.startswith(("CLAUDE", "ANTHROPIC_", "BASH_", "MCP_", "API_"))]:
            del self.env[name]
        self.env |= environment(self.config, fake.port) | {
            "HOME": str(folder / "user"),
            "TMPDIR": str(folder / "tmp"),
            "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000",  # else a busy machine has its tools only in the second turn
            "UNHANG_CLAUDE": str(programs.CLAUDE),
            "UNHANG_WATCH": "off",
        }

    def claude(self, verb: str, *words: object, record: str = "", timeout: float = 110) -> Done:
        """`unhang claude VERB …` to its end; `record`: the name of the recording that is made of it."""
        target = self.folder / f"{record}.ndjson"
        more = ("--record", str(target)) if record else ()
        done = self.call("claude", verb, *more, *words, timeout=timeout, cwd=self.workspace)
        if record and os.environ.get("UPDATE_RECORDINGS"):
            recordings.keep(record, target, self.folder)
        return done

    def turn(self, task: str, *words: object, record: str = "") -> Turn:
        """`unhang claude run --wait --json`."""
        return Turn(self, self.claude("run", task, "--wait", "--json", *words, record=record), "claude")

    def begun(self, task: str, *words: object) -> Job:
        """`unhang claude run` in the background."""
        done = self.claude("run", task, *words)
        assert done.code == 0, done.err
        return self.handle(done.out.decode().strip())

    def saved(self, text: str) -> bool:
        """Whether Claude has written this to the file of a session."""
        return any(text in file.read_text(errors="replace") for file in self.config.glob("projects/*/*.jsonl"))

    def slow_mcp(self) -> str:
        """The configuration of a server whose tool `hang` never answers."""
        file = self.folder / "mcp.json"
        server = {"command": sys.executable, "args": [str(SLOW_MCP)]}
        file.write_text(json.dumps({"mcpServers": {"slow": server}}))
        return str(file)
