"""Looks at the quiet tree for the watchdog, and says why it is quiet.

Explaining is worth nothing if it can hurt: whatever goes wrong in here is an answer of "I could not tell", never an
end of the keeper. The explainer is imported when it is first needed: most jobs never go quiet.
"""

from __future__ import annotations

import os

from unhang.core.facts import Looked
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.diagnosis.prompt import NeedsInput
    from unhang.core.diagnosis.verdict import Diagnosis
    from unhang.core.fullsample import FullSample
    from unhang.core.samples import CheapSample


class Screen(Record):
    """What a person would see: the end of the output, and the terminal if there is one. And whose it is."""

    text: bytes
    master: int | None
    leader: int


class Looks:
    def __init__(self) -> None:
        self._cheap: CheapSample | None = None
        self._full: FullSample | None = None
        self._verdict: Diagnosis | None = None

    def _sample(self) -> CheapSample | None:
        try:
            from unhang.procs.sampler.cheap import cheap

            return cheap(os.getpid())
        except Exception:  # see the top of this file
            return None

    def cheap(self) -> Looked:
        try:
            from unhang.core.diagnosis.progress import progressed

            before, after = self._cheap, self._sample()
            if before is None or after is None:
                self._cheap = after
                return Looked(False, "")
            if after.at - before.at < 0.2:  # too close to tell; keep the older one to compare with
                return Looked(*progressed(before, after))
            self._cheap = after
            return Looked(*progressed(before, after))
        except Exception:  # see the top of this file
            return Looked(False, "")

    @property
    def moving(self) -> bool:
        """Did the last full look see what counters do not show: bytes that arrive over the network?"""
        return self._verdict is not None and self._verdict.state == "alive" and self._verdict.cause == "progress"

    @property
    def retryable(self) -> bool | None:
        """May more time help? None: there was no diagnosis."""
        try:
            from unhang.core.diagnosis.suggest import retryable

            return None if self._verdict is None else retryable(self._verdict)
        except Exception:  # see the top of this file
            return None

    @property
    def hung(self) -> bool:
        """Did the last full look say so?"""
        return self._verdict is not None and self._verdict.state == "hung"

    def full(self, screen: Screen) -> dict[str, Any] | None:
        """The diagnosis so far, as JSON; None while there is only one sample to go by."""
        try:
            from unhang.core.diagnosis.rules import diagnose

            before, after = self._full, _full(screen)
            self._full = after
            if before is None:
                return None
            self._verdict = diagnose(before, after)
            return self._verdict.to_json()
        except Exception:  # see the top of this file
            return None

    def suggestions(self, timeout_reason: str | None) -> list[str]:
        try:
            from unhang.core.diagnosis.suggest import suggestions

            return [] if self._verdict is None else suggestions(self._verdict, timeout_reason)
        except Exception:  # see the top of this file
            return []

    def prompt(self, screen: Screen) -> NeedsInput | None:
        """Does somebody in there wait for input?"""
        try:
            from unhang.core.diagnosis.prompt import waits_for_input

            return waits_for_input(_full(screen, network=False))
        except Exception:  # see the top of this file
            return None


def _full(screen: Screen, *, network: bool = True) -> FullSample:
    from unhang.procs.sampler.full import full

    return full(os.getpid(), screen=screen.text, pty_master=screen.master, leader=screen.leader, network=network)
