"""Ending one hang by the gentlest step that works.

    a command    look at its processes → TERM → look → KILL
    else         look at the pane → leave copy mode → leave vim's INSERT → Escape → Escape → restart (if allowed)

A look precedes every step and follows the step before it; after every step its effect is awaited. Any doubt, or a
person at the keyboard, holds the next step back. The session ends the rescue as soon as the hang is over.
"""

from __future__ import annotations

from unhang.core.record import Record
from unhang.sessions.state import actions, clocks, facts, model_messages, screen
from unhang.sessions.state.actions import Action, LookAtPane, LookAtTree, Say, Take, TellModel
from unhang.sessions.state.answer_progress import AGAIN, WRITES, AnswerProgress
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.check import SAMPLE
from unhang.sessions.state.clocks import Clock
from unhang.sessions.state.limits import SessionLimits

_LOOK, _ASKED, _STEP, _VERIFY, _HELD = "look", "asked", "step", "verify", "held"
TREE, PANE = "tree", "pane"

# The longest wait for the answer to a look or a step; it comes at once unless the watcher itself is in trouble.
PATIENCE = 30.0
# For a pane to be redrawn.
REDRAW = 0.5
MOST_SMALL_STEPS = 3
MOST_COOLDOWNS = 8


class Scene(Record):
    """What the rescue needs to know of its session."""

    status_known: bool
    agents: bool  # background agents run: the status cannot tell them from the turn
    commands: tuple[str, ...] = ()  # the open Bash calls of the turn, which Escape would end


