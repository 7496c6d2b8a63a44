"""`unhang hook`, called as Claude Code calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.engine import Done, Engine
from unhang.store.session_log import SessionLog

ID = "a54c2f00-0000-4000-8000-000000000001"
PAYLOAD = {
    "session_id": ID,
    "transcript_path": "/test/projects/x.jsonl",
    "cwd": "/test/work",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "npm test", "timeout": 90000, "run_in_background": False},
    "tool_use_id": "toolu_01",
}


class Hooks(Engine):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in [name for name in self.env if name.startswith(("CLAUDE", "TMUX"))]:
            del self.env[name]

    def call(self, data: bytes | dict[str, Any], **more: str) -> Done:
        given = data if isinstance(data, bytes) else json.dumps(data).encode()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "unhang", "hook"],
            input=given,
            env=self.env | more,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def quiet(self, data: bytes | dict[str, Any], **more: str) -> Done:
        """Whatever happens: 0, and nothing that Claude could read as a decision or as context."""
        done = self.call(data, **more)
        assert (done.code, done.out) == (0, b"")
        return done

    def recorded(self, session: str = ID) -> list[dict[str, Any]]:
        return SessionLog(session, str(self.home)).read()
