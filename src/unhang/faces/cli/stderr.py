"""The notices of `unhang run` on stderr, one line each; control characters of a job are removed."""

from __future__ import annotations

import os

from unhang.core import mask, notices, plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 4000
_COLOURS = {notices.INFO: "36", notices.WARNING: "33", notices.ERROR: "31"}


class StderrReporter:
    """Writes the notices of `unhang` about a job to stderr, one line each; with `quiet`, none.

    `raw`: the terminal is in raw mode, so that a line must end with a carriage return, too.
    """

    def __init__(self, *, quiet: bool = False, raw: bool = False) -> None:
        self._quiet = quiet
        self._end = b"\r\n" if raw else b"\n"
        self._colour = os.isatty(2) and not os.environ.get("NO_COLOR")

    def line(self, text: str, colour: str = "33") -> None:
        """Write one line, in colour on a terminal; secrets are masked and control characters removed."""
        if self._quiet:
            return
        text = "unhang: " + mask.line(plain_text.one_line(text, _LONGEST))
        if self._colour:
            text = f"\x1b[{colour}m{text}\x1b[0m"
        try:
            os.write(2, text.encode("utf-8", "replace") + self._end)
        except OSError:
            pass  # stderr is closed, or its reader has gone

    def event(self, event: dict[str, Any]) -> None:
        """Write the message of an event, if events of its type are meant for a terminal."""
        level = notices.audience(event).terminal
        if level:
            self.line(str(event.get("message", "")), _COLOURS[level])

    def ending(self, job_id: str, last: dict[str, Any]) -> None:
        """Write what a person must know of the ending: nothing for a plain exit."""
        error = last.get("error") or {}
        if last.get("leaked"):
            self.line(str(last.get("message", "")))
        if last.get("status") == "timeout":
            self.line(str(error.get("message")), "31")
            if error.get("survivors"):
                pids = ", ".join(f"{p.get('pid', '?')} ({p.get('command', '?')})" for p in error["survivors"])
                self.line(f"still running, in spite of SIGKILL: {pids}", "31")
            elif error.get("unseen"):
                self.line("something of it may still run; what it printed is kept", "31")
            else:
                self.line("nothing of it is left running; what it printed is kept", "32")
            for hint in last.get("suggestions") or []:
                self.line(f"try: {hint}", "36")
        elif error.get("code") in ("ESPAWN", "ELOST"):
            self.line(str(error.get("message")), "31")
        if last.get("status") == "timeout":
            self.line(f"the whole story: unhang events {job_id}", "36")
