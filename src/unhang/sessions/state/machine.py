"""The machine of one session: it takes facts and the time, and returns what to do."""

from __future__ import annotations

from unhang.agents.claude.protocol.tool_limits import BASH
from unhang.core.durations import human
from unhang.sessions.state import actions, clocks, facts, model_messages
from unhang.sessions.state import known as modes
from unhang.sessions.state.actions import Action, Say, TellModel
from unhang.sessions.state.aftercare import Aftercare
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.calls import ToolCall
from unhang.sessions.state.check import Check, looks_take
from unhang.sessions.state.clocks import Clock
from unhang.sessions.state.known import Known
from unhang.sessions.state.limits import SessionLimits
from unhang.sessions.state.rescue import Rescue, Scene

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WORDS = {
    modes.IDLE: "idle",
    modes.BUSY: "busy",
    modes.WAITING: "waiting for a person",
    modes.BACKGROUND: "only background agents are busy",
    modes.UNKNOWN: "state not known yet",
    modes.GONE: "the process has ended",
}
_NOW = {
    modes.IDLE: "the session is idle",
    modes.BUSY: "the session continues",
    modes.WAITING: "the session waits for a person",
    modes.BACKGROUND: "only background agents continue",
    modes.UNKNOWN: "the state is not known",
    modes.GONE: "the process has ended",
}


# What each step does, for people.
_DONE = {
    actions.END_TREE: "SIGTERM to its processes",
    actions.KILL_TREE: "SIGKILL to its processes",
    actions.LEAVE_MODE: "copy mode left",
    actions.ESCAPE: "Escape",
    actions.RESTART: "a restart",
}
_RESTARTED = "Claude Code has ended, and is started again with --resume in the same pane"
# Seconds after which a proof is looked for that a command hangs, and between two such looks.
_PROOF = 60.0
# Hangs in a row after which an unattended session goes on by itself.
MOST_CONTINUED = 3


