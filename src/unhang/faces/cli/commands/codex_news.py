"""`unhang codex news`: a hook of Codex's. The model reads what it prints as additional context."""

from __future__ import annotations

import os
import sys

from unhang.core import values
from unhang.core.spec import CODEX_THREAD
from unhang.errors import UnhangError
from unhang.faces.cli import output
from unhang.jobs.home import state_home
from unhang.jobs.session_news import take_news

# The hooks whose additional context Codex shows to the model.
_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse")
# A hook is told all that a tool has printed.
_LARGEST = 8 << 20


def main() -> int:
    """Print the news of the jobs of the thread that stdin names; return 0 whatever happens: no turn fails by it."""
    asked = values.parse_message(sys.stdin.buffer.read(_LARGEST))
    event, thread = values.text_of(asked, "hook_event_name", most=40), values.text_of(asked, "session_id", most=100)
    if event not in _EVENTS or not thread:
        return 0
    try:
        lines = take_news(state_home(), os.environ | {CODEX_THREAD: thread})
    except (UnhangError, OSError) as error:
        print(f"unhang: {error}", file=sys.stderr)
        return 0
    if lines:
        text = "\n".join(f"unhang: {values.visible_bytes(line)}" for line in lines)
        output.print_json({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
    return 0
