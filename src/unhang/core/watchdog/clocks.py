"""The clocks of a running job: when a notice, a look or an end is due, as far as is known now.

*stall* and *idle* count from the last sign of life, *hard* from the start. All times are absolute and monotonic.
The watchdog owns the transitions; this file only does the arithmetic, so that each rule stands in one place:

* a warning comes `lead` seconds before its limit, and its limit fires no sooner than `lead` after the warning was
  really given (a keeper that slept through the warning gives it late, and the job gets its lead all the same);
* a look stands before every notice (and one a little earlier, to compare with), so none rests on an old sample; a
  tree that is *still* needs no earlier one for its stall notice. Where the notice has no second look all the same (the
  tree stirs at that very moment, or the keeper came too late for the first), it waits for one: once a silence, for
  `BASELINE` seconds at most, and never past a limit or its warning;
* `announced` is the idle deadline that was last made known. Signs of life that no event shows (CPU, bytes moved)
  move the real deadline at once, but the announced one only when it would have been warned about: one event then,
  instead of one a look.
"""

from __future__ import annotations

from unhang.core.limits import Limits, lead
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import facts as fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.watchdog.actions import Action

NEVER = float("inf")
# The first looks after output stops. The very first only gives later ones something to compare with: work done
# while it still spoke must not count as life in the silence. A prompt is to be reported within 5 s of its text.
FIRST_LOOKS = (0.2, 1.0, 2.0, 4.0)
SETTLE = 0.25
# How long before a notice its first sample is taken: long enough to see movement between the two.
BASELINE = 2.0
AHEAD_OF_HARD = 0.1
SHORTEST_LOOK = 0.5
LONGEST_LOOK = 300.0
# The driver of an agent announces a stall, with its reason. One that has said nothing for this long after it was due
# cannot speak (it is stopped, or hangs itself), and the watchdog does.
DRIVER_LATE = 10.0
# A job that has been quiet for this long can wait until the other jobs of the machine are looked at, too.
PATIENT = 30.0


