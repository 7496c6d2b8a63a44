"""Whatever stands in an agent's message: no adapter raises, loops or grows by it, and what is recorded is sound."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.support.acp_agents.odd import FEW, ODD, mutated, recorded
from unhang.agents.acp import report as acp_report
from unhang.agents.acp.protocol.requests import POLICIES
from unhang.agents.acp.protocol.requests import request_of as acp_request
from unhang.agents.acp.protocol.turn import AcpSession, TurnBudgets
from unhang.agents.base.update import AgentUpdate, StallReason
from unhang.agents.claude import job as claude_job
from unhang.agents.claude import report as claude_report
from unhang.agents.claude.protocol.stream import ClaudeStream
from unhang.agents.codex import job as codex_job
from unhang.agents.codex import report as codex_report
from unhang.agents.codex.protocol.exec_events import CodexExec
from unhang.agents.codex.protocol.requests import request_of as codex_request
from unhang.agents.codex.protocol.thread import CodexThread
from unhang.core import events as ev
from unhang.errors import UsageError
from unhang.keeper.agent_channel import event_of, said_of

Message = dict[str, Any]
CODEX = recorded("agents/codex")
EXEC = recorded("agents/codex", prefix="exec")
CLAUDE = recorded("agents/claude")
ACP = recorded("agents/acp", "acp")


def spoken(messages: tuple[Message, ...]) -> st.SearchStrategy[list[tuple[Message, float]]]:
    """Messages, and how long after the one before each comes."""
    return st.lists(st.tuples(mutated(messages), st.sampled_from([0.0, 0.01, 3.0, 500.0])), min_size=1, max_size=12)


def sound(found: list[AgentUpdate]) -> list[dict[str, Any]]:
    """As it goes to the keeper and into the log: JSON for every reader, and never longer than its line."""
    events: list[dict[str, Any]] = []
    for said in found:
        assert said.window is None or (math.isfinite(said.window) and said.window >= 0)
        line = json.dumps(said.to_json(), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        assert len(line) < 40_000
        told = said_of(line)
        assert told is not None
        event = event_of(told)
        assert (event is None) == (not said.phase)
        if event is not None:
            written = ev.to_line({"seq": 1, "ts": ""} | event)
            assert len(written) <= ev.MAX_LINE
            read = json.loads(written, parse_constant=pytest.fail)
            assert read["type"] == ev.AGENT, "what an agent says is cut, not lost"
            events.append(read)
    return events


def plain(why: StallReason) -> None:
    assert len(json.dumps(why.diagnosis(), allow_nan=False)) < 20_000


def heard(
    hear: Callable[[Message, float], list[AgentUpdate]], messages: list[tuple[Message, float]]
) -> tuple[list[Message], float]:
    now, events = 0.0, []
    for message, later in messages:
        now += later
        events += sound(hear(message, now))
    return events, now


@given(messages=spoken(CODEX))
@FEW
def test_an_odd_message_costs_codex_at_most_itself(messages: list[tuple[Message, float]]) -> None:
    codex = CodexThread()
    codex.adopt("thread", 0.0)
    events, now = heard(codex.hear, messages)
    plain(codex.stall_reason(now))
    assert json.dumps(codex_report.report(events))


@given(messages=spoken(EXEC))
@FEW
def test_an_odd_message_costs_codex_exec_at_most_itself(messages: list[tuple[Message, float]]) -> None:
    adapter = CodexExec()
    events, now = heard(adapter.hear, messages)
    plain(adapter.stall_reason(now))
    assert json.dumps(codex_report.report(events))


@given(messages=spoken(CLAUDE))
@FEW
def test_an_odd_message_costs_claude_at_most_itself(messages: list[tuple[Message, float]]) -> None:
    claude = ClaudeStream()
    claude.begin(0.0)
    events, now = heard(claude.hear, messages)
    plain(claude.stall_reason(now))
    assert claude.tools.ages(now) is not None
    assert json.dumps(claude_report.report(events))


@given(messages=spoken(ACP), version=st.sampled_from([1, 2]))
@FEW
def test_an_odd_message_costs_an_acp_session_at_most_itself(
    messages: list[tuple[Message, float]], version: int
) -> None:
    session = AcpSession(TurnBudgets(startup=5.0, tool=None, idle=60.0))
    session.version = version
    session.adopt("s", 0.0)
    session.prompt(0.0)
    events, now = heard(session.hear, messages)
    for message, _ in messages:
        result = message.get("result")
        events += sound(session.permitted(message.get("params"), True, now))
        events += sound(session.answered(result if isinstance(result, dict) else message, now))
        events += sound(session.failed(message, now))
    plain(session.stall_reason(now))
    assert session.fresh() is not None
    assert json.dumps(session.budget(now).to_json())
    assert json.dumps(acp_report.report(events))


@given(message=mutated(CODEX) | mutated(ACP))
@FEW
def test_every_request_has_an_answer_that_can_be_sent(message: Message) -> None:
    acp, codex = acp_request(message), codex_request(message)
    if acp is not None:
        replies = [acp.refusal(), acp.cancelled(), *(acp.decided(policy)[0] for policy in POLICIES)]
        assert all(json.dumps(reply) for reply in replies)
        assert len(acp.text) < 500
    if codex is not None:
        assert all(json.dumps(codex.answer(accept)) for accept in (True, False))
        assert len(codex.text) < 1000


@pytest.mark.parametrize("report", [acp_report.report, claude_report.report, codex_report.report])
def test_a_report_is_made_of_odd_events(report: Callable[[list[Message]], Message]) -> None:
    names = ("phase", "budget", "usage", "toolCallId", "decision", "step", "error", "result", "sessionId", "threadId")
    for value in ODD:
        events = [{"type": "agent", "phase": "stopping"} | dict.fromkeys(names, value), dict.fromkeys(names, value)]
        events += [{"type": "agent", "phase": "metering", "usage": value}]
        events += [{"type": "job/exited", "timeoutReason": reason, "error": value} for reason in ("exec_timeout", "x")]
        assert report(events) is not None


# --- what an agent never ends ---------------------------------------------------------------------------------


def test_calls_that_are_never_ended_are_forgotten() -> None:
    codex, claude, session = CodexThread(), ClaudeStream(), AcpSession()
    codex.adopt("t", 0.0)
    session.adopt("s", 0.0)
    session.prompt(0.0)
    for number in range(800):
        item = {"type": "commandExecution", "id": f"i{number}", "command": "sleep 1"}
        codex.hear({"method": "item/started", "params": {"item": item}}, 1.0)
        codex.hear({"method": "item/plan/delta", "params": {"itemId": f"d{number}", "delta": "x"}}, 1.0)
        codex.hear({"method": "item/started", "params": {"item": item}}, 1.0)
        use = {"type": "tool_use", "id": f"t{number}", "name": "WebFetch", "input": {}}
        claude.hear({"type": "assistant", "message": {"content": [use]}}, 1.0)
        claude.hear({"type": "system", "subtype": "hook_started", "hook_id": f"h{number}"}, 1.0)
        update = {"sessionUpdate": "tool_call", "toolCallId": f"c{number}", "title": "x"}
        session.hear({"method": "session/update", "params": {"sessionId": "s", "update": update}}, 1.0)
        session.permitted({"toolCallId": f"p{number}"}, False, 1.0)
    assert len(codex.tools.names) <= 500
    assert len(codex._writing) <= 100
    assert len(claude.tools._open) <= 500
    assert len(claude._hooks) <= 100
    assert len(session.tools.running) <= 500
    assert len(session.tools._refused) <= 500
    plain(codex.stall_reason(2.0))
    plain(claude.stall_reason(2.0))
    plain(session.stall_reason(2.0))


# --- what becomes a word of a command line ------------------------------------------------------------------------


def test_what_is_suggested_runs_nothing_that_an_agent_wrote() -> None:
    name = "x; touch ran"
    codex, claude = CodexThread(), ClaudeStream()
    codex.adopt(name, 0.0)
    claude.hear({"type": "system", "subtype": "init", "session_id": name}, 0.0)
    error = {"message": "x", "codexErrorInfo": "serverOverloaded"}
    failed = codex.hear({"method": "turn/completed", "params": {"turn": {"status": "failed", "error": error}}}, 1.0)
    ended = claude.hear({"type": "result", "is_error": True, "api_error_status": 529, "result": "overloaded"}, 1.0)
    found = [said.fields.get("suggestions") or [] for said in (*failed, *ended)]
    hints = [
        hint
        for hints in (*found, codex.stall_reason(2.0).suggestions, claude.stall_reason(2.0).suggestions)
        for hint in hints
    ]
    assert len([hint for hint in hints if f"resume '{name}' " in hint]) >= 3
    assert not [hint for hint in hints if name in hint.replace(f"'{name}'", "")]


@pytest.mark.parametrize("name", ["--dangerously-skip-permissions", "", "a\nb", 5, None, ["x"]])
def test_a_name_that_would_be_an_option_is_not_resumed(name: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job: Any = SimpleNamespace(id="j", events=list)
    monkeypatch.setattr(claude_job, "attach", lambda *_: job)
    monkeypatch.setattr(claude_job, "report", lambda _: {"sessionId": name})
    monkeypatch.setattr(codex_job, "report", lambda _: {"threadId": name})
    with pytest.raises(UsageError):
        claude_job.session_of("j")
    with pytest.raises(UsageError):
        codex_job.thread_of(job)
