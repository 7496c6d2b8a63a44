"""The watchdog by example: one line a timeline. What happens is on the left, what it asks for on the right."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from unhang.core.limits import Limits
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import facts as fact
from unhang.core.watchdog.actions import Action
from unhang.core.watchdog.facts import Fact
from unhang.core.watchdog.machine import CLOSING, ENDED, RUNNING, STOPPING, IllegalCall, Watchdog

OUT, EXIT, REST, CLOSED = fact.Output(), fact.LeaderExited(), fact.TreeGone(), fact.PipesClosed()
BLOCKED, READS = fact.Held(True), fact.Held(False)
STOP, FORCE = fact.StopRequested(), fact.StopRequested(force=True)
HUNG = fact.HungVerdict()
IGNORED = fact.TermIgnored()
LEFT = fact.StopRequested(hasty=True)
ANSWERED = fact.Typed()
ASKED = fact.Window(300, fact.PERSON)
AWAY, BACK = fact.Away((act.IDLE, act.HARD)), fact.Away()

# Round numbers, so that a timeline can be checked in the head.
PLAIN = Limits(stall=60, idle=300, hard=1200, warn=30, grace=5, kill_wait=5)
ONLY_IDLE = PLAIN.replace(stall=None, hard=None)
ONLY_HARD = PLAIN.replace(stall=None, idle=None)


def words(action: Action) -> str:
    match action:
        case act.Stuck():
            return "stuck"
        case act.Quiet():
            return "quiet"
        case act.Resumed():
            return "resumed"
        case act.Warned(tier, _, left):
            return f"warn {tier} {left:g}"
        case act.Extended(tier, left):
            return f"extended {tier} {left:g}"
        case act.LimitReached(tier, _):
            return f"timeout {tier}"
        case act.Interrupt(reason):
            return f"INT {reason}"
        case act.Terminate(reason):
            return f"TERM {reason}"
        case act.Kill(reason):
            return f"KILL {reason}"
        case act.Settle(ending, leaked, abandoned):
            return f"end {ending}" + " leaked" * leaked + " abandoned" * abandoned
        case act.Look():
            return "look"


class Timeline(NamedTuple):
    name: str
    limits: Limits
    facts: list[tuple[float, Fact]]
    expected: str
    dies_of: str = "TERM"  # the whole tree, pipes and all; "KILL"; "" for never
    keep: bool = False
    busy: tuple[float, float] = (0, 0)  # looks between these moments see movement
    asleep: tuple[float, float] = (0, 0)  # the keeper does not run between these
    until: float = 5000


def play(line: Timeline) -> str:
    """Wakes at every deadline, tells facts when they happen (or when the keeper runs again), answers every look."""
    dog = Watchdog(line.limits, 0.0, keep=line.keep)
    waiting = sorted(line.facts, key=lambda entry: entry[0])
    said: list[str] = []
    now = 0.0
    for _ in range(10_000):
        due = dog.deadline()
        moments = [t for t in ([] if due is None else [due]) + [t for t, _ in waiting[:1]] if t <= line.until]
        if dog.phase == ENDED or not moments:
            return ", ".join(said)
        now = max(now, min(moments))
        if line.asleep[0] < now < line.asleep[1]:
            now = line.asleep[1]
        while waiting and waiting[0][0] <= now:
            dog.tell(waiting.pop(0)[1], now)
        looking = True
        while looking and dog.phase != ENDED:
            looking = False
            for action in dog.wake(now):
                if isinstance(action, act.Look):
                    looking = True
                    dog.tell(fact.Looked(line.busy[0] <= now < line.busy[1], "cpu"), now)
                    continue
                said.append(f"{round(now, 3):g} {words(action)}")
                name = type(action).__name__
                if line.dies_of and name == {"TERM": "Terminate", "KILL": "Kill"}[line.dies_of]:
                    told = {type(f) for _, f in line.facts}
                    gone = [f for f in (EXIT, REST, CLOSED) if type(f) not in told]
                    waiting = sorted(waiting + [(now + 0.5, f) for f in gone], key=lambda entry: entry[0])
    raise AssertionError(f"no end: {said}")


# One line each, however long: they are read as a table.
# ruff: noqa: E501
TIMELINES = [
    Timeline("quick success", PLAIN, [(1, OUT), (2, EXIT), (2, REST), (2, CLOSED)], "2 end exited"),
    Timeline("silent to the end", PLAIN, [], "60 stuck, 270 warn idle 30, 300 timeout idle, 300 TERM idle, 300.5 end idle"),
    Timeline("TERM ignored", ONLY_IDLE, [], "270 warn idle 30, 300 timeout idle, 300 TERM idle, 305 KILL idle, 305.5 end idle", dies_of="KILL"),
    Timeline("nothing helps", ONLY_IDLE, [], "270 warn idle 30, 300 timeout idle, 300 TERM idle, 305 KILL idle, 310 end idle abandoned", dies_of=""),
    Timeline("hard limit of a chatty job", ONLY_HARD, [(t, OUT) for t in range(100, 1200, 100)], "1170 warn hard 30, 1200 timeout hard, 1200 TERM hard, 1200.5 end hard"),
    Timeline("the hard limit is the nearer one", PLAIN.replace(stall=None, hard=200), [], "170 warn hard 30, 200 timeout hard, 200 TERM hard, 200.5 end hard"),
    Timeline("output after the warning is life", ONLY_IDLE, [(280, OUT)], "270 warn idle 30, 280 resumed, 550 warn idle 30, 580 timeout idle, 580 TERM idle, 580.5 end idle"),
    Timeline("output at the very deadline is life", ONLY_IDLE, [(300, OUT)], "270 warn idle 30, 300 resumed", until=500),
    Timeline("late output is life", ONLY_IDLE, [(299, OUT)], "270 warn idle 30, 305 resumed", asleep=(280, 305), until=500),
    Timeline("exit at the very deadline is no timeout", ONLY_IDLE, [(300, EXIT), (300, REST), (300, CLOSED)], "270 warn idle 30, 300 end exited"),
    Timeline("late exit is no timeout", ONLY_IDLE, [(299, EXIT), (299, REST), (299, CLOSED)], "270 warn idle 30, 400 end exited", asleep=(280, 400)),
    Timeline("late exit at the hard limit is no timeout", ONLY_HARD, [(1201, EXIT), (1201, REST), (1201, CLOSED)], "1170 warn hard 30, 1300 end exited", asleep=(1190, 1300)),
    Timeline("a warning slept through is given late, with its lead", ONLY_HARD, [], "1300 warn hard 30, 1330 timeout hard, 1330 TERM hard, 1330.5 end hard", asleep=(1000, 1300)),
    Timeline("a pause of the keeper is nobody's silence", ONLY_IDLE, [(350, fact.Paused(250))], "520 warn idle 30, 550 timeout idle, 550 TERM idle, 550.5 end idle", asleep=(100, 350)),
    Timeline("a pause does not move the hard limit", ONLY_HARD, [(350, fact.Paused(250))], "1170 warn hard 30, 1200 timeout hard, 1200 TERM hard, 1200.5 end hard", asleep=(100, 350)),
    Timeline("a blocked reader stops the idle clock", ONLY_IDLE, [(100, BLOCKED), (2100, READS)], "2270 warn idle 30, 2300 timeout idle, 2300 TERM idle, 2300.5 end idle"),
    Timeline("a blocked reader does not stop the hard clock", PLAIN.replace(stall=None), [(100, BLOCKED)], "1170 warn hard 30, 1200 timeout hard, 1200 TERM hard, 1200.5 end hard"),
    Timeline("extend idle", ONLY_IDLE, [(280, fact.Extend(idle=100))], "270 warn idle 30, 280 extended idle 120, 370 warn idle 30, 400 timeout idle, 400 TERM idle, 400.5 end idle"),
    Timeline("extend hard", ONLY_HARD, [(1180, fact.Extend(hard=300))], "1170 warn hard 30, 1180 extended hard 320, 1470 warn hard 30, 1500 timeout hard, 1500 TERM hard, 1500.5 end hard"),
    Timeline("extend what is off changes nothing", ONLY_HARD.replace(hard=None), [(10, fact.Extend(idle=5, hard=5))], ""),
    Timeline("a lead longer than half of the limit is cut to half", ONLY_IDLE.replace(idle=20), [], "10 warn idle 10, 20 timeout idle, 20 TERM idle, 20.5 end idle"),
    Timeline("a lead of 0 warns of nothing", ONLY_IDLE.replace(warn=0), [], "300 timeout idle, 300 TERM idle, 300.5 end idle"),
    Timeline("no grace", ONLY_IDLE.replace(warn=0, grace=0), [], "300 timeout idle, 300 TERM idle, 300 KILL idle, 300.5 end idle", dies_of="KILL"),
    Timeline("no limits, no end", PLAIN.replace(stall=None, idle=None, hard=None), [(900, OUT)], ""),
    Timeline("a busy tree is quiet (said at the next look), and not idle", ONLY_IDLE.replace(stall=60), [(1000, EXIT), (1000, REST), (1000, CLOSED)], "64 quiet, 270 extended idle 300, 540 extended idle 300, 810 extended idle 300, 1000 end exited", busy=(0, 5000)),
    Timeline("a busy tree is idle where only output counts", ONLY_IDLE.replace(liveness="output"), [], "270 warn idle 30, 300 timeout idle, 300 TERM idle, 300.5 end idle", busy=(0, 5000)),
    Timeline("no movement moves the hard limit", ONLY_HARD, [], "1170 warn hard 30, 1200 timeout hard, 1200 TERM hard, 1200.5 end hard", busy=(0, 5000)),
    Timeline("a heartbeat is life", ONLY_IDLE, [(200, fact.Heartbeat())], "470 warn idle 30, 500 timeout idle, 500 TERM idle, 500.5 end idle"),
    Timeline("a heartbeat may ask for more", ONLY_IDLE, [(200, fact.Heartbeat(1000))], "1170 warn idle 30, 1200 timeout idle, 1200 TERM idle, 1200.5 end idle"),
    Timeline("a heartbeat is nothing where only output counts", ONLY_IDLE.replace(liveness="output"), [(200, fact.Heartbeat())], "270 warn idle 30, 300 timeout idle, 300 TERM idle, 300.5 end idle"),
    Timeline("cancel", PLAIN, [(7, STOP)], "7 TERM cancelled, 7.5 end cancelled"),
    Timeline("cancel, TERM ignored", PLAIN, [(7, STOP)], "7 TERM cancelled, 12 KILL cancelled, 12.5 end cancelled", dies_of="KILL"),
    Timeline("cancel by force", PLAIN, [(7, FORCE)], "7 KILL cancelled, 7.5 end cancelled", dies_of="KILL"),
    Timeline("cancel, then by force", PLAIN, [(7, STOP), (8, FORCE)], "7 TERM cancelled, 8 KILL cancelled, 8.5 end cancelled", dies_of="KILL"),
    Timeline("cancel in the grace of a timeout keeps its reason", ONLY_IDLE.replace(warn=0), [(302, STOP)], "300 timeout idle, 300 TERM idle, 305 KILL idle, 305.5 end idle", dies_of="KILL"),
    Timeline("a long grace is kept for what ignores TERM", ONLY_IDLE.replace(warn=0), [(301, IGNORED)], "300 timeout idle, 300 TERM idle, 305 KILL idle, 305.5 end idle", dies_of="KILL"),
    Timeline("what ignores TERM is not waited for", ONLY_IDLE.replace(warn=0, grace=2), [(301, IGNORED)], "300 timeout idle, 300 TERM idle, 301 KILL idle, 301.5 end idle", dies_of="KILL"),
    Timeline("what ignores TERM while it runs is nobody's business", ONLY_IDLE.replace(warn=0), [(100, IGNORED)], "300 timeout idle, 300 TERM idle, 300.5 end idle"),
    Timeline("the grace is short if the caller is gone", PLAIN.replace(grace=2), [(10, LEFT)], "10 TERM cancelled, 10.5 KILL cancelled, 11 end cancelled", dies_of="KILL"),
    Timeline("a long grace stays long if the caller is gone", PLAIN, [(10, LEFT)], "10 TERM cancelled, 15 KILL cancelled, 15.5 end cancelled", dies_of="KILL"),
    Timeline("an answer begins the silence anew", ONLY_IDLE.replace(warn=0), [(200, ANSWERED)], "500 timeout idle, 500 TERM idle, 500.5 end idle"),
    Timeline("output in the grace counts for nothing", ONLY_IDLE.replace(warn=0), [(302, OUT)], "300 timeout idle, 300 TERM idle, 305 KILL idle, 305.5 end idle", dies_of="KILL"),
    Timeline("a left-over that holds the pipe is a leak", PLAIN, [(1, OUT), (2, EXIT)], "2.5 TERM leak, 3 end exited leaked"),
    Timeline("every byte re-arms the wait for a leak", PLAIN, [(2, EXIT), (2.4, OUT), (2.8, OUT), (3.1, REST), (3.1, CLOSED)], "3.1 end exited"),
    Timeline("a left-over that never stops talking is a leak at last", PLAIN, [(2, EXIT), *((2 + i / 4, OUT) for i in range(1, 100))], "12 TERM leak, 12.5 end exited leaked"),
    Timeline("a stranger holds the pipe", PLAIN, [(2, EXIT), (2, REST)], "2.5 end exited leaked"),
    Timeline("a left-over blocked by our reader is waited for", PLAIN, [(1, BLOCKED), (2, EXIT), (100, READS), (100, REST), (100, CLOSED)], "100 end exited"),
    Timeline("cancel after the leader's exit keeps its own ending", PLAIN, [(2, EXIT), (2.1, STOP)], "2.1 TERM leak, 2.6 end exited leaked"),
    Timeline("what is kept is still the job", PLAIN, [(2, EXIT), (50, OUT), (55, REST), (55, CLOSED)], "55 end exited", keep=True),
    Timeline("what is kept can time out", ONLY_HARD, [(2, EXIT)], "1170 warn hard 30, 1200 timeout hard, 1200 TERM hard, 1200.5 end hard", keep=True),
    Timeline("an hour in front of a person: no limit, no notice", PLAIN, [(10, AWAY), (3610, OUT), (3610, BACK)], "", until=3660),
    Timeline("after that hour the limits go on as if it had not been", PLAIN.replace(stall=None), [(10, AWAY), (3610, BACK)], "3870 warn idle 30, 3900 timeout idle, 3900 TERM idle, 3900.5 end idle"),
    Timeline("a question stands for its window", ONLY_IDLE.replace(idle=30), [(1, ASKED)], "270 warn idle 30, 300 timeout idle, 300 TERM idle, 300.5 end idle"),
    Timeline("an answer brings the limit back", ONLY_IDLE.replace(idle=30), [(1, ASKED), (200, ANSWERED), (200, fact.Window(None))], "215 warn idle 15, 230 timeout idle, 230 TERM idle, 230.5 end idle"),
    Timeline("hung ends sooner, after its warning", PLAIN.replace(stall=None), [(100, HUNG)], "100 warn idle 30, 130 timeout idle, 130 TERM idle, 130.5 end idle"),
    Timeline("hung, and then it speaks", PLAIN.replace(stall=None, hard=None), [(100, HUNG), (110, OUT)], "100 warn idle 30, 110 resumed", until=300),
]  # fmt: skip


@pytest.mark.parametrize("line", TIMELINES, ids=lambda line: line.name)
def test_a_timeline_of_facts_gives_its_actions(line: Timeline) -> None:
    assert play(line) == line.expected


ILLEGAL: list[tuple[str, list[Fact], Fact]] = [
    ("the leader exits twice", [EXIT], EXIT),
    ("the tree is gone before its leader", [], REST),
    ("nobody asked for a look", [], fact.Looked(True)),
    ("a negative extension", [], fact.Extend(idle=-1)),
    ("an extension that is no number", [], fact.Extend(hard=float("nan"))),
    ("a negative pause", [], fact.Paused(-1)),
    ("a heartbeat that takes time away", [], fact.Heartbeat(-1)),
    ("blocked twice", [BLOCKED], BLOCKED),
    ("reads on without having blocked", [], READS),
]


@pytest.mark.parametrize(("before", "what"), [case[1:] for case in ILLEGAL], ids=[case[0] for case in ILLEGAL])
def test_an_illegal_fact_is_refused_and_changes_nothing(before: list[Fact], what: Fact) -> None:
    dog = Watchdog(PLAIN, 0.0)
    for known in before:
        dog.tell(known, 1.0)
    phase, due, silence = dog.phase, dog.deadline(), dog.silence(1.0)
    with pytest.raises(IllegalCall):
        dog.tell(what, 2.0)
    assert (dog.phase, dog.deadline(), dog.silence(1.0)) == (phase, due, silence)


def test_time_does_not_go_backwards() -> None:
    dog = Watchdog(PLAIN, 10.0)
    with pytest.raises(IllegalCall):
        dog.tell(OUT, 9.0)
    with pytest.raises(IllegalCall):
        dog.wake(9.0)


def test_nothing_happens_after_the_end() -> None:
    dog = Watchdog(PLAIN, 0.0)
    for known in (EXIT, REST, CLOSED):
        dog.tell(known, 1.0)
    dog.wake(1.0)
    assert (dog.phase, dog.deadline()) == (ENDED, None)
    with pytest.raises(IllegalCall):
        dog.tell(OUT, 2.0)
    with pytest.raises(IllegalCall):
        dog.wake(2.0)


def test_a_job_that_is_ending_cannot_be_extended() -> None:
    dog = Watchdog(PLAIN, 0.0)
    dog.tell(STOP, 1.0)
    dog.wake(1.0)
    assert dog.phase == STOPPING
    with pytest.raises(IllegalCall):
        dog.tell(fact.Extend(idle=10), 1.5)


def test_a_job_whose_leader_has_exited_is_closing() -> None:
    dog = Watchdog(PLAIN, 0.0)
    assert dog.phase == RUNNING
    dog.tell(EXIT, 1.0)
    dog.wake(1.0)
    assert dog.phase == CLOSING


@pytest.mark.parametrize("takes", [0.001, 0.03, 0.06, 0.1, 0.2])
def test_a_slow_look_never_takes_the_place_of_those_that_explain(takes: float) -> None:
    """A diagnosis compares two full samples, so a job with a limit of a second must still get two before its end."""
    dog = Watchdog(ONLY_IDLE.replace(idle=1, warn=0.5), 0.0)
    full, now = 0, 0.0
    while dog.phase == RUNNING:
        due = dog.deadline()
        assert due is not None
        now = max(now, due)
        for action in dog.wake(now):
            if isinstance(action, act.Look):
                full += action.full
                now += takes
                dog.tell(fact.Looked(False), now)
                dog.wake(now)
    assert full >= 2


def looks_until_stuck(still: Callable[[float], bool]) -> tuple[list[float], float]:
    """When it was looked at from the tenth second on, and when it was called stuck."""
    dog = Watchdog(PLAIN, 0.0)
    looks: list[float] = []
    while True:
        now = dog.deadline() or 0.0
        for action in dog.wake(now):
            if isinstance(action, act.Look):
                looks.append(now)
                dog.tell(fact.Looked(False, "", still(now)), now)
            elif isinstance(action, act.Stuck):
                return [round(at, 3) for at in looks if at >= 10], now


def test_a_stall_notice_rests_on_two_looks() -> None:
    assert looks_until_stuck(lambda _: False) == ([16.0, 32.0, 58.0, 60.0], 60.0)


def test_a_still_tree_needs_no_look_to_compare_with() -> None:
    assert looks_until_stuck(lambda _: True) == ([12.0, 36.0, 60.0], 60.0)


def test_jobs_that_are_quiet_for_long_are_looked_at_on_the_same_seconds() -> None:
    begun = 1000.3
    dog = Watchdog(PLAIN, begun)
    woken: list[float] = []
    while dog.phase != ENDED:
        now = dog.wake_at() or 0.0
        woken.append(now)
        for action in dog.wake(now):
            if isinstance(action, act.Look):
                dog.tell(fact.Looked(False, "", True), now)
            elif isinstance(action, act.Terminate):
                for end in (fact.LeaderExited(), fact.TreeGone(), fact.PipesClosed()):
                    dog.tell(end, now)
    late = sorted({at for at in woken if at > begun + 20})
    # two looks (the second with the stall notice), one more; then what the idle limit rests on, exactly
    exact = [begun + after for after in (268, 270, 298, 300)]
    assert late[:7] == pytest.approx([1037, 1061, 1183, *exact], abs=1e-6)


def test_a_tree_that_stirs_at_the_notice_is_looked_at_twice_all_the_same() -> None:
    assert looks_until_stuck(lambda now: now < 50) == ([12.0, 36.0, 60.0, 62.0], 62.0)


def test_a_warning_that_comes_late_is_followed_by_the_look_that_is_due_by_then() -> None:
    """A full look comes two seconds before a limit; one that was warned about late has it in the past."""
    dog = Watchdog(ONLY_HARD.replace(hard=8.0, warn=1.0), 0.0)
    assert dog.wake(20.0) == [act.Look(full=True)]
    dog.tell(fact.Looked(False), 20.0)
    assert [words(action) for action in dog.wake(20.0)] == ["warn hard 1"]
    dog.tell(fact.Extend(0.0, 0.5), 20.0)
    assert [words(action) for action in dog.wake(25.0)][1:] == ["warn hard 1", "look"]
    dog.tell(fact.Looked(False), 25.0)
    assert dog.wake(25.0) == []
    assert dog.deadline() == 25.9


def test_what_moves_right_after_output_is_not_stuck_in_the_same_moment() -> None:
    dog = Watchdog(PLAIN.replace(stall=0.01), 0.0)
    assert dog.wake(0.015) == [act.Look(full=True)]
    dog.tell(fact.Looked(True), 0.015)
    assert [words(action) for action in dog.wake(0.015)] == ["quiet"]
    assert dog.wake(0.015) == []
    due = dog.deadline()
    assert due is not None
    assert due > 0.015


def test_a_cheap_look_that_takes_long_does_not_stand_for_the_full_one_that_came_due_meanwhile() -> None:
    """On a busy machine a look may take seconds; without two full ones nothing explains the end."""
    dog = Watchdog(Limits(hard=2, warn=1), 0.0)
    now, full = 0.0, 0
    while dog.phase == RUNNING:
        now = max(now, dog.deadline() or now)
        for action in dog.wake(now):
            if isinstance(action, act.Look):
                full += action.full
                now += 0.1 if action.full else 1.5
                dog.tell(fact.Looked(False), now)
    assert full >= 2
