"""The machine of one session: facts and the time in, what to do out."""

from __future__ import annotations

from unhang.core.durations import human
from unhang.sessions.state import clocks, facts
from unhang.sessions.state import known as modes
from unhang.sessions.state.actions import Action, LookAtPane, LookAtTree, Say
from unhang.sessions.state.aftercare import Aftercare
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.clocks import Clock
from unhang.sessions.state.known import Known
from unhang.sessions.state.ladder import Ladder, Scene
from unhang.sessions.state.limits import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WORDS = {
    modes.IDLE: "idle",
    modes.BUSY: "busy",
    modes.WAITING: "waits for a person",
    modes.BACKGROUND: "only agents in the background are busy",
    modes.UNKNOWN: "not known yet",
    modes.GONE: "the process has ended",
}
_NOW = {
    modes.IDLE: "it is idle now",
    modes.BUSY: "the session goes on",
    modes.WAITING: "it waits for a person now",
    modes.BACKGROUND: "only agents in the background go on",
    modes.UNKNOWN: "its state is not known",
    modes.GONE: "the process has ended",
}


class Session:
    def __init__(self, limits: Limits, machine: Budget, born: float) -> None:
        self.known = Known(born)
        self._limits = limits
        self._budgets = (Budget(limits.per_session), machine)
        self._mode = ""
        self._warned: dict[str, float] = {}  # clock → when
        self._extended: dict[str, float] = {}  # clock → its new end
        self._down: dict[str, float] = {}  # clock → when to try again, after giving up
        self._ladder: Ladder | None = None
        self._after: Aftercare | None = None
        self._running: list[Clock] | None = None
        self._rescues = 0  # by Escape, since a turn last came to its own end
        self._stops = 0
        self._turn_said = born
        self._tokens = ""  # what the counter showed at the warning

    # --- facts ------------------------------------------------------------------------------------------------

    def tell(self, fact: facts.Fact) -> None:
        self._running = None
        self.known.tell(fact)
        if isinstance(fact, facts.Pane) and self._ladder is None:
            self._tokens = fact.screen.tokens
        if self._ladder is not None:
            self._ladder.tell(fact)
        elif self._after is not None:
            self._after.tell(fact)

    def spent(self, at: float) -> None:
        """A step that a watcher before us took: the budget is the session's, not the watcher's."""
        for budget in self._budgets:
            budget.spend(at)

    # --- judgement --------------------------------------------------------------------------------------------

    def wake(self, now: float) -> list[Action]:
        said = self._mode_changed()
        if self.known.stops != self._stops:
            self._stops, self._rescues = self.known.stops, 0
        running = self._clocks()
        if self._ladder is not None:
            said += self._climb(self._ladder, now, running)
        if self._ladder is None and self._after is not None:
            said += self._after.wake(now, idle=self.known.mode() == modes.IDLE)
            if self._after.over:
                self._after = None
        if self._ladder is None and self._after is None:
            said += self._judge(now)
        return said

    def _clocks(self) -> list[Clock]:
        """They change only with what is known."""
        if self._running is not None:
            return self._running
        running = clocks.running(self.known, self._limits, self._extended)
        keys = {clock.key for clock in running}
        self._warned = {key: at for key, at in self._warned.items() if key in keys}
        self._extended = {key: at for key, at in self._extended.items() if key in keys}
        self._down = {key: at for key, at in self._down.items() if key in keys}
        self._running = running
        return running

    def _mode_changed(self) -> list[Action]:
        mode = self.known.mode()
        if mode == self._mode:
            return []
        self._mode = mode
        words = _WORDS[mode]
        if mode == modes.WAITING and self.known.waiting_for:
            words += f": {self.known.waiting_for}"
        return [Say(mode, words)]

    def _judge(self, now: float) -> list[Action]:
        said = self._long_turn(now)
        for clock in self._clocks():
            lead = self._limits.lead(clock.limit)
            if now >= clock.at - lead and clock.key not in self._warned:
                self._warned[clock.key] = now
                said.append(self._warning(clock, now, lead))
                said += self._first_look(clock)
        due = [clock for clock in self._clocks() if clock.key in self._warned and now >= self._fires(clock)]
        if due:
            clock = min(due, key=lambda each: each.rank)
            fields = self._about(clock) | {"ageMs": _ms(now - clock.since), "limitMs": _ms(clock.limit)}
            said.append(Say("hung", clock.said(now), fields))
            self._ladder = Ladder(clock, self._limits, self._budgets, now, tokens=self._tokens)
            said += self._climb(self._ladder, now, self._clocks())
        return said

    def _first_look(self, clock: Clock) -> list[Action]:
        """To compare with when the limit is over: does the command work, is an answer being written?"""
        if clock.call is not None and clock.is_bash:
            return [LookAtTree(clock.call.id)]
        self._tokens = ""
        return [LookAtPane()] if clock.kind in (clocks.API, clocks.TURN) else []

    def _long_turn(self, now: float) -> list[Action]:
        """A turn that goes on past its limit because it makes steps: said, not stopped."""
        limit, since = self._limits.turn, self.known.turn_since
        if self.known.mode() != modes.BUSY or limit is None or now < max(since, self._turn_said) + limit:
            return []
        if self.known.finished + limit <= now:
            return []  # no step: its clock is over
        self._turn_said = now
        text = f"the turn has taken {human(now - since)}; it goes on making steps and is left alone"
        return [Say("extended", text, {"limit": clocks.TURN, "reason": "it makes steps", "ageMs": _ms(now - since)})]

    def _fires(self, clock: Clock) -> float:
        """When a warned clock is acted upon. A command that is about to be ended by itself is waited for: Escape would
        end it along with the call that is a moment older."""
        at = self._over(clock)
        if clock.kind != clocks.TOOL or clock.is_bash:
            return at
        others = (each for each in self._clocks() if each.kind == clocks.TOOL and each.is_bash)
        soon = (self._over(each) for each in others if each.key in self._warned and each.key not in self._down)
        return max(at, *soon, at)

    def _over(self, clock: Clock) -> float:
        """The lead is honoured even if the warning was given late."""
        at = max(clock.at, self._warned[clock.key] + self._limits.lead(clock.limit))
        return max(at, self._down.get(clock.key, 0.0))

    def _warning(self, clock: Clock, now: float, lead: float) -> Say:
        left = max(lead, clock.at - now)
        fields = self._about(clock) | {"ageMs": _ms(now - clock.since), "limitMs": _ms(clock.limit)}
        fields["willActInMs"] = _ms(left)
        return Say("warning", f"{clock.said(now)}; it is ended in {human(left)}", fields, aloud=True)

    def _about(self, clock: Clock) -> dict[str, Any]:
        fields: dict[str, Any] = {"limit": clock.kind}
        if clock.call is not None:
            fields |= {"toolName": clock.call.tool, "toolUseId": clock.call.id}
            if clock.call.agent:
                fields["agentId"] = clock.call.agent
        return fields

    # --- the ladder -------------------------------------------------------------------------------------------

    def _climb(self, ladder: Ladder, now: float, running: list[Clock]) -> list[Action]:
        if all(clock.key != ladder.clock.key for clock in running):
            return self._recovered(ladder, now)
        scene = Scene(
            status_known=self.known.status is not None,
            agents=bool(self.known.agents or self.known.background),
        )
        said = ladder.wake(now, scene)
        if ladder.writes:
            return said + self._writes(ladder, now)
        if ladder.extended:
            return said + self._extend(ladder, now)
        if ladder.down:  # what else hangs has its own turn meanwhile
            self._down[ladder.clock.key] = now + self._limits.retry
            self._ladder = None
        if ladder.free:
            self.known.prompt_is_free()
            self._running = None
            self._ladder = None
            return said + self._mode_changed()
        return said

    def _recovered(self, ladder: Ladder, now: float) -> list[Action]:
        self._ladder = None
        if not ladder.taken:
            return [Say("recovered", "it went on by itself", {"by": "itself"})]
        last = ladder.taken[-1]
        mode = self.known.mode()
        said: list[Action] = [
            Say("effect", f"{last}: {_NOW[mode]}", {"step": last, "ok": True, "state": mode}),
            Say("recovered", f"{ladder.clock.label()} was ended by {last}", {"by": last, "state": mode}),
        ]
        if ladder.touched_pane and mode != modes.GONE:
            self._rescues += 1
            clear = self._limits.allow_clear and self._rescues >= self._limits.clear_after
            self._after = Aftercare(ladder.draft, clear=clear, limits=self._limits, budgets=self._budgets, now=now)
        return said

    def _writes(self, ladder: Ladder, now: float) -> list[Action]:
        """An answer grows on the screen, which nothing else tells of before it is whole."""
        self._ladder = None
        self.tell(facts.Grew(now))
        text = f"{ladder.clock.said(now)}; but an answer is being written: it is left alone"
        return [Say("extended", text, self._about(ladder.clock) | {"reason": "an answer is being written"})]

    def _extend(self, ladder: Ladder, now: float) -> list[Action]:
        """A command that works is given half of its limit again, up to the turn's own end."""
        self._ladder = None
        clock = ladder.clock
        until = now + max(clock.limit / 2, 1.0)
        self._extended[clock.key] = until
        self._running = None
        self._warned.pop(clock.key, None)
        fields = self._about(clock) | {"reason": ladder.extended, "willActInMs": _ms(until - now)}
        return [Say("extended", f"{clock.said(now)}; but it works ({ladder.extended}): it is left alone", fields)]

    # --- the time ---------------------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """When `wake` should be called at the latest."""
        if self._ladder is not None:
            return self._ladder.until
        if self._after is not None:
            return self._after.until
        times: list[float] = []
        for clock in self._clocks():
            if clock.key in self._warned:
                times.append(self._fires(clock))
            else:
                times.append(clock.at - self._limits.lead(clock.limit))
        return min(times, default=None)

    def view(self, now: float) -> dict[str, Any]:
        """For people and for `--json`."""
        running = sorted(self._clocks(), key=lambda each: each.at)
        known = self.known
        return {
            "state": known.mode(),
            "waitingFor": known.waiting_for or None,
            "busyMs": _ms(now - known.turn_since) if known.mode() == modes.BUSY else None,
            "calls": [
                {
                    "toolName": call.tool,
                    "toolUseId": call.id,
                    "agentId": call.agent or None,
                    "ageMs": _ms(now - call.at),
                }
                for call in known.calls
            ],
            "next": {"limit": running[0].kind, "inMs": _ms(running[0].at - now)} if running else None,
            "ladder": None if self._ladder is None else self._ladder.phase,
        }


def _ms(seconds: float) -> int:
    return round(max(0.0, seconds) * 1000)
