"""What the keeper has undertaken to do next, where its guard can see it.

A keeper that is stopped, starved or blocked (a disk that hangs, a pipe that another process put in the place of a file)
cannot say so. So it posts in memory that both share when the job's next limit is due and why; a guard that finds the
time past and the same note still there enforces the limit itself. The guard reads it when that time comes and not
before: a note costs the keeper one small write, and a quiet job costs its guard nothing.
"""

from __future__ import annotations

import mmap
import os

from unhang import plain_signal as signal
from unhang.core import json_text
from unhang.core.record import Record
from unhang.core.watchdog.clocks import NEVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SIZE = 1024
# A limit that moves on by less than this is not posted again: the guard is that patient anyway.
_GRAIN = 0.5
# Promises besides the limits: that the job will have been started, and that its end will have been recorded.
START, FINISH = "start", "finish"
# How long either may take before the guard takes it for a hang: a slow disk has to be waited for.
LONGEST = 60.0


class Promise(Record):
    """Times are of the keeper's clock, which the guard has too. `due` NEVER: nothing is promised."""

    due: float
    reason: str  # START, the limit's tier, the reason of an ending that is under way, FINISH
    started: float = 0.0
    life: float = 0.0  # the last sign of life
    idle: float | None = None
    hard: float | None = None
    budget: str = ""  # what stands in the place of the idle limit, and is as long as `idle` says
    leader: int | None = None
    status: int | None = None  # the leader's, once it has been waited for
    by: str = ""  # who cancelled it
    ending: bool = False  # the keeper has begun to end the job: how the leader exits from now on is the keeper's doing
    pipes: list[list[Any]] = []  # noqa: RUF012 - frozen; name and the keeper's descriptor of each stream it reads


class DeadlineBoard:
    """Made before the guard forks its keeper; the keeper posts, the guard reads."""

    def __init__(self) -> None:
        # Two notes and the number of the one that holds: a keeper may be stopped in the middle of writing the other.
        # No file behind it: a limit on the size of files does not reach it.
        self._page = mmap.mmap(-1, 2 * _SIZE + 1)
        self._guard = os.getpid()
        self._posted = Promise(NEVER, "")

    def post(self, promise: Promise) -> None:
        """Post a promise; only the keeper does. The guard is woken if it must wake sooner than it knows."""
        known = self._posted
        same = (promise.reason, promise.ending, promise.budget) == (known.reason, known.ending, known.budget)
        if same and 0 <= promise.due - known.due < _GRAIN:
            return
        self._posted = promise
        shown = promise.to_dict() | {"due": None if promise.due == NEVER else promise.due}
        other = 1 - self._page[-1]
        line = json_text.encode(shown, ascii_only=True).encode()
        if len(line) > _SIZE:  # who cancelled it, and what a budget is for, are words that the job may have chosen
            line = json_text.encode(shown | {"by": "", "budget": ""}, ascii_only=True).encode()
        self._page[other * _SIZE : (other + 1) * _SIZE] = line[:_SIZE].ljust(_SIZE)
        self._page[-1] = other
        if promise.due < known.due and os.getppid() == self._guard:  # an orphan's parent is another process
            os.kill(self._guard, signal.SIGUSR2)

    def read(self) -> Promise:
        """Return the promise that holds now; only the guard reads it."""
        try:
            held = self._page[-1]
            noted: dict[str, Any] = json_text.decode(self._page[held * _SIZE : (held + 1) * _SIZE])
        except ValueError:  # nothing yet
            return Promise(NEVER, "")
        return Promise(**(noted | {"due": NEVER if noted["due"] is None else noted["due"]}))