class Session:
    """`tell` it facts, `wake` it at its `deadline` or sooner, and carry out what it returns."""

    def __init__(self, limits: SessionLimits, machine_budget: Budget, born: float) -> None:
        self.known = Known(born)
        self._limits = limits
        self._budgets = (Budget(limits.per_session), machine_budget)
        self._mode = ""
        self._asked_at = 0  # the status file's time of the question that was said
        self._warned: dict[str, float] = {}  # clock → when
        self._extended: dict[str, float] = {}  # clock → its new end
        self._down: dict[str, float] = {}  # clock → when to try again, after giving up
        self._sought: dict[str, float] = {}  # clock → when to look for a proof again that it hangs
        self._proved: dict[str, float] = {}  # clock → its end, since that proof was found
        self._rescue: Rescue | None = None
        self._after: Aftercare | None = None
        self._running: list[Clock] | None = None
        self._rescues = 0  # by Escape, since a turn last came to its own end
        self._stops = 0
        self._turn_said = born
        self._check: Check | None = None  # of the clock that is about to warn
        self._pane: facts.Pane | None = None  # what it saw
        self._why: dict[str, str] = {}  # clock → what it waits for
        self._noted: set[str] = set()  # clocks that were reported to work
        self._moved: list[facts.Hook] = []  # calls whose command runs on in the background, to be said

    # --- facts ------------------------------------------------------------------------------------------------

    def tell(self, fact: facts.Fact) -> None:
        """Take in a fact; call `wake` afterwards."""
        self._running = None
        if isinstance(fact, facts.Hook) and fact.moved_after is not None:
            self._moved.append(fact)
        self.known.tell(fact)
        if self._rescue is not None:
            self._rescue.tell(fact)
        elif self._after is not None:
            self._after.tell(fact)
        elif self._check is not None:
            self._check.tell(fact)

    def use(self, limits: SessionLimits) -> None:
        """Judge by other limits from now on; a rescue that has begun keeps its own."""
        self._limits = limits
        self._budgets[0].most = limits.per_session
        self._running = None

    def spent(self, at: float) -> None:
        """Count a step that an earlier watcher took: the budget belongs to the session."""
        for budget in self._budgets:
            budget.spend(at)

    # --- judgement --------------------------------------------------------------------------------------------

    def wake(self, now: float) -> list[Action]:
        """Return what to do now, in order: looks, steps and messages."""
        said = [*self._moved_away(), *self._mode_changed()]
        if self.known.stops != self._stops:
            self._stops, self._rescues = self.known.stops, 0
        running = self._clocks()
        if self._rescue is not None:
            said += self._climb(self._rescue, now, running)
        if self._rescue is None and self._after is not None:
            said += self._after.wake(now, idle=self.known.mode() == modes.IDLE)
            if self._after.over:
                self._after = None
        if self._rescue is None and self._after is None:
            said += self._judge(now)
        return said

    def _clocks(self) -> list[Clock]:
        """The limits that run; they change only with a fact."""
        if self._running is not None:
            return self._running
        running = clocks.running(self.known, self._limits, self._extended, self._proved)
        keys = {clock.key for clock in running}
        self._warned = {key: at for key, at in self._warned.items() if key in keys}
        self._extended = {key: at for key, at in self._extended.items() if key in keys}
        self._down = {key: at for key, at in self._down.items() if key in keys}
        self._sought = {key: at for key, at in self._sought.items() if key in keys}
        self._proved = {key: at for key, at in self._proved.items() if key in keys}
        self._why = {key: why for key, why in self._why.items() if key in keys}
        self._noted &= keys | {_writing_key(self.known)}
        self._running = running
        return running

    def _moved_away(self) -> list[Action]:
        """The commands that Claude Code has moved to the background at their own timeout: no limit here holds there."""
        moved, self._moved = self._moved, []
        return [_ran_on(hook) for hook in moved]

    def _mode_changed(self) -> list[Action]:
        mode = self.known.mode()
        # two questions in a row are two, also if the answer between them was over before it was seen
        asked_at = self.known.stamp if mode == modes.WAITING else 0
        if (mode, asked_at) == (self._mode, self._asked_at):
            return []
        fields: dict[str, Any] = {"answered": True} if self._mode == modes.WAITING and mode != modes.GONE else {}
        self._mode, self._asked_at = mode, asked_at
        words = _WORDS[mode]
        if mode == modes.WAITING:
            fields["askedAtMs"] = asked_at
            words += f": {self.known.waiting_for}" if self.known.waiting_for else ""
        return [Say(mode, words, fields)]

    def _judge(self, now: float) -> list[Action]:
        said = self._long_turn(now) + self._look_ahead(now)
        due = [clock for clock in self._clocks() if self._may_fire(clock) and now >= self._fires(clock)]
        if due:
            clock = min(due, key=lambda each: each.rank)
            why = self._why.get(clock.key, "")
            fields = self._about(clock) | {"ageMs": _ms(now - clock.since), "limitMs": _ms(clock.limit)}
            said.append(Say("hung", _because(clock.said(now), why), fields))
            self._check = None
            self._rescue = Rescue(clock, self._limits, self._budgets, now, earlier=self._pane, why=why)
            said += self._climb(self._rescue, now, self._clocks())
        return said

    def _look_ahead(self, now: float) -> list[Action]:
        """Before a warning: does the command work, is an answer being written, can it be ended at all?"""
        running = self._clocks()
        if self._check is not None and all(clock.key != self._check.clock.key for clock in running):
            self._check = None
        if self._check is None:
            coming = [clock for clock in running if clock.key not in self._warned and now >= self._warns(clock)]
            if not coming:
                return []
            self._check = Check(min(coming, key=lambda each: each.at), now)
        check = self._check
        said = check.wake(now)
        if not check.over:
            return said
        self._check = None
        clock = check.clock
        if now < self._limit_warns(clock):
            self._sought[clock.key] = now + _PROOF
            if check.tree is None or not check.tree.hung:
                return said
            self._proved[clock.key] = at = now + self._limits.lead(clock.limit)
            check.clock = clock = clock.replace(at=at)
            self._running = None
        if check.works:
            return said + self._extend(clock, check.works, now)
        if check.writes:
            return said + self._writes(clock, now)
        self._pane = check.pane
        self._warned[clock.key] = now
        self._why[clock.key] = check.why(now)
        return [*said, self._warning(check, now)]

    def _warns(self, clock: Clock) -> float:
        """When to begin to look: for a warning in time, or for a proof that it hangs."""
        at = self._limit_warns(clock)
        if self._limits.on_hung != "end" or not clock.is_bash or clock.kind not in (clocks.TOOL, clocks.AGENT_TOOL):
            return at
        return min(at, self._sought.get(clock.key, clock.since + _PROOF))

    def _limit_warns(self, clock: Clock) -> float:
        return clock.at - self._limits.lead(clock.limit) - looks_take(clock)

    def _long_turn(self, now: float) -> list[Action]:
        """A turn that exceeds its limit and still finishes steps is reported, not ended."""
        limit, since = self._limits.turn, self.known.turn_since
        if self.known.mode() != modes.BUSY or limit is None or now < max(since, self._turn_said) + limit:
            return []
        if self.known.finished + limit <= now:
            return []  # no finished step: its own limit is reached
        self._turn_said = now
        text = f"the turn has been running for {human(now - since)} and still finishes steps; left alone"
        return [Say("extended", text, {"limit": clocks.TURN, "reason": "it finishes steps", "ageMs": _ms(now - since)})]

    def _may_fire(self, clock: Clock) -> bool:
        """A look at a Bash call that is under way is waited for: it may be the one to end first."""
        looked = self._check.clock if self._check is not None else None
        first = looked is not None and looked.is_bash and looked.kind == clocks.TOOL
        return clock.key in self._warned and not (first and clock.kind == clocks.TOOL and not clock.is_bash)

    def _fires(self, clock: Clock) -> float:
        """When a clock that has warned is acted upon. A Bash call whose own limit is near goes first: Escape would
        end it along with the older call."""
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

    def _warning(self, check: Check, now: float) -> Say:
        clock = check.clock
        left = max(self._limits.lead(clock.limit), clock.at - now)
        fields = self._about(clock) | {"ageMs": _ms(now - clock.since), "limitMs": _ms(clock.limit)}
        hinders = self._hinders(check)
        fields["willActInMs"] = None if hinders else _ms(left)
        own = clock.kind in (clocks.TOOL, clocks.AGENT_TOOL) and self._limits.follows_its_own(clock.tool_name)
        unless = ", unless its own timeout comes first" if own else ""  # then Claude Code moves it to the background
        then = hinders or f"unhang will end it in {human(left)}{unless}"
        said = _because(clock.said(now), self._why.get(clock.key, ""))
        return Say("warning", f"{said}; {then}", fields, aloud=True)

    def _hinders(self, check: Check) -> str:
        """Why what is warned about will not be ended, as things stand."""
        if self._limits.dry_run:
            return "this is a dry run: it will not be ended"
        if check.clock.kind == clocks.AGENT_TOOL and not check.clock.is_bash:
            return "only a person can end a call of a subagent: see /tasks"
        if check.pane is not None and check.pane.refused:
            return f"it cannot be ended now: {check.pane.refused}"
        return ""

    def _about(self, clock: Clock) -> dict[str, Any]:
        fields: dict[str, Any] = {"limit": clock.kind}
        if clock.call is not None:
            fields |= clock.call.to_json() | {"title": clock.call.title()}
        if why := self._why.get(clock.key):
            fields["reason"] = why
        return fields

    # --- the rescue -------------------------------------------------------------------------------------------

    def _climb(self, rescue: Rescue, now: float, running: list[Clock]) -> list[Action]:
        if all(clock.key != rescue.clock.key for clock in running):
            return self._recovered(rescue, now)
        scene = Scene(
            status_known=self.known.status is not None,
            agents=bool(self.known.agents or self.known.background),
            commands=tuple(call.id for call in self.known.calls.main() if call.tool_name == BASH),
        )
        said = rescue.wake(now, scene)
        if rescue.writes or rescue.extended:
            self._rescue = None
            clock = rescue.clock
            return said + (self._writes(clock, now) if rescue.writes else self._extend(clock, rescue.extended, now))
        if rescue.down:  # other hangs are dealt with meanwhile
            self._down[rescue.clock.key] = now + self._limits.retry
            self._rescue = None
        if rescue.free:
            self.known.prompt_is_free()
            self._running = None
            self._rescue = None
            return said + self._mode_changed()
        return said

    def _recovered(self, rescue: Rescue, now: float) -> list[Action]:
        self._rescue = None
        if not rescue.taken:
            return [Say("recovered", "the session continued by itself", {"by": "itself"})]
        last, clock = rescue.taken[-1], rescue.clock
        mode = self.known.mode()
        after = _RESTARTED if last == actions.RESTART else _NOW[mode]
        saved = {"saved": rescue.saved} if rescue.saved else {}
        done = f"unhang ended {clock.label()} after {human(max(0.0, now - clock.since))} ({_DONE[last]}); {after}"
        said: list[Action] = [
            Say("effect", f"{last}: {after}", {"step": last, "ok": True, "state": mode} | saved),
            Say("recovered", _because(done, rescue.why), {"by": last, "state": mode} | saved, aloud=True),
        ]
        if rescue.touched_pane or last == actions.RESTART:
            self._rescues += 1
            text = model_messages.note(clock, rescue.why, now)
            said.append(TellModel(clock.key if clock.call is None else clock.call.id, text))
            if mode != modes.GONE:
                clear = self._limits.allow_clear and self._rescues >= self._limits.clear_after
                go_on = text if self._limits.go_on and self._rescues <= MOST_CONTINUED else ""
                self._after = Aftercare(
                    rescue.draft, clear=clear, go_on=go_on, limits=self._limits, budgets=self._budgets, now=now
                )
        return said

    def _writes(self, clock: Clock, now: float) -> list[Action]:
        """An answer arrives; the transcript shows it only when it is complete. Reported once in a turn."""
        self.tell(facts.Grew(now))
        key = _writing_key(self.known)
        if key in self._noted:
            return []
        self._noted.add(key)
        age, limit = human(now - clock.since), human(clock.limit)
        text = f"an answer has been coming for {age} (limit of silence {limit}); left alone"
        return [Say("extended", text, self._about(clock) | {"reason": "an answer is being written"})]

    def _extend(self, clock: Clock, reason: str, now: float) -> list[Action]:
        """A command that works is looked at again after half of its limit, up to that of the turn. Reported once."""
        until = now + max(clock.limit / 2, 1.0) + self._limits.lead(clock.limit) + looks_take(clock)
        self._extended[clock.key] = until
        self._proved.pop(clock.key, None)
        self._running = None
        self._warned.pop(clock.key, None)
        if clock.key in self._noted:
            return []
        self._noted.add(clock.key)
        fields = self._about(clock) | {"reason": reason}
        return [Say("extended", f"{clock.said(now)}, but it works ({reason}); left alone", fields)]

    # --- the time ---------------------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """Return when `wake` should be called at the latest."""
        if self._rescue is not None:
            return self._rescue.until
        if self._after is not None:
            return self._after.until
        times: list[float] = []
        for clock in self._clocks():
            if self._may_fire(clock):
                times.append(self._fires(clock))
            elif self._check is None:
                times.append(self._warns(clock))
        if self._check is not None:
            times.append(self._check.until)
        return min(times, default=None)

    def view(self, now: float) -> dict[str, Any]:
        """Return the session as `unhang watch --once` and `--json` show it."""
        running = sorted(self._clocks(), key=lambda each: each.at)
        known = self.known
        return {
            "state": known.mode(),
            "waitingFor": known.waiting_for or None,
            "busyMs": _ms(now - known.turn_since) if known.mode() == modes.BUSY else None,
            "calls": [{"agentId": None} | call.to_json() | {"ageMs": _ms(now - call.at)} for call in known.calls],
            "next": {"limit": running[0].kind, "inMs": _ms(running[0].at - now)} if running else None,
            "ladder": None if self._rescue is None else self._rescue.phase,
        }


def _ran_on(hook: facts.Hook) -> Say:
    call = ToolCall(hook.tool_use_id, hook.tool_name, hook.tool_input, hook.agent_id, hook.at, hook.at)
    after = hook.moved_after or 0.0
    reason = f"Claude Code moved it to the background after {human(after)}"
    kind = clocks.AGENT_TOOL if hook.agent_id else clocks.TOOL
    fields = {"limit": kind} | call.to_json() | {"title": call.title(), "reason": reason, "ageMs": _ms(after)}
    return Say("extended", f"{call.title()}: {reason}, where it runs on without a limit (see /tasks)", fields)


def _because(said: str, why: str) -> str:
    return f"{said}: {why}" if why else said


def _writing_key(known: Known) -> str:
    """Of the note that an answer is being written: once in a turn."""
    return f"writing:{known.turn_since}"


def _ms(seconds: float) -> int:
    return round(max(0.0, seconds) * 1000)
