"""What is sent, and what is not: the ledger against its promises, by examples and by a state machine."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.odd import records
from unhang.core.alerts.kinds import ENDS, KINDS, URGENT
from unhang.core.alerts.ledger import BACKOFF, LIFE, MOST_HELD, SPACING, WINDOW, Ledger
from unhang.core.alerts.message import message_of
from unhang.core.alerts.occasions import AlertSubject, Occasion
from unhang.core.alerts.settings import COOLDOWN, AlertSettings, parse

ALL = {"on": list(KINDS), "to": ["phone"]}
SETTINGS = parse({"target": {"phone": {"kind": "desktop"}, "hook": {"kind": "desktop"}}, "rule": [ALL]}, "f")


def occasion(kind: str, *, job: str = "j1", seq: int = 1, stall: str = "s1") -> Occasion:
    return Occasion(
        AlertSubject(id=job, name=job, command="make"), kind, seq, 0.0, stall, f"{kind} of {job}", "unhang ps"
    )


def ledger(settings: AlertSettings = SETTINGS, state: dict[str, Any] | None = None) -> Ledger:
    return Ledger(settings, state or {}, lambda now: now / 60 % 1440)


def flush(book: Ledger, now: float) -> list[list[str]]:
    """What is sent at this time, all of it successfully: the kinds of each message."""
    found = []
    for each in book.ready(now):
        assert book.sent(each.key) is not None
        found.append([one.kind for one in each.occasions])
    return found


def test_a_silence_is_told_once_and_once_more_when_it_is_urgent() -> None:
    book = ledger()
    for at, kind in enumerate(["stuck", "stuck", "warning", "stuck", "warning"]):
        book.take(occasion(kind, seq=at + 1), 100.0 + at)
    assert flush(book, 110.0) == [["warning"]]
    assert book.next_due() is None
    book.take(occasion("stuck", job="b"), 200.0)
    assert flush(book, 210.0) == [["stuck"]]
    book.take(occasion("warning", job="b", seq=2), 220.0)
    assert flush(book, 230.0) == [["warning"]]


def test_another_silence_of_the_same_job_waits_for_the_cooldown() -> None:
    book = ledger()
    book.take(occasion("stuck"), 0.0)
    assert flush(book, 10.0) == [["stuck"]]
    book.take(occasion("recovered", seq=2), 20.0)
    assert flush(book, 30.0) == [["recovered"]]
    book.take(occasion("stuck", seq=3, stall="s2"), 40.0)
    assert flush(book, 100.0) == []
    assert book.next_due() == 1800.0
    assert flush(book, 1800.0) == [["stuck"]]


def test_the_next_question_of_somebody_who_answers_comes_at_once() -> None:
    book = ledger()
    for n, at in enumerate((0.0, 60.0, 120.0)):
        book.take(occasion("needs_approval", seq=2 * n + 1, stall=f"s{n}"), at)
        assert flush(book, at + 10) == [["needs_approval"]]
        book.take(occasion("recovered", seq=2 * n + 2).replace(answered=True), at + 20)
        assert flush(book, at + 30) == [["recovered"]]


def test_what_is_over_before_it_was_told_is_not_told() -> None:
    book = ledger()
    book.take(occasion("stuck"), 0.0)
    book.take(occasion("recovered", seq=2), 1.0)
    assert flush(book, 60.0) == []
    assert book.next_due() is None


def test_what_a_person_has_settled_elsewhere_is_not_told_and_the_next_question_is() -> None:
    """A cancelled job, a dismissed question, a page that is looked at: it is over, and nothing is told of that."""
    book = ledger()
    book.take(occasion("needs_input"), 0.0)
    book.settle("j1", answered=True)
    assert (flush(book, 60.0), book.next_due()) == ([], None)
    book.take(occasion("needs_input", seq=2, stall="s2"), 60.0)
    assert flush(book, 63.0) == [["needs_input"]], "no cooldown after an answer"
    book.settle("j1")
    book.take(occasion("recovered", seq=3), 80.0)
    book.take(occasion("needs_input", seq=4, stall="s3"), 80.0)
    assert flush(book, 100.0) == [], "it waits for its cooldown, which an end does not shorten"
    book.settle("j1")
    assert book.next_due() is None


def test_urgent_alerts_have_a_shorter_cooldown_and_low_ones_none() -> None:
    book = ledger()
    for at, kind, stall in ((0.0, "needs_input", "s1"), (50.0, "recovered", "s1"), (60.0, "needs_input", "s2")):
        book.take(occasion(kind, seq=int(at) + 1, stall=stall), at)
        assert flush(book, at + SPACING) == ([[kind]] if at < 60 else [])
    assert book.next_due() == COOLDOWN[URGENT]
    assert flush(book, COOLDOWN[URGENT]) == [["needs_input"]]
    book.take(occasion("recovered", seq=99), 310.0)
    assert flush(book, 310.0 + WINDOW) == [["recovered"]], "the second within minutes"
    short = parse({"target": {"phone": {"kind": "desktop"}}, "rule": [ALL], "cooldown": {"urgent": "20s"}}, "f")
    again = ledger(short, {})
    for at, stall in ((0.0, "s1"), (10.0, "s2")):
        again.take(occasion("needs_input", seq=int(at) + 1, stall=stall), at)
        again.ready(at + WINDOW)
    assert again.next_due() is not None
    assert [each.occasions[0].stall for each in again.ready(20.0) if each.born == 20.0] == ["s2"]


def test_an_end_takes_the_place_of_what_was_held() -> None:
    book = ledger()
    book.take(occasion("needs_input"), 0.0)
    book.take(occasion("timeout", seq=2), 1.0)
    assert flush(book, 60.0) == [["timeout"]]


def test_several_within_seconds_are_one_message_and_messages_keep_a_distance() -> None:
    book = ledger()
    for n in range(100):
        book.take(occasion("failed", job=f"j{n}"), n * 0.1)
    sent = [flush(book, at / 10) for at in range(300)]
    messages = [each for each in sent if each]
    assert sum(len(kinds) for each in messages for kinds in each) == 100
    assert len(messages) <= 2


def test_what_comes_while_a_message_waits_goes_with_it() -> None:
    """Sent a moment after it, an urgent alert would keep a distance from one that is not."""
    book = ledger()
    book.take(occasion("stuck", job="a"), 0.0)
    book.take(occasion("needs_input", job="b"), 2.9)
    assert flush(book, WINDOW) == [["needs_input", "stuck"]]
    book.take(occasion("failed", job="c"), 4.0)
    book.take(occasion("warning", job="d"), WINDOW + SPACING - 0.1)
    assert flush(book, WINDOW + SPACING) == [["warning", "failed"]]
    assert book.next_due() is None


def test_what_comes_while_a_message_waits_keeps_its_own_cooldown() -> None:
    book = ledger()
    book.take(occasion("stuck"), 0.0)
    assert flush(book, WINDOW) == [["stuck"]]
    book.take(occasion("failed", job="b"), 20.0)
    book.take(occasion("stuck", seq=2, stall="s2"), 21.0)
    assert flush(book, 20.0 + WINDOW) == [["failed"]]
    assert book.next_due() == COOLDOWN["normal"]


def test_a_storm_is_bounded_and_what_exceeds_the_bound_is_listed() -> None:
    book = ledger()
    for n in range(MOST_HELD + 50):
        book.take(occasion("failed", job=f"j{n}"), 0.0)
    assert len(book.failures) == 50
    (message,) = flush(book, WINDOW)
    assert len(message) == MOST_HELD


def test_a_clock_that_was_ahead_by_a_year_silences_nobody_when_it_is_set_right() -> None:
    book, year = ledger(), 366 * 86_400.0
    book.take(occasion("stuck"), year)
    assert flush(book, year + WINDOW) == [["stuck"]]
    book.take(occasion("stuck", stall="s2", seq=2), 0.0)
    book.take(occasion("failed", job="b"), 0.0)
    assert flush(book, WINDOW) == [["failed"]]
    assert flush(book, 1800.0) == [["stuck"]], "after its cooldown"


def test_quiet_hours_hold_back_what_is_not_urgent() -> None:
    quiet = parse(
        {"target": {"phone": {"kind": "desktop"}}, "rule": [ALL], "quiet": {"from": "22:00", "to": "07:00"}}, "f"
    )
    book = ledger(quiet)
    night = 23 * 3600.0
    book.take(occasion("failed", job="a"), night)
    book.take(occasion("needs_input", job="b"), night)
    assert flush(book, night + 10) == [["needs_input"]]
    assert flush(book, 24 * 3600 + 7 * 3600 - 1) == []
    assert flush(book, 24 * 3600 + 7 * 3600) == [["failed"]]


def test_what_is_on_its_way_does_not_say_when_the_next_is_due() -> None:
    book = ledger()
    book.take(occasion("failed", job="a"), 0.0)
    (flying,) = book.ready(WINDOW)
    assert book.next_due(besides={flying.key}) is None
    book.take(occasion("failed", job="b"), 5.0)
    assert book.next_due(besides={flying.key}) == WINDOW + SPACING


def test_a_failed_message_is_tried_again_ever_more_rarely_for_a_day_and_then_listed() -> None:
    book = ledger()
    book.take(occasion("failed"), 0.0)
    now, tries, waits = WINDOW, 0, []
    while True:
        (each,) = book.ready(now)
        outcome = book.failed(each.key, "refused", now)
        assert outcome is not None
        tries += 1
        if outcome.state == "failed":
            break
        due = book.next_due()
        assert due is not None
        waits.append(due - now)
        now = due
    assert tuple(waits[: len(BACKOFF)]) == BACKOFF
    assert now < LIFE + BACKOFF[-1]
    assert 20 < tries < 60
    assert (book.next_due(), book.ready(now + LIFE)) == (None, [])


def test_a_message_that_can_never_arrive_is_given_up_at_once() -> None:
    book = ledger()
    book.take(occasion("failed"), 0.0)
    (each,) = book.ready(WINDOW)
    outcome = book.failed(each.key, "404", WINDOW, for_good=True)
    assert outcome is not None
    assert outcome.state == "failed"
    assert book.next_due() is None


def test_what_waits_for_a_target_that_is_gone_waits_a_day_for_it_and_is_then_listed() -> None:
    book = ledger()
    book.take(occasion("failed", job="a"), 0.0)
    assert book.ready(WINDOW)
    book.take(occasion("failed", job="b"), WINDOW)
    without = parse({"target": {"hook": {"kind": "desktop"}}}, "f")
    half = ledger(without, book.to_json())  # an editor has written half of the file
    half.forget(WINDOW)
    assert (half.ready(100.0), half.next_due(), half.failures) == ([], None, [])
    again = ledger(state=half.to_json())
    assert len(again.ready(WINDOW + SPACING)) == 2
    half.forget(LIFE + 100)
    assert sorted(each.delivery.occasions[0].subject.id for each in half.failures) == ["a", "b"]
    assert (half.to_json()["held"], half.to_json()["pending"]) == ([], [])


def test_what_waits_survives_in_the_state_with_its_key() -> None:
    book = ledger()
    book.take(occasion("failed", job="a"), 0.0)
    (first,) = book.ready(WINDOW)
    book.take(occasion("stuck", job="b"), WINDOW)
    again = ledger(state=json.loads(json.dumps(book.to_json())))
    assert [each.key for each in again.ready(WINDOW)] == [first.key]
    assert len(again.ready(WINDOW + SPACING)) == 2
    again.take(occasion("stuck", job="b", seq=2), WINDOW + 1)
    assert len(again.ready(WINDOW + SPACING * 3)) == 2, "still told once"


def test_a_target_that_was_taken_out_of_the_file_is_told_nothing_more() -> None:
    book = ledger()
    book.take(occasion("failed"), 0.0)
    other = parse({"target": {"hook": {"kind": "desktop"}}}, "f")
    assert ledger(other, book.to_json()).next_due() is None


def _full_state() -> dict[str, Any]:
    """What a ledger keeps, with something in every part of it."""
    book = ledger()
    book.take(occasion("failed", job="a"), 0.0)
    (first,) = book.ready(WINDOW)
    book.failed(first.key, "no answer", WINDOW)
    book.take(occasion("stuck", job="b"), WINDOW)
    state = json.loads(json.dumps(book.to_json()))
    assert all(state.values())
    return dict(state)


@given(records(_full_state()))
@settings(max_examples=300, deadline=None)
def test_any_state_is_read_as_far_as_it_can_be(value: Any) -> None:
    """A job may write into the file that it is kept in: an alert may be lost by that, no deliverer may."""
    book = ledger(state=value if isinstance(value, dict) else {})
    book.take(occasion("stuck", job="b", seq=2), 4.0)
    book.take(occasion("recovered", job="a", seq=2), 4.0)
    for each in book.ready(100.0):
        message_of(each, None)
        book.failed(each.key, "no answer", 100.0)
    book.next_due()
    book.settle("b", answered=True)
    book.forget(200.0)
    json.dumps(book.to_json())
    book.take(occasion("failed", job="new"), 1000.0)
    sent = [one.subject.id for now in (2000.0, 9000.0) for each in book.ready(now) for one in each.occasions]
    assert "new" in sent, "what happens from now on is told"


class Promises(RuleBasedStateMachine):
    """Whatever comes in whatever order, over whatever restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.book = ledger()
        self.sent: list[tuple[float, str, str, str]] = []  # when, job, kind, stall
        self.messages: list[float] = []
        self.taken: set[str] = set()
        self.ended: set[str] = set()
        self.seq = 0

    @rule(job=st.sampled_from("abcdef"), kind=st.sampled_from(KINDS), stall=st.sampled_from(["s1", "s2"]))
    def happens(self, job: str, kind: str, stall: str) -> None:
        if job in self.ended:
            return  # a job has one end, and nothing after it
        if kind in ENDS:
            self.ended.add(job)
        self.seq += 1
        each = occasion(kind, job=job, seq=self.seq, stall=stall)
        self.taken.add(each.key)
        self.book.take(each, self.now)

    @rule(seconds=st.sampled_from([0.5, 3.0, 11.0, 120.0, 2000.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for each in self.book.ready(self.now):
            assert self.book.sent(each.key) is not None
            assert self.book.sent(each.key) is None, "once"
            self.messages.append(self.now)
            for one in each.occasions:
                assert one.key in self.taken
                self.taken.discard(one.key)
                self.sent.append((self.now, one.subject.id, one.kind, one.stall))

    @rule()
    def starts_again(self) -> None:
        self.book = ledger(state=json.loads(json.dumps(self.book.to_json())))

    @invariant()
    def messages_keep_a_distance(self) -> None:
        assert all(b - a >= SPACING for a, b in zip(self.messages, self.messages[1:], strict=False))

    @invariant()
    def recovered_follows_what_was_sent(self) -> None:
        told: set[str] = set()
        for _, job, kind, _ in self.sent:
            if kind == "recovered":
                assert job in told
                told.discard(job)
            elif kind in ENDS:
                told.discard(job)
            else:
                told.add(job)

    @invariant()
    def nothing_waits_without_a_time(self) -> None:
        state = self.book.to_json()
        assert (self.book.next_due() is None) == (not state["held"] and not state["pending"])


TestPromises = Promises.TestCase
TestPromises.settings = settings(max_examples=60, stateful_step_count=25)
