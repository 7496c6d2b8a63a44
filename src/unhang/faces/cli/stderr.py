"""The notices of `unhang run` on stderr. Control characters of a job are removed.

In a file or a pipe each is one line. At a terminal each begins on a line of its own, is dim and is broken by words.
None is drawn into a program that fills the screen or edits a line: it waits until that is over. In CI, a warning and
the end at a limit are annotations.
"""

from __future__ import annotations

import os

from unhang.core import events as ev
from unhang.core import mask, notices, plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 4000
_PREFIX = "unhang: "
_DIM, _BAD = "2", "31"
_CI = ("GITHUB_ACTIONS", "GITLAB_CI")
# Advice beyond this many lines is not read.
_MOST_HINTS = 2
# What notices tell of that may be over when they can be written.
_SILENCE, _RUN, _END = "silence", "run", "end"


class StderrReporter:
    """Writes the notices of `unhang` about a job to stderr; with `quiet`, none. `name`: what the job is called there.

    `raw`: the terminal is in raw mode, so that a line must end with a carriage return, too.
    """

    def __init__(self, *, quiet: bool = False, name: str = "", named: bool = True) -> None:
        """`named`: the job was given its name; else `name` is the program that it runs."""
        self._quiet = quiet
        self.raw = False
        self._name, self._named = name, named
        self._prefix = f"{_PREFIX}{name}: " if name else _PREFIX
        self._in_ci = any(os.environ.get(variable) for variable in _CI)
        self._terminal = os.isatty(2)
        self._colour = self._terminal and not os.environ.get("NO_COLOR")
        self._fresh = True
        self._echo = False
        self._screen = False
        self._held: list[tuple[str, str, str]] = []  # lines that wait until the screen is free, with what they tell of
        self._said: set[str] = set()  # causes, and reasons without their numbers

    def place(self, *, fresh: bool, screen: bool) -> None:
        """Note where the cursor stands; `screen`: a program fills the screen, or edits a line there."""
        self._fresh, self._screen = fresh, screen
        if not screen:
            self.release()

    def echoed(self) -> None:
        """Note that the terminal itself has shown a key (^C): the cursor stands behind it."""
        self._echo = self._terminal

    def release(self) -> None:
        """Write what was held back, as far as it is still true.

        A screen that is left has been drawn on: a silence that was told of meanwhile is over.
        """
        self._screen = False
        held, self._held = self._held, []
        for about, text, colour in held:
            if about != _SILENCE:
                self._write(text, colour)

    def line(self, text: str, colour: str = _DIM, about: str = "") -> None:
        """Write one line, dim on a terminal unless another colour is named; secrets are masked.

        `about`: what it tells of, where that may be over before the line can be written.
        """
        if self._quiet:
            return
        text = self._prefix + mask.line(plain_text.one_line(text, _LONGEST))
        if self._terminal and self._screen:
            self._held.append((about, text, colour))
        else:
            self._write(text, colour)

    def _write(self, text: str, colour: str) -> None:
        lines = [text]
        if self._terminal:
            from unhang.core.wrap import wrapped

            lines = wrapped(text, _width())
        if self._colour:
            lines = [f"\x1b[{colour}m{line}\x1b[0m" for line in lines]
        self._put(lines)

    def _put(self, lines: list[str]) -> None:
        """Write lines, the first one at the beginning of a line of the terminal."""
        end = "\r\n" if self.raw else "\n"
        begin = "" if self._fresh and not self._echo else end
        self._fresh, self._echo = True, False
        try:
            os.write(2, (begin + "".join(line + end for line in lines)).encode("utf-8", "replace"))
        except OSError:
            pass  # stderr is closed, or its reader has gone

    def event(self, event: dict[str, Any], job_id: str) -> None:
        """Write the message of an event of a job, if events of its type are meant for a terminal; its reason once."""
        about = _about(event)
        if about == _END:  # what was to be feared has come
            self._held = [held for held in self._held if held[0] not in (_SILENCE, _RUN)]
        if not notices.audience(event).terminal:
            return
        text = self._once(event, job_id)
        if self._in_ci and event.get("phase") == "warning":
            self._annotate("warning", str(event.get("message", "")))  # whole: the CI system shows it apart
        else:
            self.line(text, about=about)

    def _annotate(self, level: str, text: str) -> None:
        """Write a line that the CI system shows where a person looks first."""
        from unhang.core import ci

        system = ci.system_of(os.environ)
        if not system:
            self.line(text)
        elif not self._quiet:
            title = f"unhang: {self._name}" if self._name else "unhang"
            text = ci.annotation(system, level, title, mask.line(plain_text.one_line(text, _LONGEST)))
            self._put([text])  # at a terminal as well in one piece: the CI system reads it

    def _once(self, event: dict[str, Any], job_id: str) -> str:
        """Return the message, without a reason that was given before: its numbers change, its cause does not."""
        diagnosis = event.get("diagnosis") if event.get("type") == ev.WATCHDOG else None
        if diagnosis and diagnosis.get("reason"):
            from unhang.core.watchdog import messages  # only a job that was looked at needs it

            cause = f"{diagnosis.get('state')} {diagnosis.get('cause')}"
            # the same words are the same reason, also where it has become sure meanwhile
            words = "".join(c for c in str(diagnosis["reason"]) if not c.isdigit())
            if event.get("phase") in messages.GIVE_A_REASON:
                said = self._said & {cause, words}
                self._said |= {cause, words}
                if said:
                    return messages.message_of(event, job_id, reason=False)
        return str(event.get("message", ""))

    def ending(self, job_id: str, last: dict[str, Any]) -> None:
        """Write what a person must know of the ending: nothing for a plain exit."""
        self._held = [held for held in self._held if held[0] != _RUN]
        self.release()
        error = last.get("error") or {}
        # a signal (Ctrl-C) is known to its sender; a request from elsewhere is not known here
        by_others = last.get("status") == "cancelled" and not str(last.get("cancelledBy", "SIG")).startswith("SIG")
        if last.get("leaked") or by_others:
            self.line(str(last.get("message", "")))
        if last.get("status") == "timeout":
            text = f"Ended: {error.get('message')}; {what_is_left(error)}"
            text += "" if error.get("survivors") else "; what it printed is kept"
            if self._in_ci:
                self._annotate("error", text + notices.because(last.get("diagnosis")))
            else:
                self.line(text, _BAD)
            for hint in (last.get("suggestions") or [])[:_MOST_HINTS]:
                self.line(f"try: {hint}")
            self.line(f"more: unhang events {job_id}")
        elif ev.error_code(last) in (ev.ESPAWN, ev.ELOST):
            if not self._named:  # the message says which program could not be started
                self._prefix = _PREFIX
            self.line(str(error.get("message")), _BAD)


def _about(event: dict[str, Any]) -> str:
    """What a notice tells of, if that can be over: a silence, a run that still lasts; or the end of both."""
    phase = event.get("phase")
    if event.get("type") == ev.SIGNAL or phase == "timeout":
        return _END
    if phase in ("stuck", "quiet", "extended") or (phase == "warning" and event.get("idleMs") is not None):
        return _SILENCE
    return _RUN if phase in ("warning", "slow", "interrupted") else ""


def what_is_left(error: dict[str, Any] | None) -> str:
    """Return what is left of a job that was ended, by the error of its last event."""
    error = error or {}
    survivors = error.get("survivors") or []
    if survivors:
        pids = ", ".join(f"{process.get('pid', '?')} ({process.get('command', '?')})" for process in survivors)
        return f"still running, in spite of SIGKILL: {pids}"
    return "something of it may still run" if error.get("unseen") else "nothing of it is left running"


def _width() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80
