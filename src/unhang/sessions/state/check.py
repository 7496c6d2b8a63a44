"""The look before a warning: only what hangs is warned about, with the reason, and only what can be ended is announced.

A command that works and an answer that is being written are no hang. Two looks, a moment apart, tell them from one.
"""

from __future__ import annotations

from unhang.sessions.state import clocks, facts
from unhang.sessions.state.actions import Action, LookAtPane, LookAtTree
from unhang.sessions.state.answer_progress import AGAIN, WRITES, AnswerProgress
from unhang.sessions.state.clocks import Clock

# Between two looks at a tree or a pane that show whether it moves.
SAMPLE = 2.0


def looks_take(clock: Clock) -> float:
    """Return how long the looks before a warning of this clock take."""
    return SAMPLE if clock.is_bash or clock.kind in (clocks.API, clocks.TURN) else 0.0


class Check:
    """One clock that is about to warn. `over`: the other fields say what was found."""

    def __init__(self, clock: Clock, now: float) -> None:
        self.clock = clock
        self.until = now
        self.over = False
        self.works = ""  # why the command is left alone
        self.writes = False
        self.pane: facts.Pane | None = None
        self.tree: facts.CallTree | None = None
        self._asked = False
        self._looks = 0
        self._seen: facts.CallTree | facts.Pane | None = None
        self._writing = AnswerProgress()

    def tell(self, fact: facts.Fact) -> None:
        """Take in the answer to a look."""
        if isinstance(fact, facts.CallTree | facts.Pane) and self._asked:
            self._seen = fact

    def wake(self, now: float) -> list[Action]:
        """Return the look that is needed now."""
        if self.over or now < self.until:
            return []
        if not self._asked:
            self._asked, self._seen = True, None
            call = self.clock.call
            return [LookAtTree(call.id) if self.clock.is_bash and call is not None else LookAtPane()]
        self._asked = False
        self._looks += 1
        if isinstance(self._seen, facts.CallTree):
            self.over = self._on_tree(self._seen)
        elif isinstance(self._seen, facts.Pane):
            self.over = self._on_pane(self._seen)
        else:
            self.over = True  # no answer: the warning comes without a reason
        self.until = now + SAMPLE
        return []

    def _on_tree(self, seen: facts.CallTree) -> bool:
        self.tree = seen
        if seen.count and seen.moved is None and self._looks < 2:
            return False
        if seen.moved and self.clock.kind in (clocks.TOOL, clocks.AGENT_TOOL):
            self.works = seen.reason or "its processes move"
        return True

    def _on_pane(self, seen: facts.Pane) -> bool:
        self.pane = seen
        if self.clock.kind not in (clocks.API, clocks.TURN):
            return True
        found = self._writing.look(seen)
        self.writes = found == WRITES
        return found != AGAIN

    def why(self, now: float) -> str:
        """Return the reason of the silence, as far as the looks show it."""
        if self.tree is not None:
            return self.tree.why
        return "" if self.pane is None else self.clock.waits_for(self.pane.peers, now)
