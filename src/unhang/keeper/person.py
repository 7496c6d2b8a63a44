"""The person in front of a job in the foreground: what is on their terminal, and whether the job waits for them.

While a job waits for the person who sees its prompt or its screen, its time is that person's and not the job's: the
limits that were not written down for it stand still.
"""

from __future__ import annotations

from unhang.core.interrupts import Interrupts
from unhang.core.limits import ANSWER_WAIT
from unhang.core.spec import AGENT
from unhang.core.watchdog import actions as act

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.spec import JobSpec
    from unhang.core.terminal_modes import TerminalModes
    from unhang.keeper.relay import Relay

_ARGUMENT = "argument"


class Person:
    """Whether a person is in front of the job, and what they see."""

    def __init__(self, spec: JobSpec) -> None:
        self.attended = spec.attended
        self.here = spec.attended and spec.in_front  # False: the job was put into the background of their shell
        self.interrupts = Interrupts()
        self._modes: TerminalModes | None = None
        self._last: tuple[bool, bool] = (True, False)
        # a limit that the person wrote down holds as it was written
        given = {act.IDLE: "idleMs", act.HARD: "hardMs"}
        self._patient = tuple(tier for tier, name in given.items() if not _is_written(spec, name))
        far = not spec.foreground and spec.kind != AGENT  # an agent's driver has a window of its own for questions
        self._idle = spec.limits.idle if far and act.IDLE in self._patient else None

    def shown_by(self, relay: Relay | None) -> TerminalModes | None:
        """Return what is known of the terminal that output is relayed to; None: it is relayed to none."""
        if relay is None or not relay.at_terminal:
            return None
        if self._modes is None:
            from unhang.core.terminal_modes import TerminalModes

            self._modes = TerminalModes()
        return self._modes

    @property
    def at_screen(self) -> bool:
        """Return whether a program fills the person's screen, or edits a line on it."""
        return self._modes is not None and (self._modes.full or self._modes.editing)

    def waited_for(self, asks: bool) -> tuple[str, ...]:
        """Return the tiers whose limits stand still now. `asks`: the job is known to wait for input."""
        return self._patient if self.attended and self.here and (asks or self.at_screen) else ()

    def time_to_answer(self) -> float | None:
        """Return the idle limit of a job in the background while it waits for an answer; None: the one that it has."""
        return ANSWER_WAIT if self._idle is not None and self._idle < ANSWER_WAIT else None

    def shown(self, *, at_the_end: bool = False) -> dict[str, Any]:
        """Return what the caller must know to write to the same terminal."""
        if self._modes is None:
            return {}
        self._last = (self._modes.fresh, self.at_screen)
        state: dict[str, Any] = {"fresh": self._modes.fresh, "screen": self.at_screen}
        if at_the_end and (restore := self._modes.restore()):
            state["restore"] = restore.decode("ascii")
        return state

    def left_screen(self) -> bool:
        """Return whether the caller was last told of a screen that has been left since."""
        return self._last[1] and not self.at_screen


def _is_written(spec: JobSpec, name: str) -> bool:
    return str((spec.sources.get(name) or {}).get("source", "")).startswith(_ARGUMENT)
