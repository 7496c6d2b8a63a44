"""`unhang hook`: a session waits for it at every tool call."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from bench.engine import UNHANG
from bench.measure import Row, quantile, timed

_PAYLOAD = {
    "session_id": "00000000-0000-4000-8000-000000000001",
    "transcript_path": "/test/projects/x.jsonl",
    "cwd": "/test",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "npm test", "description": "run the tests"},
    "tool_use_id": "toolu_01",
}


def hook(_home: str) -> list[Row]:
    data = json.dumps(_PAYLOAD).encode()
    env = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}

    def run(*words: str) -> float:
        return timed(lambda: subprocess.run(words, input=data, env=env, check=True))

    pairs = [(run(*UNHANG, "hook"), run(sys.executable, "-c", "pass")) for _ in range(61)][1:]
    ours, bare = ([pair[place] * 1e3 for pair in pairs] for place in (0, 1))
    half = quantile(ours, 0.5)
    note = f"p95 {quantile(ours, 0.95):.1f} ms; of the empty interpreter {quantile(bare, 0.95):.1f} ms"
    return [
        Row("unhang hook", half, quantile(bare, 0.5), 3.0, "ms"),
        Row("unhang hook with its start", half, None, 50.0, "ms", note=note),
    ]
