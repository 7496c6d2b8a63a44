"""A job's log on the server is whole, in order and without doubles, whatever is lost, late, twice or restarted."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from unhang.core.fleet.chain import Chain
from unhang.core.fleet.messages import FIRST, LARGEST, LAST, EventMessage, Stored, Unfolded, pack, unpack

SUBJECT = "unhang.ev.alpha.job1"


def line(seq: int, text: str = "x") -> tuple[int, bytes]:
    event = {"seq": seq, "ts": "t", "type": "output", "phase": "running", "message": text}
    return seq, json.dumps(event).encode() + b"\n"


class Server:
    """What JetStream promises: a message is stored if its place is the last one's; the last can be read."""

    def __init__(self) -> None:
        self.messages: list[Stored] = []
        self.place = 0

    def store(self, message: EventMessage) -> int | None:
        expected = self.messages[-1].place if self.messages else 0
        if int(message.headers["Nats-Expected-Last-Subject-Sequence"]) != expected:
            return None
        self.place += 3  # other jobs are in the same stream
        found = unpack(message.headers, message.payload, self.place)
        assert found is not None
        self.messages.append(found)
        return self.place

    def last(self) -> Stored | None:
        return self.messages[-1] if self.messages else None


class Publishing(RuleBasedStateMachine):
    """Two publishers of one log (one may be a zombie), answers that are lost, messages that arrive later, crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[int, bytes]] = []
        self.server = Server()
        self.chains = [Chain(SUBJECT), Chain(SUBJECT)]
        self.late: list[EventMessage] = []
        self.cut = False

    def _line(self, seq: int) -> bytes | None:
        return next((data for number, data in self.log if number == seq), None)

    @rule(count=st.integers(1, 5))
    def record(self, count: int) -> None:
        for _ in range(count):
            self.log.append(line(len(self.log) + 1, f"{len(self.log)} {self.cut}"))

    @rule(who=st.integers(0, 1), fate=st.sampled_from(["answered", "answer lost", "late", "lost"]))
    def publish(self, who: int, fate: str) -> None:
        chain = self.chains[who]
        if not chain.sure:
            last = self.server.last()
            chain.resume(last, None if last is None else self._line(last.last))
        message = chain.next([each for each in self.log if each[0] > chain.last])
        if message is None:
            return
        if fate == "late":
            self.late.append(message)
        place = self.server.store(message) if fate.startswith("answer") else None
        if fate == "answered" and place is not None:
            chain.stored(place)
        else:
            chain.doubt()

    @precondition(lambda self: self.late)
    @rule(which=st.integers(0, 100))
    def arrive(self, which: int) -> None:
        self.server.store(self.late[which % len(self.late)])

    @rule(who=st.integers(0, 1))
    def restart(self, who: int) -> None:
        self.chains[who] = Chain(SUBJECT)

    @precondition(lambda self: not self.cut and len(self.log) > 1)
    @rule(left=st.integers(0, 4))
    def cut_the_power(self, left: int) -> None:
        """The log on disk loses its end; recovery writes others under the same numbers. Both publishers begin anew."""
        self.cut = True
        del self.log[max(1, len(self.log) - left) :]
        self.log.append(line(len(self.log) + 1, "lost"))
        self.chains = [Chain(SUBJECT), Chain(SUBJECT)]

    @invariant()
    def the_server_has_a_beginning_of_the_log_once_and_in_order(self) -> None:
        unfolded, seen = Unfolded(), dict[int, bytes]()
        last = 0
        for message in self.server.messages:
            assert message.first == (1 if message.again else last + 1)
            assert [seq for seq, _ in message.lines] == list(range(message.first, message.last + 1))
            last = message.last
            if message.again:
                seen.clear()
            seen |= dict(unfolded.take(message))
        assert list(seen) == list(range(1, last + 1))
        if not self.cut:
            assert list(seen.items()) == self.log[:last]

    def teardown(self) -> None:
        """In the end, when nothing is lost any more, all of it is there, as it is on disk."""
        for _ in range(3):
            self.publish(0, "answered")
        seen: dict[int, bytes] = {}
        unfolded = Unfolded()
        for message in self.server.messages:
            if message.again:
                seen.clear()
            seen |= dict(unfolded.take(message))
        assert list(seen.items()) == self.log


TestPublishing = Publishing.TestCase
TestPublishing.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@given(sizes=st.lists(st.integers(1, 4000), min_size=1, max_size=200), first=st.integers(1, 10**9))
def test_messages_are_bounded_and_give_back_every_byte(sizes: list[int], first: int) -> None:
    lines = [line(first + at, "x" * size) for at, size in enumerate(sizes)]
    left, found = lines, []
    while left:
        message = pack(SUBJECT, left, 7)
        assert len(message.payload) <= LARGEST
        stored = unpack(message.headers, message.payload, 1)
        assert stored is not None
        assert stored.last_line == message.payload.splitlines(keepends=True)[-1]
        found += stored.lines
        left = [each for each in left if each[0] > message.last]
    assert found == lines


@given(st.dictionaries(st.sampled_from(["Unhang-First", "Unhang-Last", "X"]), st.text(max_size=9)), st.binary())
def test_a_foreign_message_is_none(headers: dict[str, str], payload: bytes) -> None:
    found = unpack(headers, payload, 1)
    assert found is None or found.first <= found.last


def test_a_message_has_no_id_that_another_machine_could_use_first() -> None:
    assert "Nats-Msg-Id" not in pack(SUBJECT, [line(1)], 4).headers


def test_what_has_expired_on_the_server_is_not_published_again() -> None:
    chain = Chain(SUBJECT)
    chain.resume(None, None)
    assert chain.next([line(1)]) is not None
    chain.stored(5)
    chain.doubt()
    chain.resume(None, None)
    message = chain.next([line(2)])
    assert message is not None
    assert (chain.last, message.first, message.expected) == (1, 2, 0)


def test_a_number_that_no_log_has_is_none() -> None:
    """Python refuses to read thousands of digits, and a publisher must live on."""
    for number in ("1" * 5000, "1" * 30, "-1", "0", "1.0", "\u0661"):
        assert unpack({FIRST: number, LAST: number}, b"x\n", 1) is None
