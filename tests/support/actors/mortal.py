"""`unhang`, except that the keeper it forks kills itself right after event N: `mortal.py keeper|both N COMMAND …`.

With `both` the keeper kills its guard first. The fault is injected here, from the test's side: what the production code
runs in the forked guard (`in_child` of `spare.make`) replaces the event log that the keeper's journal writes to.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from unhang.__main__ import main
from unhang.keeper.prefork import spare
from unhang.store.event_log import EventLog


class MortalLog(EventLog):
    """An event log whose writer dies when the event with the fatal number has been written."""

    who = "keeper"
    fatal = 0

    def append(self, event: dict[str, Any], *, last: bool = False) -> dict[str, Any] | None:
        written = super().append(event, last=last)
        if not last:  # append_last has more to do than this
            self._die_if_due()
        return written

    def append_last(self, event: dict[str, Any]) -> dict[str, Any] | None:
        written = super().append_last(event)
        self._die_if_due()
        return written

    def _die_if_due(self) -> None:
        if self.seq != self.fatal:
            return
        if self.who == "both":
            os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def be_mortal() -> None:
    """In the guard, before it forks the keeper. The guard itself records a loss by other means than the journal."""
    from unhang.keeper import journal

    journal.EventLog = MortalLog  # type: ignore[attr-defined]


def _made(make: Callable[[Callable[[], None]], spare.Spare], in_child: Callable[[], None] | None = None) -> spare.Spare:
    del in_child
    return make(be_mortal)


MortalLog.who, MortalLog.fatal = sys.argv[1], int(sys.argv[2])
spare.make = partial(_made, spare.make)
sys.argv[1:] = sys.argv[3:]
main()
