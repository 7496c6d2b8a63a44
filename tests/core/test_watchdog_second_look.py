"""A stall notice waits for the look that explains it: not for long, not in vain, and no limit waits with it.

Two watchdogs live through the same history and run at the same moments. The looks of one always explain; those of the
other have nothing to compare with at first, as in a keeper that came too late for its first full look.
"""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.core.limits import Limits
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import facts as fact
from unhang.core.watchdog.actions import Action
from unhang.core.watchdog.clocks import BASELINE
from unhang.core.watchdog.facts import Fact
from unhang.core.watchdog.machine import RUNNING, Watchdog

# What belongs to a limit: it happens when it did, however the looks went.
PROMISED = act.Warned | act.Extended | act.LimitReached | act.Interrupt | act.Terminate | act.Kill | act.Settle
# After these the notice is no longer due: the silence is over, its clock has moved, or the job is ended.
OVER = (fact.Output, fact.Typed, fact.Heartbeat, fact.Held, fact.Away, fact.Paused, fact.StopRequested)

seconds = st.floats(min_value=0.01, max_value=500, allow_nan=False)
limits_strategy = st.builds(
    Limits,
    stall=seconds,
    idle=st.none() | seconds,
    hard=st.none() | seconds,
    warn=st.just(0.0) | seconds,
    grace=st.just(1.0),
    liveness=st.sampled_from(["progress", "output", "heartbeat"]),
)
facts = st.sampled_from(
    [
        fact.Output(),
        fact.Typed(),
        fact.Heartbeat(),
        fact.Heartbeat(30.0),
        fact.Extend(20.0, 0.0),
        fact.Extend(0.0, 20.0),
        fact.Paused(3.0),
        fact.Held(True),
        fact.Held(False),
        fact.Away((act.IDLE,)),
        fact.Away(),
        fact.HungVerdict(),
        fact.StopRequested(),
    ]
)
steps_strategy = st.lists(st.tuples(st.just(0.0) | seconds, st.none() | facts), max_size=25)


class Life:
    """A watchdog and what it said; `explains`: which of its full looks find something to compare with."""

    def __init__(self, limits: Limits, explains: tuple[bool, ...]) -> None:
        self.dog = Watchdog(limits, 0.0)
        self.full = 0
        self._explains = explains

    def wake(self, now: float) -> list[Action]:
        """Return what it has to say now, once it has looked as often as it wants to."""
        said: list[Action] = []
        looking = True
        while looking and self.dog.phase == RUNNING:
            looking = False
            for action in self.dog.wake(now):
                if isinstance(action, act.Look):
                    explains = not action.full or self._explains[min(self.full, len(self._explains) - 1)]
                    self.full += action.full
                    self.dog.tell(fact.Looked(False, explains=explains), now)
                    looking = True
                else:
                    said.append(action)
        return said


def _is_legal(what: Fact, held: bool) -> bool:
    return not (isinstance(what, fact.Held) and what.blocked == held)


def _cannot_wait(said: Action) -> bool:
    """Whether this is a limit's own word, which a notice of a stall has to come before."""
    return isinstance(said, act.Warned | act.LimitReached) or (isinstance(said, act.Extended) and not said.asked)


@given(limits_strategy, steps_strategy, st.sampled_from([(False, True), (False, False, True), (False,)]))
@settings(max_examples=200)
def test_the_notice_waits_within_its_bound_and_no_limit_waits_with_it(
    limits: Limits, steps: list[tuple[float, Fact | None]], explains: tuple[bool, ...]
) -> None:
    prompt, waiting = Life(limits, (True,)), Life(limits, explains)
    now, held, due = 0.0, False, None  # due: when the prompt one gave the notice that the other still owes
    # at last nothing but the clock happens
    for late, what in [*steps, (0.0, fact.Held(False)), (0.0, fact.Away()), *[(0.0, None)] * 50]:
        if prompt.dog.phase != RUNNING:
            break
        dues = [at for life in (prompt, waiting) if (at := life.dog.deadline()) is not None]
        now = max(now, min(dues, default=now)) + late
        if what is not None and _is_legal(what, held):
            held = what.blocked if isinstance(what, fact.Held) else held
            for life in (prompt, waiting):
                life.dog.tell(what, now)
            due = None if isinstance(what, OVER) else due
        told, said = prompt.wake(now), waiting.wake(now)
        promised = [action for action in said if isinstance(action, PROMISED)]
        assert promised == [action for action in told if isinstance(action, PROMISED)]
        if any(isinstance(action, act.Stuck) for action in told):
            due = now
        if any(isinstance(action, act.Stuck) for action in said):
            assert waiting.full >= 2 or any(map(_cannot_wait, said))
            due = None
        assert due is None or (now < due + BASELINE and not any(map(_cannot_wait, said)))
    if prompt.dog.phase == RUNNING:
        assert waiting.dog.clocks.noticed == prompt.dog.clocks.noticed


def test_a_keeper_that_comes_late_explains_its_notice_two_seconds_later() -> None:
    life = Life(Limits(), (False, True))
    assert life.wake(60.5) == []
    assert life.dog.deadline() == 62.5
    assert life.wake(62.5) == [act.Stuck(62.5)]
    assert life.full == 2


def test_a_tree_that_cannot_be_explained_is_waited_for_once() -> None:
    life = Life(Limits(), (False,))
    assert life.wake(60.5) == []
    assert life.wake(62.5) == [act.Stuck(62.5)]


@pytest.mark.parametrize(("limits", "at"), [(Limits(idle=91.2), 61.2), (Limits(hard=91.2), 61.2)], ids=["idle", "hard"])
def test_the_notice_never_comes_after_a_warning(limits: Limits, at: float) -> None:
    life = Life(limits, (False,))
    assert life.wake(60.5) == []
    assert life.dog.deadline() == pytest.approx(at)
    stuck, warned = life.wake(life.dog.deadline() or 0.0)
    assert (type(stuck), type(warned)) == (act.Stuck, act.Warned)


def test_a_sign_of_life_meanwhile_takes_the_notice_back_and_the_next_silence_waits_anew() -> None:
    life = Life(Limits(idle=None, hard=None), (False,))
    assert life.wake(60.5) == []
    life.dog.tell(fact.Output(), 61.0)
    assert life.wake(63.0) == []
    assert life.wake(121.5) == []
    assert life.wake(123.5) == [act.Stuck(62.5)]
