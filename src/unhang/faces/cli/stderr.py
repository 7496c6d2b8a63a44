"""What `unhang run` says on stderr: one line a notice. Nothing of the job's that moves a cursor gets through."""

from __future__ import annotations

import os

from unhang.core import mask, notices, plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 4000
_COLOURS = {notices.INFO: "36", notices.WARNING: "33", notices.ERROR: "31"}


class Talk:
    def __init__(self, *, quiet: bool = False, raw: bool = False) -> None:
        self._quiet = quiet
        self._end = b"\r\n" if raw else b"\n"
        self._colour = os.isatty(2) and not os.environ.get("NO_COLOR")

    def line(self, text: str, colour: str = "33") -> None:
        if self._quiet:
            return
        text = "unhang: " + mask.line(plain_text.one_line(text, _LONGEST))
        if self._colour:
            text = f"\x1b[{colour}m{text}\x1b[0m"
        try:
            os.write(2, text.encode("utf-8", "replace") + self._end)
        except OSError:
            pass  # nobody listens

    def event(self, event: dict[str, Any]) -> None:
        level = notices.audience(event).terminal
        if level:
            self.line(str(event.get("message", "")), _COLOURS[level])

    def ending(self, job_id: str, last: dict[str, Any]) -> None:
        """Only what a person must know: a plain exit says nothing, as the command alone would not."""
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
