"""The live lines of `unhang wait` at a terminal: one a job, drawn again every second on stderr."""

from __future__ import annotations

import os
import threading

from unhang.core.live_line import live_line
from unhang.core.plural import several
from unhang.core.spec import name_of
from unhang.errors import UnhangError
from unhang.faces.cli.stderr import StderrReporter
from unhang.jobs.handle import Job
from unhang.jobs.progress import Waited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TIME_OVER = "the time to wait is over: "
_EVERY = 1.0
_CLEAR_BELOW = "\x1b[J"


def say_what_goes_on(jobs: Iterable[Job], why: str = "") -> None:
    """Say on stderr which of these jobs go on after the waiting is over, and what can be done; `why` it is."""
    live = [name_of(job.spec.get("labels")) or job.id for job in jobs if not job.ended()]
    if live:
        names = " ".join(live)
        line = f"{why}{_go_on(live)}; to wait again: unhang wait {names}; to end: unhang cancel {names}"
        StderrReporter().line(line)


def say_over(names: list[str]) -> None:
    """Say on stderr that the time to wait is over, and which jobs of a fleet go on."""
    StderrReporter().line(f"{TIME_OVER}{_go_on(names)}: {' '.join(names)}")


def _go_on(names: list[str]) -> str:
    return f"{several(len(names), 'job')} {'goes' if len(names) == 1 else 'go'} on"


class LiveLines:
    """Draws a line for each job while the `with` block waits for them; nothing where stderr is no terminal."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._handles = list({job.id: job for job in jobs}.values()) if os.isatty(2) else []
        self._jobs = [Waited(job) for job in self._handles]
        self._drawn = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_again, daemon=True)

    def __enter__(self) -> LiveLines:
        if self._jobs:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        if self._jobs:
            self._thread.join()
            self._draw()
            if kind is KeyboardInterrupt:  # only the waiting is over
                say_what_goes_on(self._handles)

    @property
    def shown(self) -> bool:
        """Return whether a person sees the lines: the last of them say how each job ended."""
        return bool(self._jobs)

    def _draw_again(self) -> None:
        while not self._over.wait(0.0 if self._drawn == 0 else _EVERY):
            self._draw()

    def _draw(self) -> None:
        """Over the lines of the last time. More jobs than the terminal has rows are counted in the last line."""
        try:
            columns, rows = os.get_terminal_size(2)
        except OSError:
            columns, rows = 80, 24
        shown = self._jobs if len(self._jobs) < rows else self._jobs[: max(1, rows - 2)]
        lines = []
        for job in shown:
            try:
                lines.append(live_line(job.standing(), max(20, columns - 1)))
            except (UnhangError, OSError):
                lines.append(job.id)
        if len(shown) < len(self._jobs):
            lines.append(f"… and {len(self._jobs) - len(shown)} more")
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self._drawn = len(lines)
        text = "".join(f"\r{line}\x1b[K\n" for line in lines)
        try:
            os.write(2, (up + text + _CLEAR_BELOW).encode("utf-8", "replace"))
        except OSError:
            self._over.set()