class Clocks:
    """The clocks of one job: they are told what happened, and say what is due when."""

    def __init__(self, limits: Limits, now: float) -> None:
        self.limits = limits
        self.started = now
        self.life = now  # the last sign of life
        self.spoke = now  # the last output or heartbeat
        self.held_since: float | None = None
        self._away: frozenset[str] = frozenset()  # the tiers that stand still, for the sake of the person in front
        self._away_since = now
        self._hard_from = now  # the start, moved by the time that the hard limit stood still
        self.looked = now
        self.full_asked = False  # the look that is under way is a full one
        self._full_looked = now  # a cheap look that took long does not stand for the full one that came due meanwhile
        self.moved = False  # what the last look saw
        self.look_reason = ""
        self._still = False  # what the last look saw, too
        self._stall_not_before = now
        self._second_look: float | None = None  # until when the stall notice of this silence waits, if it had to
        self.noticed = ""  # "", "quiet" or "stuck": what was last said about this silence
        self.hung = False
        self.longest_silence = 0.0  # of output and heartbeats; what the history learns from
        self._own_idle: float | None = None  # the idle limit, while a window stands in its place
        self._window_for = ""  # what that window stands for
        self._moved_by = ""  # the last movement that a look saw, in words
        self._announced = NEVER if limits.idle is None else now + limits.idle
        self._idle_warned: float | None = None
        self._hard_warned: float | None = None
        # what is due next, until something happens: it is asked for five times at every wake
        self._looks: tuple[float, float] | None = None
        self._next: float | None = None

    def _changed(self) -> None:
        self._looks = self._next = None

    @property
    def said(self) -> bool:
        """Return whether this silence was announced or warned of, so that its end is news."""
        return bool(self.noticed) or self._idle_warned is not None

    @property
    def own_idle(self) -> float | None:
        """Return the job's own idle limit, also while a window stands in its place."""
        return self.limits.idle if self._own_idle is None else self._own_idle

    @property
    def budget(self) -> str:
        """Return what stands in the place of the idle limit; empty: nothing does."""
        return self._window_for

    # --- what happened --------------------------------------------------------------------------------------

    def spoken(self, now: float, at_least: float = 0.0, *, asked: bool = False) -> list[Action]:
        """Note output or a heartbeat; `at_least`: it asked for that many seconds of silence from now on.

        `asked`: input.
        """
        self._changed()
        self.longest_silence = self.longest_silence_at(now)
        back: list[Action] = []
        if self.said:
            back.append(act.Resumed(max(0.0, now - self.life), asked))
        self.noticed = ""
        self._second_look = None
        self.spoke = now
        self._live(now)
        if self.limits.idle is not None:
            self.life = max(now, now + at_least - self.limits.idle)
            self._announced = self.life + self.limits.idle
        return back

    def longest_silence_at(self, now: float) -> float:
        """Return the longest one so far. The silence of a tool or of a person is not the agent's."""
        owned = self._window_for not in (fact.TOOL, fact.PERSON)
        return max(self.longest_silence, now - self.spoke) if owned else self.longest_silence

    def looked_at(
        self, alive: bool, reason: str, now: float, *, still: bool = False, explains: bool = True
    ) -> list[Action]:
        """Note what a look at the tree saw; movement counts as a sign of life if the liveness mode says so."""
        self._changed()
        self._await_second_look(now, enough=explains and (still or not self._still))
        self.looked, self.moved, self.look_reason, self._still = now, alive, reason, still
        if self.full_asked:
            self._full_looked, self.full_asked = now, False
        if alive and self.limits.liveness == "agent" and self.limits.stall is not None:
            self._stall_not_before = now + self.limits.stall  # its tool worked until now
        if not alive or self.limits.liveness != "progress" or self._rests:
            return []
        if now - self.spoke <= SETTLE:
            return []
        self._moved_by = reason or "the tree is working"
        warned = self._idle_warned is not None
        if self.noticed == "stuck":
            self.noticed = ""  # it moves again: the next judgement may call it quiet
        self._second_look = None
        self._live(now)
        return self._announce(now, self._moved_by) if warned else []

    def _await_second_look(self, now: float, *, enough: bool) -> None:
        """Let a stall notice that is due wait for another look, unless what has been seen is `enough` to explain it."""
        if self._second_look is not None:
            self._second_look = min(self._second_look, now) if enough and self.full_asked else self._second_look
        elif not enough and now >= self._stall_due():
            self._second_look = now + min(BASELINE, max(SHORTEST_LOOK, (now - self.spoke) / 2))

    def _live(self, now: float) -> None:
        self.life = max(self.life, now)
        self._idle_warned = None
        self.hung = False

    def extend(self, idle: float, hard: float, now: float) -> list[Action]:
        """Lengthen the idle and the hard limit by so many seconds; a limit that is off stays off."""
        self._changed()
        said: list[Action] = []
        if idle and self.limits.idle is not None:
            self.limits = self.limits.replace(idle=self.limits.idle + idle)
            if self._own_idle is not None:
                self._own_idle += idle
            self._idle_warned = None
            self.hung = False
            said += self._announce(now, "asked for", asked=True)
        if hard and self.limits.hard is not None:
            self.limits = self.limits.replace(hard=self.limits.hard + hard)
            self._hard_warned = None
            left = self._hard_end(now) - now
            said.append(act.Extended(act.HARD, left, "asked for", asked=True))
        return said

    def set_window(self, idle: float | None, purpose: str = "") -> None:
        """Run the limit of an agent's tool instead of the idle limit while the tool is in flight."""
        self._changed()
        self._window_for = "" if idle is None else purpose
        self.moved = False  # what was seen to move was not what this window is for
        if self.limits.idle is None:
            return
        if self._own_idle is None:
            self._own_idle = self.limits.idle
        self.limits = self.limits.replace(idle=self._own_idle if idle is None else idle)
        if idle is None:
            self._own_idle = None
        self._idle_warned = None
        self._announced = self.life + (self.limits.idle or 0.0)

    def pause(self, seconds: float, now: float) -> None:
        """Take `seconds` out of the current silence (never more than there is of it)."""
        self._changed()
        gained = max(0.0, min(seconds, now - self.life))
        self.life += gained
        self.spoke = min(now, self.spoke + gained)
        self._announced += gained
        if self._idle_warned is not None:
            self._idle_warned = min(now, self._idle_warned + gained)

    def hold(self, blocked: bool, now: float) -> None:
        """Stop the idle clock while the job waits for its reader, and go on afterwards as if no time had passed."""
        self._changed()
        if blocked:
            self.held_since = now
        elif self.held_since is not None:
            since, self.held_since = self.held_since, None
            self.pause(now - since, now)

    def stand_still(self, tiers: frozenset[str], now: float) -> None:
        """Stop the clocks of these tiers from now on; those that stood until now go on as if no time had passed."""
        self._changed()
        stood, since = self._away, self._away_since
        self._away, self._away_since = tiers, now
        if act.IDLE in stood:
            self.pause(now - since, now)
        if act.HARD in stood:
            self._hard_from += now - since
            if self._hard_warned is not None:
                self._hard_warned = min(now, self._hard_warned + now - since)

    @property
    def _rests(self) -> bool:
        """Whether the stall and idle clocks stand still."""
        return self.held_since is not None or act.IDLE in self._away

    @property
    def _hard_rests(self) -> bool:
        return act.HARD in self._away

    def announced_by_agent(self) -> None:
        """Note that the driver of an agent has announced this silence."""
        self._changed()
        self.noticed = "stuck"

    def judged(self, hung: bool) -> None:
        """Note whether the diagnosis found the tree hung."""
        self._changed()
        self.hung = hung

    def silence(self, now: float) -> float:
        """Return seconds since the last sign of life, as the idle clock counts them."""
        stands = [self._away_since] if act.IDLE in self._away else []
        stands += [] if self.held_since is None else [self.held_since]
        return max(0.0, min([now, *stands]) - self.life)

    # --- what is due ----------------------------------------------------------------------------------------

    def notices(self, now: float) -> list[Action]:
        """Return the stall notices and warnings that are due; each is returned once."""
        said: list[Action] = []
        before = (self.noticed, self._idle_warned, self._hard_warned)
        if not self._rests:
            said += self._stall_notice(now)
            said += self._idle_notice(now)
        if self._hard_warned is None and now >= self._hard_warn_due():
            self._hard_warned = now
            if self._hard_lead() > 0:
                said.append(act.Warned(act.HARD, now - self.started, self._hard_due() - now))
        if said or before != (self.noticed, self._idle_warned, self._hard_warned):
            self._changed()
        return said

    def expired(self, now: float) -> act.LimitReached | None:
        """Return the limit that has run out after its warning; None if none has."""
        idle, hard = self._idle_due(), self._hard_due()
        if now < min(idle, hard):
            return None
        if idle <= hard:
            return act.LimitReached(act.IDLE, self.silence(now), *self._in_its_place())
        return act.LimitReached(act.HARD, now - self.started)

    def limit_due(self) -> tuple[float, str]:
        """Return when the next limit ends the job, as far as is known now, and which; its warning may be to come."""
        hard = self._hard_end()
        if self._hard_warned is not None:
            hard = self._hard_due()
        idle = NEVER if self.limits.idle is None or self._rests else self.life + self.limits.idle
        if self._idle_warned is not None:
            idle = self._idle_due()
        return (idle, act.IDLE) if idle <= hard else (hard, act.HARD)

    def look_due(self) -> float:
        """Return when the tree is to be looked at next."""
        return self._next_looks()[0]

    def full_look_due(self) -> float:
        """Return when the next look must be a full one."""
        return self._next_looks()[1]

    def _next_looks(self) -> tuple[float, float]:
        """The next look, and the next that must be a full one."""
        if self._looks is None:
            full = self._next_full_look()
            # a look takes time: a cheap one right before a full one would end after it was due, and take its place
            cheap = NEVER if self._rests else self._periodic_look()
            self._looks = (cheap if cheap < full - SETTLE else full, full)
        return self._looks

    def _next_full_look(self) -> float:
        best = NEVER
        # where no warning comes before it, the moment of the warning is the end itself
        hard = self._hard_warn_due() if self._hard_lead() == 0 else self._hard_due()
        stall = self._stall_due() if self._still or self._second_look is not None else NEVER
        for due in self._dues():
            since = due - self.spoke
            # nothing that a look sees can change the hard limit: there it only gathers evidence, and comes before
            last = due - min(AHEAD_OF_HARD, since / 8) if due == hard else due
            for at in (due - min(BASELINE, since / 2), last):
                if self._full_looked < at < best and (due != stall or at == last):
                    best = at
        return best

    def next_due(self) -> float:
        """Return when anything here is due next: a look, a notice or a limit."""
        if self._next is None:
            self._next = min([self.look_due(), *self._dues()])
        return self._next

    def wake_at(self) -> float:
        """Return the best moment for what is due next, which is never much later.

        A look at a job that is quiet for long, and a stall notice of it, wait for the next whole second. All keepers of
        a machine have the same clock and so wake together: the first pays for a cold cache, the others do not. What is
        a promise (a limit, its warning, and the looks that these rest on) is never put off.
        """
        due = self.next_due()
        if not PATIENT <= due - self.spoke < NEVER:
            return due
        second = -(-due // 1.0)
        return second if second <= min(self._promised()) - BASELINE else due

    def _stall_notice(self, now: float) -> list[Action]:
        stall = self.limits.stall
        if stall is None:
            return []
        if self.moved and not self.noticed and self._looks_count and now - self.spoke >= stall:
            self.noticed = "quiet"
            # movement so soon after output is no sign of life, but what was seen to move is not stuck at once either
            self._stall_not_before = max(self._stall_not_before, self.looked + stall)
            return [act.Quiet(now - self.spoke, self.look_reason)]
        if now >= self._stall_due():
            self.noticed = "stuck"
            return [act.Stuck(self.silence(now))]
        return []

    def _idle_notice(self, now: float) -> list[Action]:
        idle = self.limits.idle
        if idle is None or self._idle_warned is not None or now < self._idle_warn_due():
            return []
        said: list[Action] = []
        if self.life + idle > self._announced:
            said += self._announce(now, self._moved_by)
            if now < self._idle_warn_due():
                return said
        self._idle_warned = now
        if self._idle_lead() > 0:
            left = self._idle_due() - now
            said.append(act.Warned(act.IDLE, self.silence(now), left, *self._in_its_place()))
        return said

    def _announce(self, now: float, reason: str, *, asked: bool = False) -> list[Action]:
        if self.limits.idle is None:
            return []
        self._announced = self.life + self.limits.idle
        return [act.Extended(act.IDLE, self._announced - now, reason, asked, self.budget)]

    def _in_its_place(self) -> tuple[str, float | None]:
        return (self.budget, self.limits.idle) if self.budget else ("", None)

    def _dues(self) -> list[float]:
        """Every moment at which a notice or an end may be due."""
        return [*self._promised(), NEVER if self._rests else self._stall_due()]

    def _promised(self) -> list[float]:
        """Every moment at which an end or the warning before it may be due."""
        dues = [self._hard_warn_due() if self._hard_warned is None else self._hard_due()]
        if not self._rests:
            dues.append(self._idle_warn_due() if self._idle_warned is None else self._idle_due())
        return dues

    def _stall_due(self) -> float:
        if self.limits.stall is None or self.noticed == "stuck":
            return NEVER
        if self.limits.liveness == "agent":
            return self._agent_stall_due(self.limits.stall)
        if self.noticed == "quiet" and self.limits.liveness != "progress":
            return NEVER  # looks do not move this clock, so it would be due again at once
        return self._with_second_look(max(self.life + self.limits.stall, self._stall_not_before))

    def _with_second_look(self, due: float) -> float:
        """When a stall notice comes that is due then: later, if it waits for a look, but before any limit's warning."""
        return due if self._second_look is None else max(due, min(self._second_look, *self._promised()))

    @property
    def _looks_count(self) -> bool:
        """Whether movement that a look saw says anything: an agent's own files and timers do not."""
        return self.limits.liveness != "agent" or self._window_for == fact.TOOL

    def _agent_stall_due(self, stall: float) -> float:
        """A person may think for as long as the window lasts; of a tool the kernel knows more than the driver."""
        if self._window_for == fact.PERSON:
            return NEVER
        if self._window_for == fact.TOOL:
            return self._with_second_look(max(self.life + stall, self._stall_not_before))
        return self._with_second_look(self.life + stall + min(stall, DRIVER_LATE))

    def _idle_lead(self) -> float:
        return lead(self.limits.idle, self.limits.warn)

    def _hard_lead(self) -> float:
        return lead(self.limits.hard, self.limits.warn)

    def _idle_warn_due(self) -> float:
        if self.limits.idle is None:
            return NEVER
        return self.looked if self.hung else self._announced - self._idle_lead()

    def _hard_warn_due(self) -> float:
        return self._hard_end() - self._hard_lead()

    def _hard_end(self, now: float | None = None) -> float:
        """When the hard limit is over, as far as is known; `now`: also where it stands still at this time."""
        if self.limits.hard is None or (self._hard_rests and now is None):
            return NEVER
        stood = now - self._away_since if now is not None and self._hard_rests else 0.0
        return self._hard_from + stood + self.limits.hard

    def _idle_due(self) -> float:
        if self.limits.idle is None or self._rests or self._idle_warned is None:
            return NEVER
        warned = self._idle_warned + self._idle_lead()
        return warned if self.hung else max(self.life + self.limits.idle, warned)

    def _hard_due(self) -> float:
        if self._hard_warned is None:
            return NEVER
        return max(self._hard_end(), self._hard_warned + self._hard_lead())

    def _periodic_look(self) -> float:
        """Soon after the last output, then at growing distances: a thousand quiet jobs must cost nothing."""
        if self.limits.idle is None and self.limits.stall is None:
            return NEVER
        for offset in FIRST_LOOKS:
            at = self.spoke + offset
            if self.looked < at:  # compared as it will be, not as a difference: sums of floats do not come apart again
                return at
        # the idle clock may be wrong by a quarter of its limit at most, or by half where no process has run for long
        factor = 2 if self._still else 1
        after = factor * (self.looked - self.spoke)
        longest = LONGEST_LOOK if self.limits.idle is None else factor * self.limits.idle / 4
        return self.looked + max(SHORTEST_LOOK, min(after, longest))