class Rescue:
    """The steps against one hang, from the gentlest one on."""

    def __init__(
        self,
        clock: Clock,
        limits: SessionLimits,
        budgets: tuple[Budget, Budget],
        now: float,
        *,
        earlier: facts.Pane | None = None,
        why: str = "",
    ) -> None:
        self.clock = clock
        self._limits = limits
        self._budgets = budgets
        self.taken: list[str] = []
        self.extended = ""  # why the limit should be moved instead
        self.writes = False  # an answer is being written
        self.free = False  # the screen says that only background agents run
        self.draft = ""  # what was in the box before the last Escape
        self.down = False  # given up, for now
        self.saved = ""  # where the state was saved before a restart
        self._rung = TREE if clock.is_bash else PANE
        self._tree_steps: list[str] = []
        self._escapes = self._small = self._restarts = 0
        self._phase, self.until = _LOOK, now
        self._seen: facts.CallTree | facts.Pane | None = None
        self._done: facts.Done | None = None
        self._step = ""
        self._small_step = False
        self._reason = ""
        self._reasons: set[str] = set()
        self._wait = limits.cooldown
        self._stable = ""  # the draft of the last look
        self.why = why  # what the call waits for
        self._writing = AnswerProgress(earlier)
        self._trees: dict[str, facts.CallTree] = {}  # the other commands of the turn

    @property
    def phase(self) -> str:
        """Return what the rescue waits for: look, asked, step, verify or held."""
        return self._phase

    @property
    def touched_pane(self) -> bool:
        """Return whether Escape was sent to the pane."""
        return actions.ESCAPE in self.taken

    def tell(self, fact: facts.Fact) -> None:
        """Take in the answer to a look or a step; other facts do not matter."""
        if isinstance(fact, facts.CallTree) and self._phase == _ASKED and self._rung == PANE:
            self._trees[fact.call] = fact
        elif isinstance(fact, facts.CallTree | facts.Pane) and self._phase == _ASKED:
            self._seen = fact
        elif isinstance(fact, facts.Done) and self._phase == _STEP:
            self._done = fact

    def wake(self, now: float, scene: Scene) -> list[Action]:
        """Return what to do now."""
        if self._phase == _ASKED and self._seen is not None:
            seen, self._seen = self._seen, None
            return self._on_tree(seen, now) if isinstance(seen, facts.CallTree) else self._on_pane(seen, now, scene)
        if self._phase == _STEP and self._done is not None:
            done, self._done = self._done, None
            return self._on_done(done, now)
        if now < self.until:
            return []
        if self._phase == _LOOK and self._rung == PANE and self.clock.kind == clocks.AGENT_TOOL:
            return self._give_up(
                "only Escape could end the call of a subagent, and the whole turn with it; see /tasks", now
            )
        if self._phase == _LOOK:
            self._phase, self.until = _ASKED, now + PATIENCE
            call = self.clock.call
            if self._rung == TREE and call is not None:
                return [LookAtTree(call.id)]
            self._trees.clear()
            return [*(LookAtTree(each) for each in scene.commands), LookAtPane()]
        if self._phase == _VERIFY:
            return self._on_no_effect(now)
        self._phase, self.until = _LOOK, now  # held for long enough, or no answer came
        return self.wake(now, scene)

    # --- the two looks ----------------------------------------------------------------------------------------

    def _on_tree(self, seen: facts.CallTree, now: float) -> list[Action]:
        if not seen.count or len(self._tree_steps) == 2:
            if self.clock.kind == clocks.AGENT_TOOL:
                why = "it survived SIGKILL" if seen.count else "its processes cannot be told from others"
                return self._give_up(f"the command of a subagent cannot be ended: {why}", now)
            self._rung = PANE
            self._phase, self.until = _LOOK, now
            return []
        step = actions.KILL_TREE if self._tree_steps else actions.END_TREE
        if step == actions.END_TREE and self.clock.kind in (clocks.TOOL, clocks.AGENT_TOOL):
            if seen.moved is None:
                self._phase, self.until = _LOOK, now + SAMPLE
                return []
            if seen.moved:
                self.extended = seen.reason or "its processes move"
                return []
        self.why = seen.why or self.why
        self._tree_steps.append(step)
        what = "SIGKILL" if step == actions.KILL_TREE else "SIGTERM"
        return self._take(step, f"{what} to the {seen.count} processes of {self.clock.label()}", now)

    def _on_pane(self, seen: facts.Pane, now: float, scene: Scene) -> list[Action]:
        shown = seen.screen
        if seen.refused:
            if seen.final:
                return self._give_up(seen.refused, now)
            return self._hold(seen.refused, now, aloud=seen.synchronized)
        if seen.human:
            return self._hold("a person is typing", now, self._limits.hands_off)
        if shown.background:
            self.free = True
            return []
        if seen.in_mode:
            return self._take_small(actions.LEAVE_MODE, "leave the pane's copy mode", now)
        if shown.kind != screen.PROMPT:
            what = "a dialog is open" if shown.kind == screen.DIALOG else "the screen shows no prompt"
            return self._hold(what, now)
        if shown.shell:
            return self._hold("a command that a person started with ! is running", now)
        if not shown.busy and (scene.agents or not scene.status_known):
            return self._hold("it is not certain that the turn is busy", now)
        self.why = self.why or self.clock.waits_for(seen.peers, now)
        if self.clock.kind in (clocks.API, clocks.TURN) and self._may_write(seen, now):
            return []
        if self.clock.kind not in (clocks.TURN, clocks.TOTAL) and (wait := self._other_commands(now)) is not None:
            return wait
        if shown.draft and shown.draft != self._stable:  # A person may be writing it. Keys that a program sends
            self._stable = shown.draft  # are no activity of a client: two looks must agree.
            self._phase, self.until = _LOOK, now + SAMPLE
            return []
        self.draft = shown.draft
        if shown.insert:
            return self._take_small(actions.ESCAPE, "Escape, to leave vim's INSERT mode", now)
        if self._escapes < self._limits.escapes:
            self._escapes += 1
            return self._take(actions.ESCAPE, "Escape", now)
        if self._limits.allow_restart and not self._restarts:
            self._restarts += 1
            return self._take(actions.RESTART, "save its state, end Claude Code, start it again with --resume", now)
        more = "" if self._limits.allow_restart else "; --allow-restart would restart it"
        return self._give_up(f"Escape had no effect {self._escapes} times{more}", now)

    def _may_write(self, seen: facts.Pane, now: float) -> bool:
        """Whether an answer is being written, or another look is needed to tell."""
        found = self._writing.look(seen)
        self.writes = found == WRITES
        if found == AGAIN:
            self._phase, self.until = _LOOK, now + SAMPLE
        return found in (AGAIN, WRITES)

    def _other_commands(self, now: float) -> list[Action] | None:
        """What to do instead of Escape, which would end the other commands of the turn; None: no other one works."""
        for tree in self._trees.values():
            if tree.count and tree.moved:
                return self._hold("a command of the same turn works, and Escape would end it", now)
        if any(tree.count and tree.moved is None for tree in self._trees.values()):
            self._phase, self.until = _LOOK, now + SAMPLE
            return []
        return None

    # --- steps ------------------------------------------------------------------------------------------------

    def _take_small(self, step: str, message: str, now: float) -> list[Action]:
        """Take a step that only clears the way to the prompt; the next look shows its effect."""
        self._small += 1
        if self._small > MOST_SMALL_STEPS:
            return self._hold("the way to the prompt cannot be cleared", now, self._limits.cooldown * 4)
        return self._take(step, message, now, small=True)

    def _take(self, step: str, message: str, now: float, *, small: bool = False) -> list[Action]:
        if self._limits.dry_run:
            self._undo(step, small=small)
            return self._hold(f"dry run; the next step would be: {message}", now)
        for budget, whose in zip(self._budgets, ("this session", "this machine"), strict=True):
            if not budget.left(now):
                text = f"the budget of {whose} is spent ({budget.most} steps an hour)"
                self._undo(step, small=small)
                return self._hold(text, now, budget.again_at(now) - now, aloud=True)
        for budget in self._budgets:
            budget.spend(now)
        self.taken.append(step)
        self._step, self._small_step = step, small
        self._phase, self.until = _STEP, now + PATIENCE
        call = self.clock.call
        fields = {"step": step, "limit": self.clock.kind}
        if call is not None:
            fields |= call.to_json()
        said: list[Action] = [Say("step", message, fields)]
        if call is not None and step in (actions.END_TREE, actions.KILL_TREE):
            # the call's own hook is the next that the model hears: it must find the note
            said.append(TellModel(call.id, model_messages.note(self.clock, self.why, now), call.agent_id))
        return [*said, Take(step, call.id if call is not None else "")]

    def _undo(self, step: str, *, small: bool) -> None:
        """Take back a step that was planned and not taken."""
        if small:
            self._small -= 1
        elif step == actions.ESCAPE:
            self._escapes -= 1
        elif step == actions.RESTART:
            self._restarts -= 1
        elif self._tree_steps:
            self._tree_steps.pop()

    def _on_done(self, done: facts.Done, now: float) -> list[Action]:
        if not done.sent:
            self._undo(self._step, small=self._small_step)
            self.taken.pop()
            call = self.clock.call
            tree = self._step in (actions.END_TREE, actions.KILL_TREE) and call is not None
            back = [TellModel(call.id, "", call.agent_id)] if tree and call is not None else []
            return [*back, *self._hold(done.detail or "refused at the last moment", now)]
        self.saved = done.saved or self.saved
        wait = REDRAW if self._small_step else self._limits.verify
        self._phase, self.until = _VERIFY, now + wait
        return []

    def _on_no_effect(self, now: float) -> list[Action]:
        if self._small_step:
            self._phase, self.until = _LOOK, now
            return []
        pause = 0.0 if self._rung == TREE else self._limits.cooldown
        self._phase, self.until = _LOOK, now + pause
        return [Say("effect", f"{self._step}: no effect", {"step": self._step, "ok": False})]

    def _hold(self, reason: str, now: float, pause: float = 0.0, *, aloud: bool = False) -> list[Action]:
        """Wait. Each reason is reported once. One that persists is checked ever more rarely, unless `pause` is set."""
        same, self._reason = reason == self._reason, reason
        self._wait = min(2 * self._wait, MOST_COOLDOWNS * self._limits.cooldown) if same else self._limits.cooldown
        self._phase, self.until = _HELD, now + (max(pause, self._limits.cooldown) if pause else self._wait)
        if reason in self._reasons:
            return []
        self._reasons.add(reason)
        return [Say("held", f"no action taken: {reason}", {"reason": reason, "limit": self.clock.kind}, aloud)]

    def _give_up(self, reason: str, now: float) -> list[Action]:
        self.down = True
        fields = {"reason": reason, "limit": self.clock.kind, "retryMs": round(self._limits.retry * 1000)}
        because = f": {self.why}" if self.why else ""
        text = f"{self.clock.said(now)}{because}; a person is needed: {reason}"
        return [Say("gave_up", text, fields, aloud=True)]
