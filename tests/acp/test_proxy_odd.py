"""Whatever editor and agent say to each other: it goes through, the clocks are kept, the conversation goes on."""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.acp.editor import Open
from tests.support.acp_agents.odd import FEW, ODD, mutated, recorded
from unhang.acp.proxy import proxy
from unhang.acp.proxy.messages import key_of, with_terminals
from unhang.acp.proxy.turn_clocks import Conversation, TurnLimits

MESSAGES = recorded("agents/acp", "acp")
PROMPT = {"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}}
said = mutated(MESSAGES) | mutated((PROMPT,)) | st.sampled_from(ODD)


class OddConversation(RuleBasedStateMachine):
    """Editor and agent say anything at any time. What we say ourselves is JSON, and every judgement brings us on."""

    def __init__(self) -> None:
        super().__init__()
        self.talk = Conversation(TurnLimits(hard=300.0))
        self.now = 0.0

    def lines(self, lines: list[bytes]) -> None:
        for line in lines:
            assert line.endswith(b"\n")
            assert json.loads(line)["jsonrpc"] == "2.0"

    @rule(message=said, seconds=st.sampled_from([0.0, 0.1, 5.0]))
    def editor(self, message: Any, seconds: float) -> None:
        self.now += seconds
        self.talk.editor_said(message, self.now)

    @rule(message=said, seconds=st.sampled_from([0.0, 0.1, 5.0]))
    def agent(self, message: Any, seconds: float) -> None:
        self.now += seconds
        if not self.talk.is_late(message):
            self.talk.agent_said(message, self.now)

    @rule(seconds=st.sampled_from([0.0, 11.0, 61.0, 700.0]))
    def time_goes_by(self, seconds: float) -> None:
        self.now += seconds
        told = self.talk.judge(self.now)
        self.lines([*told.editor, *told.agent])
        for session in told.stalled:
            line = self.talk.stall_line(session, "because", self.now)
            self.lines([line] if line is not None else [])
        due = self.talk.deadline()
        assert due is None or due > self.now, "it would be judged again at once, for ever"

    @rule(message=said)
    def something_is_answered(self, message: Any) -> None:
        self.talk.answered_by_us(message, self.now)
        self.talk.away(1.0)
        self.talk.agent_spoke("s", self.now)

    @invariant()
    def the_next_judgement_has_a_time(self) -> None:
        due = self.talk.deadline()
        assert due is None or math.isfinite(due)

    def teardown(self) -> None:
        self.lines(self.talk.died("gone"))
        assert self.talk.deadline() is None


TestOddConversation = OddConversation.TestCase
TestOddConversation.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_what_is_never_answered_is_not_kept_for_ever() -> None:
    talk = Conversation(TurnLimits())
    talk.editor_said(PROMPT, 0.0)
    for number in range(2500):
        talk.editor_said({"id": f"e{number}", "method": "x"}, 0.0)
        talk.agent_said({"id": number, "method": "fs/read_text_file", "params": {"sessionId": "s"}}, 0.0)
        update = {"sessionUpdate": "tool_call", "toolCallId": f"t{number}"}
        talk.agent_said({"method": "session/update", "params": {"sessionId": "s", "update": update}}, 0.0)
    turn = talk._turns("s")[0]
    assert max(len(talk._open), len(talk._asked), len(turn.tools), len(turn.asked)) <= 2001


def test_two_questions_of_the_same_id_do_not_stop_the_clock_for_ever() -> None:
    talk = Conversation(TurnLimits(idle=10.0))
    for number, session in ((1, "a"), (2, "b")):
        talk.editor_said({"id": number, "method": "session/prompt", "params": {"sessionId": session}}, 0.0)
        talk.agent_said({"id": 5, "method": "fs/read_text_file", "params": {"sessionId": session}}, 0.0)
    talk.editor_said({"id": 5, "result": {}}, 0.0)
    assert len(talk.judge(11.0).agent) == 2


@pytest.mark.parametrize("id", [1, 0, -1, 1.5, "1", "", "x" * 1000, 2**70], ids=repr)
def test_an_id_that_can_be_answered_is_told_apart(id: Any) -> None:
    others = {key_of(other) for other in (2, "2", 2.5)}
    assert key_of(id) not in {None, *others}


@pytest.mark.parametrize("id", [None, True, [], {}, float("nan"), float("inf"), "x" * 1001, 10**400], ids=repr)
def test_what_is_no_id_is_none(id: Any) -> None:
    assert key_of(id) is None


@given(message=mutated(MESSAGES))
@FEW
def test_terminals_can_be_offered_in_any_message(message: dict[str, Any]) -> None:
    line = with_terminals(message)
    assert line is None or json.loads(line)["params"]["clientCapabilities"]["terminal"] is True


# --- with real processes ----------------------------------------------------------------------------------------


def test_updates_with_odd_values_end_no_conversation(editors: Open) -> None:
    editor = editors("--stall", "off")
    odd = b""
    for name in ("sessionUpdate", "toolCallId", "status", "title"):
        for value in ({"x": 1}, [], 10**300, None, True, [["x"]]):
            update = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "pending"} | {name: value}
            params = {"sessionId": editor.session, "update": update}
            odd += json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode() + b"\n"
    odd += b'{"jsonrpc":"2.0","id":{"x":[1]},"method":"fs/read_text_file","params":{"sessionId":[]}}\n'
    odd += b'{"jsonrpc":"2.0","id":[],"result":{}}\n{"jsonrpc":"2.0","id":1e999,"result":1}\n'
    odd += b'{"jsonrpc":"2.0","method":{"a":1},"params":"\xff\xfe"}\n' + b"[" * 300 + b"\n"
    before = len(editor.transcript)
    assert editor.turn("raw:" + base64.b64encode(odd).decode()) == "end_turn"
    lines = b"".join(said.line for said in editor.transcript[before:] if said.who == "agent")
    assert lines.startswith(odd)
    editor.write(odd)
    assert editor.turn("say:and on") == "end_turn"
    assert editor.close() == 0


def test_a_defect_of_the_clocks_costs_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last guard: what our own code stumbles over has gone through, and is said on stderr a few times."""
    complaints: list[str] = []
    monkeypatch.setattr(proxy, "complain", complaints.append)
    ours = proxy.Proxy.__new__(proxy.Proxy)
    ours._complaints = 0

    def stumble() -> None:
        raise RecursionError("deep\nin it")

    assert [ours._surely(stumble) for _ in range(20)] == [False] * 20
    assert ours._surely(lambda: None)
    assert len(complaints) == 5
    assert "RecursionError: deep in it" in complaints[0]


def test_an_endless_line_costs_no_memory(editors: Open) -> None:
    """Megabytes without an end of line, both ways, through a proxy that holds no more than sixteen of them."""
    editor = editors("--stall", "off")
    editor.write(b"z" * 40_000_000 + b"\n")
    turn = editor.prompt("begin:40000000")
    editor.send({"method": "_finish"})
    assert editor.answer(turn)["result"]["stopReason"] == "end_turn"
    status = Path(f"/proc/{editor.process.pid}/status").read_text(encoding="ascii")
    peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))
    assert peak < 150 << 10, "KiB"
    assert editor.close() == 0
