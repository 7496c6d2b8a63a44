"""What a driver tells its keeper: one JSON object a line, on the descriptor that $UNHANG_AGENT_FD names."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from unhang.agents.base.update import AgentUpdate
from unhang.core.events import AGENT, check_phase
from unhang.core.notices import audience_of
from unhang.core.values import bounded
from unhang.core.watchdog.facts import TOOL
from unhang.keeper.agent_channel import VARIABLE

# A reply comes in hundreds of deltas a second; the idle clock is set back often enough like this.
_BETWEEN_SIGNS = 0.2
# An agent at work has a few events a second. One that talks nonsense has thousands, and every event is kept on disk.
_AT_ONCE = 1000
_A_SECOND = 5.0
# How a turn ended is recorded even then, as long as that does not happen all the time.
_RESERVE = 100
_LONGEST_COMPLAINT = 4000


class Allowance:
    """How many of an agent's events may be recorded: so many at once, and so many a second in the long run."""

    def __init__(self, now: float) -> None:
        self._left = float(_AT_ONCE + _RESERVE)
        self._at = now
        self.refused = 0

    def take(self, phase: str, now: float) -> bool:
        """Return whether an event of this phase may be recorded now."""
        self._left = min(_AT_ONCE + _RESERVE, self._left + max(0.0, now - self._at) * _A_SECOND)
        self._at = now
        if self._left < (1 if audience_of(AGENT, phase).ends_turn else 1 + _RESERVE):
            self.refused += 1
            return False
        self._left -= 1
        return True


class KeeperChannel:
    """Our end. The variable is taken out of the environment: the agent must not have the descriptor."""

    def __init__(self) -> None:
        number = os.environ.pop(VARIABLE, "")
        self._fd = int(number) if number.isdigit() else -1
        self._signed = 0.0
        self._allowance = Allowance(time.monotonic())
        if self._fd >= 0:
            os.set_inheritable(self._fd, False)

    def pass_on(self, update: AgentUpdate) -> None:
        """Tell the keeper what a message of the agent means."""
        now = time.monotonic()
        if update.phase and not self._allowance.take(update.phase, now):
            update = update.replace(phase="")
        elif update.phase and self._allowance.refused:
            missing, self._allowance.refused = self._allowance.refused, 0
            text = f"{missing} messages of the agent were not recorded: too many came at once."
            self.tell("warning", text, missing=missing)
        if not (update.phase or update.windowed):
            if not update.alive or now - self._signed < _BETWEEN_SIGNS:
                return
            self._signed = now
        self._write(update.to_json())

    def tell(self, phase: str, message: str, *, alive: bool = False, **fields: Any) -> None:
        """Tell the keeper about the driver's own work."""
        given = {name: value for name, value in fields.items() if value is not None}
        self._write({"phase": phase, "message": message, "alive": alive} | given)

    def answered(self, phase: str, message: str, *, alive: bool = False, **fields: Any) -> None:
        """Tell the keeper how a message of the agent was answered. It counts as one of the agent's own events.

        `alive`: the agent goes on by it.
        """
        self.pass_on(AgentUpdate(phase, message, alive=alive, fields=fields))

    def window(self, seconds: float | None, purpose: str = TOOL) -> None:
        """Put another limit in the place of the idle limit; None: the idle limit holds again."""
        self._write({"window": seconds, "windowFor": purpose})

    def refresh_verdict(self, diagnosis: dict[str, Any]) -> None:
        """Put another reason in the place of the one that the last event gave, without an event."""
        self._write({"diagnosis": diagnosis})

    def _write(self, told: dict[str, Any]) -> None:
        """Write one line, bounded: the keeper would pass over a longer one."""
        if "phase" in told:
            check_phase(AGENT, told["phase"])
        if self._fd < 0:
            return
        line = json.dumps(bounded(told), ensure_ascii=False, allow_nan=False)
        view = memoryview(line.encode("utf-8", "replace") + b"\n")
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:  # the keeper is gone, and so shall we be in a moment
            self._fd = -1


def show(text: str) -> None:
    """Write what the agent wrote to the job's stdout, whole, with an end of line. What is no UTF-8 becomes a `?`."""
    write_out(text if text.endswith("\n") else f"{text}\n")


def write_out(text: str) -> None:
    """Write a text to the job's stdout, at once: what was written stays, however the job ends."""
    view = memoryview(text.encode("utf-8", "replace"))
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        pass  # the keeper is gone


def complain(text: str) -> None:
    """Write a line to the job's stderr, where people look first."""
    try:
        line = f"unhang: {' '.join(text[:_LONGEST_COMPLAINT].split())}\n"
        os.write(2, line.encode("utf-8", "replace"))
    except OSError:
        pass
