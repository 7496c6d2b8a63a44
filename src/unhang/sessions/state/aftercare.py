"""What follows an Escape: a look at the input box and, where that is allowed, `/clear` or a prompt to continue.

After an API call that hung before its first byte, Claude Code puts the prompt back into the box. The prompt is recorded
and left there for its author to send again. `/clear` is typed only into an idle prompt, and only after the session's
state, with the content of the box, has been saved.
"""

from __future__ import annotations

from unhang.sessions.state import actions, facts, model_messages, screen
from unhang.sessions.state.actions import Action, LookAtPane, Say, Take
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.limits import SessionLimits
from unhang.sessions.state.rescue import PATIENCE, REDRAW

_LOOK, _ASKED, _STEP, _VERIFY = "look", "asked", "step", "verify"


class Aftercare:
    """The steps after one Escape. `over`: nothing is left to do."""

    def __init__(
        self,
        draft: str,
        *,
        clear: bool,
        go_on: str = "",
        limits: SessionLimits,
        budgets: tuple[Budget, Budget],
        now: float,
    ) -> None:
        """`go_on`: what the model is told, if the session may continue by itself."""
        self.over = False
        self._go_on = go_on
        self._step = actions.CLEAR if clear else actions.CONTINUE
        self._draft = draft
        self._clear = clear
        self._limits = limits
        self._budgets = budgets
        self._phase, self.until = _LOOK, now + REDRAW
        self._seen: facts.Pane | None = None
        self._done: facts.Done | None = None
        self._renamed = False
        self._saved = ""

    def tell(self, fact: facts.Fact) -> None:
        """Take in a fact; only those that a step waits for matter."""
        if isinstance(fact, facts.Pane) and self._phase == _ASKED:
            self._seen = fact
        elif isinstance(fact, facts.Done) and self._phase == _STEP:
            self._done = fact
        elif isinstance(fact, facts.Renamed) or (isinstance(fact, facts.Hook) and fact.source == "clear"):
            self._renamed = True

    def wake(self, now: float, *, idle: bool) -> list[Action]:
        """Return what to do now; `idle` tells whether the session's prompt is free."""
        if self._phase == _ASKED and self._seen is not None:
            seen, self._seen = self._seen, None
            return self._on_pane(seen, now, idle=idle)
        if self._phase == _STEP and self._done is not None:
            done, self._done = self._done, None
            if not done.sent:
                return self._end(self._say_held(done.detail))
            self._saved = done.saved
            self._phase, self.until = _VERIFY, now + self._limits.verify
        if self._phase == _VERIFY and self._step == actions.CLEAR and self._renamed:
            text = "the context is cleared" + (
                f"; what was in the box is saved in {self._saved}" if self._saved else ""
            )
            return self._end(self._say_effect(text, ok=True))
        if self._phase == _VERIFY and self._step == actions.CONTINUE and not idle:
            return self._end(self._say_effect("the session continues", ok=True))
        if now < self.until:
            return []
        if self._phase == _LOOK:
            self._phase, self.until = _ASKED, now + PATIENCE
            return [LookAtPane()]
        if self._phase == _VERIFY:
            return self._end(self._say_effect("no effect", ok=False))
        self.over = True
        return []

    def _on_pane(self, seen: facts.Pane, now: float, *, idle: bool) -> list[Action]:
        shown = seen.screen
        free = not seen.refused and shown.kind == screen.PROMPT and not seen.in_mode
        said: list[Action] = []
        restored = free and bool(shown.draft) and shown.draft != self._draft
        if restored:
            text = "Claude Code put the prompt back into the input box; press Enter there to send it again"
            said.append(Say("restored", text, {"prompt": shown.draft[:2000]}, aloud=True))
        goes_on = bool(self._go_on) and (restored or not shown.draft)
        if not (self._clear or goes_on) or not free or not idle or self._limits.dry_run or shown.insert:
            return said + self._end()
        if seen.human or not all(budget.left(now) for budget in self._budgets):
            why = "a person is typing" if seen.human else "the budget of steps is spent"
            return said + self._end(self._say_held(why))
        for budget in self._budgets:
            budget.spend(now)
        self._phase, self.until = _STEP, now + PATIENCE
        fields = {"step": self._step} | ({"draft": shown.draft[:2000]} if shown.draft else {})
        if self._clear:
            return [*said, Say("step", "save its state, and clear the context with /clear", fields), Take(self._step)]
        if restored:
            return [*said, Say("step", "send the restored prompt again", fields), Take(self._step)]
        text = model_messages.prompt(self._go_on)
        return [*said, Say("step", "let the session continue", fields), Take(self._step, text=text)]

    def _end(self, *last: Action) -> list[Action]:
        self.over = True
        return list(last)

    def _say_held(self, reason: str) -> Say:
        what = "cleared" if self._step == actions.CLEAR else "continued"
        return Say("held", f"not {what}: {reason}", {"reason": reason, "step": self._step})

    def _say_effect(self, message: str, *, ok: bool) -> Say:
        fields = {"step": self._step, "ok": ok} | ({"saved": self._saved} if self._saved else {})
        return Say("effect", f"{self._step}: {message}", fields)
