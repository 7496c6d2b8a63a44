"""Feeds a recording to the session machine over virtual time: no Claude, no tmux, no clock.

Where the recording says `did`, everything after it is held back until the machine takes that step: a hang of two
seconds lasts as long as the machine lets it, under the limits that people really have. A recording that ends without a
`did` goes on as it ended, for hours.
"""

from __future__ import annotations

import re
from typing import Any

from tests.support.claude_sessions import recorder
from unhang.sessions.claude import fact_reader as hooks
from unhang.sessions.state import facts, screen
from unhang.sessions.state.actions import LookAtPane, LookAtTree, Say, Take, TellModel
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.limits import SessionLimits
from unhang.sessions.state.machine import Session
from unhang.sessions.state.traffic import Wire

_SIGNS = {"assistant", "tool"}
_TOKENS = re.compile(r"(↓.{0,20}?)(\d+)( tokens)")


class Replay:
    """`steps`: what was done and when; `said`: every event, with its time. Times are those of the recording's start."""

    def __init__(self, name: str, limits: SessionLimits | None = None, *, hours: float = 10) -> None:
        self.steps: list[tuple[float, str]] = []
        self.refused: list[tuple[float, str]] = []  # steps that nobody took when the recording was made
        self.said: list[tuple[float, Say]] = []
        self.notes: list[str] = []  # what the model is told
        self.now = 0.0
        self._lines = recorder.load(name)
        self._place = 0
        self._shift = 0.0
        self._pane: dict[str, Any] = {"dead": True, "inMode": False, "lines": []}
        self._wire: Wire = {}
        self._wired = 0.0
        self._trees: list[tuple[float, dict[str, Any]]] = [(0.0, {"names": [], "printed": 0})]
        self._looked: dict[str, float] = {}
        chosen = limits or SessionLimits()
        self.machine = Session(chosen, Budget(chosen.per_machine), self._lines[0]["t"])
        self._run(hours * 3600)

    @property
    def phases(self) -> list[str]:
        return [say.phase for _, say in self.said]

    def first(self, phase: str) -> tuple[float, Say]:
        return next((at, say) for at, say in self.said if say.phase == phase)

    # --- time ---------------------------------------------------------------------------------------------------

    def _run(self, until: float) -> None:
        while True:
            due = [at for at in (self._next_fact(), self.machine.deadline()) if at is not None]
            if not due or min(due) > until:
                return
            self.now = max(self.now, min(due))
            while (at := self._next_fact()) is not None and at <= self.now:
                self._tell(self._lines[self._place])
                self._place += 1
            self._wake()

    def _next_fact(self) -> float | None:
        if self._place == len(self._lines) or "did" in self._lines[self._place]:
            return None
        return float(self._lines[self._place]["t"]) + self._shift

    def _wake(self) -> None:
        for _ in range(20):  # an answer may lead to the next question, but not for ever
            done = self.machine.wake(self.now)
            if not done:
                return
            for action in done:
                self._act(action)
        raise AssertionError(f"no end of it at {self.now}: {done}")

    # --- facts --------------------------------------------------------------------------------------------------

    def _tell(self, line: dict[str, Any]) -> None:
        if "hook" in line:
            self.machine.tell(hooks.hook(line["hook"], self.now))
        elif "status" in line:
            found = line["status"] or {}
            stamp, waits = found.get("statusUpdatedAt", 0), found.get("waitingFor", "")
            self.machine.tell(facts.Status(found.get("status"), stamp, self.now, waits))
        elif "grew" in line:
            if _SIGNS & set(line["grew"]):
                self.machine.tell(facts.Grew(self.now))
        elif "pane" in line:
            self._pane = line["pane"]
        elif "wire" in line:
            self._wire = {name: (size, pieces) for name, (size, pieces) in line["wire"].items()}
            self._wired = self.now
        elif "tree" in line:
            self._trees.append((self.now, line["tree"]))

    # --- what the machine asks for ------------------------------------------------------------------------------

    def _act(self, action: object) -> None:
        if isinstance(action, Say):
            self.said.append((self.now, action))
        elif isinstance(action, LookAtPane):
            self.machine.tell(self._look())
        elif isinstance(action, LookAtTree):
            self.machine.tell(self._look_at_tree(action.call))
        elif isinstance(action, TellModel):
            self.notes.append(action.text)
        elif isinstance(action, Take):
            self._take(action)
        else:
            raise AssertionError(f"what is {action!r}?")

    def _look(self) -> facts.Pane:
        if self._pane["dead"]:
            return facts.Pane(refused="its pane is dead")
        text = "\n".join(self._pane["lines"])
        if self._streams:  # it goes on as it ended: the counter goes on, too
            text = _TOKENS.sub(lambda m: f"{m[1]}{int(m[2]) + int(10 * self.now)}{m[3]}", text)
        return facts.Pane(in_mode=self._pane["inMode"], screen=screen.read(text), wire=self._came_in())

    def _came_in(self) -> Wire:
        """Bytes and segments by now: what came between two looks of the recorder came evenly."""
        later = next((line for line in self._lines[self._place :] if "wire" in line), None)
        if later is None or not self._wire:
            return self._wire
        at, then = float(later["t"]) + self._shift, later["wire"]
        share = min(1.0, max(0.0, (self.now - self._wired) / max(0.001, at - self._wired)))

        def between(name: str, count: tuple[int, int]) -> tuple[int, int]:
            size, pieces = then.get(name, count)
            return round(count[0] + share * (size - count[0])), round(count[1] + share * (pieces - count[1]))

        return {name: between(name, count) for name, count in self._wire.items()}

    @property
    def _streams(self) -> bool:
        """The recording ended in the middle of an answer: its last panes have different counts."""
        last = [_count(line["pane"]) for line in self._lines if "pane" in line][-5:]
        return self._place == len(self._lines) and None not in last and len(set(last)) > 1

    def _look_at_tree(self, call: str) -> facts.CallTree:
        """A call's processes stand below a shell of its own. What printed in the recording's last second goes on."""
        (_, now), before = self._trees[-1], self._looked.get(call)
        count = len(now["names"]) if "bash" in now["names"] else 0
        self._looked[call] = self.now
        if before is None or not count:
            return facts.CallTree(call, count)
        moved = self._place == len(self._lines) and self._trees[-1][0] > self.last - 1 and now["printed"] > 0
        return facts.CallTree(call, count, moved, "it has printed" if moved else "")

    @property
    def last(self) -> float:
        return float(self._lines[-1]["t"]) + self._shift

    def _take(self, action: Take) -> None:
        coming = next((place for place in range(self._place, len(self._lines)) if "did" in self._lines[place]), None)
        if coming is None or self._lines[coming]["did"] != action.step:
            self.refused.append((self.now, action.step))
            self.machine.tell(facts.Done(action.step, sent=False, detail="nobody did that"))
            return
        self.steps.append((self.now, action.step))
        for line in self._lines[self._place : coming]:  # the hand was slower than the machine
            self._tell(line)
        self._place = coming
        self._shift = self.now - float(self._lines[self._place]["t"])
        self._place += 1
        self.machine.tell(facts.Done(action.step, sent=True))


def _count(pane: dict[str, Any]) -> int | None:
    found = _TOKENS.search(re.sub(r"\x1b\[[0-9;:]*m", "", "\n".join(pane["lines"])))
    return int(found[2]) if found else None
