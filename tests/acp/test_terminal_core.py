"""The pure part of the terminals: states, limits over any bytes, what a request means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from unhang.acp import protocol as at
from unhang.acp.protocol import Exit, IllegalTransition, Refused, ShownOutput, TerminalMachine, cut_output, request_of
from unhang.agents.base.jsonrpc_message import INVALID_PARAMS

ENDS = st.sampled_from(sorted(at.ENDED)).map(lambda state: Exit(state, 0, None))


class TerminalStates(RuleBasedStateMachine):
    """Whatever is told in whatever order: forward only, one end, and an impossible step changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = TerminalMachine()
        self.seen = [self.machine.state]
        self.kills = 0

    def _told(self, tell: Any, allowed: bool) -> None:
        before = (self.machine.state, self.machine.exit)
        if allowed:
            tell()
            self.seen.append(self.machine.state)
        else:
            with pytest.raises(IllegalTransition):
                tell()
            assert (self.machine.state, self.machine.exit) == before

    @rule()
    def started(self) -> None:
        self._told(self.machine.started, self.machine.state == at.STARTING)

    @rule(exit=ENDS)
    def ended(self, exit: Exit) -> None:
        self._told(lambda: self.machine.ended(exit), self.machine.exit is None)

    @rule()
    def released(self) -> None:
        self._told(self.machine.released, self.machine.state != at.RELEASED)

    @rule()
    def kill(self) -> None:
        first = self.machine.asked_to_end()
        self.kills += first
        assert not (first and self.machine.exit is not None)

    @invariant()
    def forward_only(self) -> None:
        order = {at.STARTING: 0, at.RUNNING: 1, at.FINISHED: 2, at.KILLED: 2, at.TIMED_OUT: 2, at.RELEASED: 3}
        ranks = [order[state] for state in self.seen]
        assert ranks == sorted(ranks)
        assert self.kills <= 1
        assert sum(state in at.ENDED for state in dict.fromkeys(self.seen)) <= 1
        if self.machine.state in at.ENDED:
            assert self.machine.exit is not None
            assert self.machine.exit.state == self.machine.state


TestTerminalStates = TerminalStates.TestCase
TestTerminalStates.settings = settings(max_examples=60, deadline=None)


def test_no_end_can_be_a_state_that_is_none() -> None:
    machine = TerminalMachine()
    with pytest.raises(IllegalTransition):
        machine.ended(Exit(at.RUNNING, None, None))
    assert machine.exit is None


texts = st.text(st.sampled_from("aé€𝄞\n"), max_size=40).map(str.encode)


@settings(deadline=None)
@given(data=st.one_of(texts, st.binary(max_size=60)), limit=st.integers(0, 80))
def test_what_is_shown_is_the_longest_whole_end_within_the_limit(data: bytes, limit: int) -> None:
    whole = data.decode("utf-8", "replace")
    got = cut_output(data, limit)
    assert whole.endswith(got.text)
    assert len(got.text.encode()) <= limit
    assert got.truncated == (got.text != whole)
    if data == whole.encode() and got.truncated:  # one character more would be too much
        assert len(whole[len(whole) - len(got.text) - 1 :].encode()) > limit


@settings(deadline=None)
@given(data=texts, limit=st.integers(0, 80), at_byte=st.integers(0, 200))
def test_a_running_command_never_shows_half_a_character(data: bytes, limit: int, at_byte: int) -> None:
    part = data[:at_byte]
    got = cut_output(part, limit, running=True)
    assert "\ufffd" not in got.text
    assert data.decode().find(got.text) >= 0
    if len(part) <= limit:
        assert not got.truncated


@pytest.mark.parametrize(
    ("limit", "text"),
    [(0, ""), (1, ""), (2, ""), (3, "€"), (9, "β€€"), (10, "αβ€€"), (11, "αβ€€"), (12, "αβ€€"), (13, "€αβ€€")],
)
def test_an_output_limit_cuts_no_character_in_two(limit: int, text: str) -> None:
    assert cut_output("€αβ€€".encode(), limit) == ShownOutput(text, limit < 13)


def test_nothing_printed_is_nothing_cut() -> None:
    assert cut_output(b"", 0) == ShownOutput("", truncated=False)
    assert cut_output(b"", 0, cut=True).truncated


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"command": ""}, "command"),
        ({"command": 7}, "command"),
        ({"args": "ls"}, "args"),
        ({"args": [1]}, "args"),
        ({"cwd": "here"}, "absolute"),
        ({"env": {"A": "b"}}, "env"),
        ({"env": [{"name": "A"}]}, "env"),
        ({"outputByteLimit": -1}, "outputByteLimit"),
        ({"outputByteLimit": True}, "outputByteLimit"),
        ({"sessionId": None}, "sessionId"),
        ({"_meta": {"unhang": {"hrad": "2m"}}}, "hrad"),
        ({"_meta": {"unhang": "2m"}}, "object"),
        ({"_meta": {"unhang": {"hard": []}}}, "hard"),
        ({"_meta": {"unhang": {"hard": True}}}, "hard"),
        ({"_meta": {"unhang": {"category": 3}}}, "category"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_its_name(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        request_of({"sessionId": "s", "command": "ls"} | wrong)
    assert refused.value.code == INVALID_PARAMS


def test_a_request_is_read_as_the_protocol_writes_it() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    meta = {"unhang": {"hard": "2m"}, "other": 1}
    got = request_of({"sessionId": "s", "command": "ls", "args": ["-l"], "env": env, "cwd": "/", "_meta": meta})
    assert (got.command, got.args, got.env, got.cwd) == ("ls", ["-l"], {"A": "2"}, "/")
    assert got.limit == at.DEFAULT_OUTPUT
    assert got.wishes == {"hard": "2m"}
    assert request_of({"sessionId": "s", "command": "ls", "outputByteLimit": 1 << 50}).limit == at.MOST_OUTPUT


@pytest.mark.parametrize(
    ("command", "args", "line"),
    [
        ("ls", [], False),
        ("ls", ["-l"], False),
        ("ls -l", [], True),
        ("no-such-program", [], True),
        ("cd /tmp && ls", ["x"], False),
    ],
)
def test_a_command_without_arguments_that_is_no_program_is_a_shell_line(
    command: str, args: list[str], line: bool
) -> None:
    assert at.is_line(command, args, lambda name: name == "ls") is line


@settings(deadline=None)
@given(limit=st.integers(0, at.MOST_OUTPUT))
def test_what_a_job_keeps_is_enough_for_what_may_be_asked_of_it(limit: int) -> None:
    ring = at.budget_for(limit) - at.budget_for(limit) // 2
    assert ring - ring // 4 >= limit + 4
