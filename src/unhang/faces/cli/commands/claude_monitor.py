"""`unhang claude monitor`: what the plugin runs beside a session of Claude Code; each line it prints, Claude reads."""

from __future__ import annotations

import os
import sys

from unhang.core import values
from unhang.core.spec import claude_session
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.jobs.home import state_home


def main() -> int:
    """Print the news of the session's jobs until the session has ended; return 0."""
    from unhang.jobs.session_news import follow

    session = claude_session(os.environ)
    if session is None:
        raise UsageError(
            "not inside a session of Claude Code: CLAUDE_PID is not set; to follow a job: unhang events -f"
        )
    import gc

    gc.enable()  # __main__ switches it off for short lives; this is a long one
    output.leave_with_reader()
    follow(state_home(), os.environ, session["pid"], _tell)
    return 0


def _tell(line: str) -> None:
    output.print_line(f"unhang: {values.visible_bytes(line)}")
    sys.stdout.flush()
