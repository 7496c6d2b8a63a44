"""The pure part of the proxy: lines that add up, and the clocks of a conversation over virtual time."""

from __future__ import annotations

import argparse
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from unhang.acp.proxy.messages import Notice, chunk_of, names_terminals, with_terminals
from unhang.acp.proxy.turn_clocks import Conversation, DueLines, TurnLimits
from unhang.core.lines import Lines
from unhang.faces.cli.commands import acp_proxy

CLOCKS = TurnLimits(stall=10.0, idle=60.0, tool=200.0, hard=1000.0, start=30.0, grace=5.0)
chunks = st.lists(st.one_of(st.binary(max_size=30), st.text("ab\n", max_size=20).map(str.encode)), max_size=20)


@settings(deadline=None)
@given(chunks=chunks, most=st.integers(0, 20))
def test_what_comes_out_is_what_came_in_whatever_the_chunks(chunks: list[bytes], most: int) -> None:
    lines = Lines(most)
    out = b""
    for chunk in chunks:
        rest, whole = lines.feed(chunk)
        out += rest + b"".join(whole)
        assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in whole[:-1])
        assert b"".join(chunks).startswith(out)
    assert out + lines.flush() == b"".join(chunks)


@settings(deadline=None)
@given(data=st.text("ab\n", max_size=60).map(str.encode), cuts=st.lists(st.integers(0, 60), max_size=10))
def test_lines_are_whole_wherever_they_are_cut(data: bytes, cuts: list[int]) -> None:
    marks = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    lines = Lines()
    whole: list[bytes] = []
    for begin, end in itertools.pairwise(marks):
        rest, found = lines.feed(data[begin:end])
        assert rest == b""
        whole += found
    assert whole == [line + b"\n" for line in data.split(b"\n")[:-1]]


def test_an_over_long_line_goes_through_unread_and_the_next_is_a_line_again() -> None:
    lines = Lines(4)
    assert lines.feed(b"ab\n12345") == (b"", [b"ab\n", b"12345"])
    assert lines.streaming
    assert lines.feed(b"678") == (b"678", [])
    assert lines.feed(b"9\ncd\nef") == (b"9\n", [b"cd\n"]), "the rest of it, and then a line"
    assert lines.flush() == b"ef"


def prompt(id: Any = 1, session: str = "s") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": {"sessionId": session, "prompt": []}}


def update(kind: str = "agent_message_chunk", session: str = "s", **more: Any) -> dict[str, Any]:
    params = {"sessionId": session, "update": {"sessionUpdate": kind} | more}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def said(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def begun(clocks: TurnLimits = CLOCKS, notices: Notice = Notice.THOUGHT) -> Conversation:
    talk = Conversation(clocks, notices)
    talk.editor_said(prompt(), 0.0)
    return talk


def test_a_quiet_turn_is_told_then_cancelled_then_given_up() -> None:
    talk = begun()
    assert talk.deadline() == 10.0
    assert talk.judge(9.9) == DueLines([], [], [])
    assert talk.judge(10.0).stalled == ["s"]
    assert talk.judge(11.0) == DueLines([], [], []), "once per stall"
    line = talk.stall_line("s", "node [7] waits for 1.2.3.4:443", 11.0)
    assert line is not None
    text = json.loads(line)["params"]["update"]["content"]["text"]
    assert all(part in text for part in ("11s", "node [7] waits for 1.2.3.4:443", "49s"))
    assert talk.deadline() == 60.0
    told = talk.judge(60.0)
    assert said(told.agent) == [{"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}]
    assert "limit 1m" in told.editor[0].decode()
    assert talk.deadline() == 65.0
    told = talk.judge(65.0)
    assert said(told.editor) == [{"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "cancelled"}}]
    assert talk.deadline() is None
    late = {"id": 1, "result": {"stopReason": "end_turn"}}
    assert talk.is_late(late)
    assert not talk.is_late(late), "one answer is dropped, not two"


def test_an_answer_within_the_grace_is_the_agents_own() -> None:
    talk = begun()
    talk.judge(60.0)
    answer = {"id": 1, "result": {"stopReason": "cancelled"}}
    assert not talk.is_late(answer)
    talk.agent_said(answer, 62.0)
    assert talk.deadline() is None
    assert talk.judge(100.0) == DueLines([], [], [])


def test_a_turn_given_up_does_not_touch_the_next_one() -> None:
    talk = begun()
    talk.judge(60.0)
    talk.judge(65.0)
    talk.editor_said(prompt(2), 70.0)
    assert talk.judge(75.0) == DueLines([], [], []), "no late cancel"
    assert talk.is_late({"id": 1, "error": {"code": 1}})
    answer = {"id": 2, "result": {"stopReason": "end_turn"}}
    assert not talk.is_late(answer)


def test_an_id_that_is_used_again_is_waited_for_again() -> None:
    talk = begun()
    talk.judge(60.0)
    talk.judge(65.0)
    talk.editor_said(prompt(1), 70.0)
    assert not talk.is_late({"id": 1, "result": {}})


def test_one_and_the_text_one_are_two_ids() -> None:
    talk = begun()
    talk.editor_said(prompt("1", "t"), 0.0)
    talk.agent_said({"id": "1", "result": {}}, 5.0)
    assert talk.judge(10.0).stalled == ["s"]


def test_while_a_person_is_asked_the_clocks_stand() -> None:
    talk = begun()
    ask = {"id": 7, "method": "session/request_permission", "params": {"sessionId": "s"}}
    talk.agent_said(ask, 5.0)
    assert talk.deadline() is None
    assert talk.judge(5000.0) == DueLines([], [], [])
    talk.editor_said({"id": 7, "result": {"outcome": {"outcome": "selected"}}}, 5000.0)
    assert talk.deadline() == 5010.0
    talk.agent_said(update(), 5900.0)
    assert talk.judge(5900.0).agent == []
    due = talk.deadline()
    assert due is not None
    assert "hard" in talk._dues(talk._open["1"])
    assert talk._dues(talk._open["1"])["hard"] == 5995.0, "a person's time is not the agent's"


def test_a_tool_in_flight_has_its_own_limit() -> None:
    talk = begun()
    talk.agent_said(update("tool_call", toolCallId="t", title="npm test", status="pending"), 1.0)
    assert talk.deadline() == 51.0, "a tool may be quiet for longer"
    assert talk.judge(51.0).stalled == ["s"]
    line = talk.stall_line("s", "", 51.0)
    assert line is not None
    assert "npm test" in line.decode()
    assert "50s" in line.decode()
    assert talk.judge(61.0) == DueLines([], [], [])
    told = talk.judge(201.0)
    assert "npm test" in told.editor[0].decode()
    assert "limit 3m 20s" in told.editor[0].decode()
    assert len(told.agent) == 1
    talk = begun()
    talk.agent_said(update("tool_call", toolCallId="t", title="npm test"), 1.0)
    talk.agent_said(update("tool_call_update", toolCallId="t", status="completed"), 2.0)
    assert talk.deadline() == 12.0


def test_a_command_in_the_editors_terminal_is_a_tool_too() -> None:
    talk = begun()
    talk.agent_said({"id": 3, "method": "terminal/wait_for_exit", "params": {"sessionId": "s"}}, 1.0)
    assert talk.deadline() == 51.0
    talk.answered_by_us(3, 2.0)
    assert talk.deadline() == 12.0


@pytest.mark.parametrize("kind", ["usage_update", "available_commands_update", "current_mode_update"])
def test_what_says_nothing_new_is_no_progress(kind: str) -> None:
    talk = begun()
    talk.agent_said(update(kind), 9.0)
    assert talk.deadline() == 10.0
    talk.agent_said(update("something_of_tomorrow"), 9.0)
    assert talk.deadline() == 19.0


def test_the_hard_limit_is_for_a_turn_that_never_stops_talking() -> None:
    talk = begun()
    for second in range(1000):
        talk.agent_said(update(), float(second))
    told = talk.judge(1000.0)
    assert "limit 16m 40s" in told.editor[0].decode()


def test_an_editors_own_cancel_is_answered_for_an_agent_that_ignores_it() -> None:
    talk = begun()
    talk.editor_said({"method": "session/cancel", "params": {"sessionId": "s"}}, 3.0)
    assert talk.deadline() == 8.0
    told = talk.judge(8.0)
    assert said(told.editor)[0]["result"] == {"stopReason": "cancelled"}
    assert told.agent == []
    talk = begun()
    talk.editor_said({"method": "$/cancel_request", "params": {"requestId": 1}}, 3.0)
    assert said(talk.judge(8.0).editor)[0]["error"]["code"] == -32800


def test_an_agent_that_never_answers_initialize_is_an_error_for_the_editor() -> None:
    talk = Conversation(CLOCKS)
    talk.editor_said({"id": 0, "method": "initialize", "params": {}}, 0.0)
    assert talk.deadline() == 30.0
    told = talk.judge(30.0)
    message = said(told.editor)[0]["error"]["message"]
    assert "initialize" in message
    assert "30s" in message
    assert told.agent == []
    assert talk.is_late({"id": 0, "result": {}})


def test_a_later_protocol_is_only_forwarded() -> None:
    talk = Conversation(CLOCKS)
    talk.editor_said({"id": 0, "method": "initialize", "params": {"protocolVersion": 2}}, 0.0)
    talk.agent_said({"id": 0, "result": {"protocolVersion": 2}}, 1.0)
    talk.editor_said(prompt(), 2.0)
    assert talk.deadline() is None
    assert talk.judge(1e6) == DueLines([], [], [])


def test_a_dead_agent_leaves_no_request_open() -> None:
    talk = begun()
    talk.editor_said({"id": "x", "method": "session/list"}, 1.0)
    answers = said(talk.died("exited with 3 after 2s"))
    assert [answer["id"] for answer in answers] == [1, "x"]
    assert all("exited with 3 after 2s" in answer["error"]["message"] for answer in answers)
    assert talk.died("again") == []


def test_notices_can_be_off_and_the_turn_ends_all_the_same() -> None:
    talk = begun(notices=Notice.OFF)
    assert talk.judge(10.0) == DueLines([], [], ["s"]), "other readers of the job are told"
    assert (talk.stall_line("s", "", 10.0), talk.stall("s", 10.0)) == (None, (10.0, ""))
    told = talk.judge(60.0)
    assert (len(told.editor), len(told.agent)) == (1, 1), "why it is cancelled is said all the same"


def test_empty_words_and_an_old_plan_are_no_progress() -> None:
    talk = begun()
    tool = update("tool_call_update", toolCallId="t", status="in_progress", content=[{"type": "content"}])
    plan = update("plan", entries=[{"content": "a", "status": "pending"}])
    talk.agent_said(tool, 1.0)
    talk.agent_said(update("tool_call_update", toolCallId="t", status="completed"), 2.0)
    talk.agent_said(plan, 3.0)
    for at in range(4, 60):
        talk.agent_said(update(content={"type": "text", "text": ""}), at)
        talk.agent_said(plan, at)
    assert talk.judge(63.0).agent != [], "idle counts from the first plan"


def test_the_same_word_about_a_tool_again_is_no_progress() -> None:
    talk = begun()
    for at in range(1, 99):
        talk.agent_said(update("tool_call_update", toolCallId="t", status="in_progress"), at)
    assert talk._open["1"].moved == 1.0
    talk.agent_said(update("tool_call_update", toolCallId="t", status="in_progress", title="2 of 3"), 100.0)
    assert talk._open["1"].moved == 100.0


def ticks(at: float, **more: Any) -> dict[str, Any]:
    """What Qwen Code says every ten seconds while its command is silent."""
    progress = {"type": "shell_progress", "elapsedMs": 1000 * at, "timeoutMs": 120000} | more
    meta = {"toolName": "run_shell_command", "shellProgress": progress}
    return update("tool_call_update", toolCallId="t", status="in_progress", _meta=meta)


def test_a_clock_beside_a_tool_is_no_progress_and_what_it_prints_is() -> None:
    talk = begun()
    for at in range(10, 110, 10):
        talk.agent_said(ticks(at), at)
    assert talk._open["1"].moved == 10.0
    talk.agent_said(ticks(110, totalBytes=20), 110.0)
    assert talk._open["1"].moved == 110.0
    output = {"terminal_output": {"data": "more"}}
    talk.agent_said(update("tool_call_update", toolCallId="t", status="in_progress", _meta=output), 120.0)
    assert talk._open["1"].moved == 120.0


def test_a_turn_that_only_repeats_itself_is_cancelled() -> None:
    talk = begun(CLOCKS.replace(hard=None, repeat=300.0))
    for at in range(1, 301):
        talk.agent_said(update(content={"type": "text", "text": f"round {at % 3}"}), at)
        told = talk.judge(at)
        assert told.agent == [], at
    told = talk.judge(303.0)
    assert b"repeated itself" in b"".join(told.editor)
    assert said(told.agent)[0]["method"] == "session/cancel"


def test_without_options_a_turn_that_only_repeats_itself_ends_after_an_hour() -> None:
    """And no other turn: one that says new things may take as long as it likes."""
    options = dict.fromkeys(("stall", "idle", "tool", "hard", "repeat", "start", "grace"))
    clocks = acp_proxy.turn_limits(argparse.Namespace(**options))
    assert clocks == TurnLimits()
    repeats, talks = begun(clocks), begun(clocks)
    ended: list[int] = []
    for at in range(30, 4 * 3600, 30):
        if not ended:
            repeats.agent_said(update(content={"type": "text", "text": f"round {at % 4}"}), at)
        talks.agent_said(update(content={"type": "text", "text": f"word {at}"}), at)
        ended += [at] if repeats.judge(at).agent else []
        assert talks.judge(at).agent == []
    assert len(ended) == 1
    assert 3600 <= ended[0] <= 3700


WORDS: list[tuple[str, list[dict[str, Any]], float, list[str]]] = [
    ("idle", [], 60.0, ["for 1m", "limit 1m"]),
    ("tool", [update("tool_call", toolCallId="t", title="npm test")], 200.0, ["npm test", "3m 20s", "limit 3m 20s"]),
    ("repeat", [update("agent_thought_chunk")] * 45, 45.0, ["repeated itself", "44s", "limit 44s"]),
]


@pytest.mark.parametrize(
    ("limit", "heard", "at", "words"), WORDS, ids=lambda value: value if str(value).isalpha() else ""
)
def test_the_message_in_the_turn_says_which_limit_ended_it_and_during_what(
    limit: str, heard: list[dict[str, Any]], at: float, words: list[str]
) -> None:
    """The person, and the model in its next turn, read nothing else."""
    talk = begun(CLOCKS.replace(hard=None, repeat=44.0 if limit == "repeat" else None))
    for second, message in enumerate(heard):
        talk.agent_said(message, float(second))
    told = talk.judge(at)
    (shown,) = [message["params"]["update"] for message in said(told.editor)]
    assert shown["sessionUpdate"] == "agent_message_chunk", "no thought, which an editor may fold away"
    assert [word for word in words if word not in shown["content"]["text"]] == []
    assert shown["content"]["text"].startswith("\n\n[unhang] "), "it is told from the agent's own words"
    assert len(told.agent) == 1
    (after,) = [line for line in (talk.how_it_went("s"),) if all(word in line for word in words)]
    assert "was cancelled" in after, "every other reader of the job reads this"


def test_what_became_of_a_turn_that_stalled_is_told() -> None:
    talk = begun(CLOCKS)
    assert talk.how_it_went("s") == "The turn goes on."
    talk.judge(10_000.0)
    assert "cancelled" in talk.how_it_went("s"), "however much it says after that"
    talk = begun(CLOCKS)
    talk.agent_said({"id": 1, "result": {"stopReason": "end_turn"}}, 1.0)
    assert talk.how_it_went("s") == "The turn is over."


def test_a_turn_that_says_new_things_is_not() -> None:
    talk = begun(CLOCKS.replace(hard=None, repeat=300.0))
    for at in range(1, 2000):
        talk.agent_spoke("s", float(at), [hash(f"word {at}")])
        assert talk.judge(float(at)).agent == []


@pytest.mark.parametrize("option", ["yes", "no"])
def test_a_call_is_in_flight_from_the_permission_on(option: str) -> None:
    """Gemini announces a tool by nothing else."""
    talk = begun()
    options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
    params = {"sessionId": "s", "toolCall": {"toolCallId": "t", "title": "make"}, "options": options}
    talk.agent_said({"id": 7, "method": "session/request_permission", "params": params}, 1.0)
    talk.editor_said({"id": 7, "result": {"outcome": {"outcome": "selected", "optionId": option}}}, 5.0)
    assert (talk.busy_for("s", 50.0) is not None) == (option == "yes")
    assert talk._dues(talk._open["1"])["idle"] == 5.0 + ((CLOCKS.tool if option == "yes" else CLOCKS.idle) or 0.0)
    talk.agent_said(update("tool_call_update", toolCallId="t", status="completed"), 50.0)
    assert talk.busy_for("s", 50.0) is None


@pytest.mark.parametrize("by", ["no one", "the editor", "unhang"])
def test_a_turn_that_no_one_has_cancelled_and_that_is_answered_so_is_noticed(by: str) -> None:
    talk = begun()
    if by == "the editor":
        talk.editor_said({"method": "session/cancel", "params": {"sessionId": "s"}}, 1.0)
    if by == "unhang":
        assert talk.judge(CLOCKS.idle or 0.0).agent
    answer = {"id": 1, "result": {"stopReason": "cancelled"}}
    assert talk.is_cancelled_unasked(answer) is (by == "no one")
    for other in ({"id": 1, "result": {"stopReason": "end_turn"}}, answer | {"id": 2}, answer | {"method": "x"}, None):
        assert not talk.is_cancelled_unasked(other)


def test_what_runs_since_before_a_prompt_was_not_started_by_its_tool() -> None:
    """Nor is what was started long before the tool; an agent may be a little late to tell of it."""
    talk = begun()
    talk.agent_said(update("tool_call", toolCallId="t", title="make"), 0.5)
    assert talk.busy_for("s", 10.0) == 10.0
    talk.agent_said(update("tool_call_update", toolCallId="t", status="completed"), 11.0)
    talk.agent_said(update("tool_call", toolCallId="u", title="make"), 30.0)
    assert talk.busy_for("s", 40.0) == 12.0


def test_time_in_which_the_proxy_did_not_run_does_not_count_as_silence() -> None:
    talk = begun()
    talk.away(100.0)
    assert talk.judge(105.0) == DueLines([], [], [])
    assert talk.deadline() == 110.0


@pytest.mark.parametrize("nonsense", [None, 3, "x", [], [prompt()], {"method": 7}, {"id": 1}, {"params": 3}])
def test_nonsense_is_not_read(nonsense: Any) -> None:
    talk = Conversation(CLOCKS)
    talk.editor_said(nonsense, 0.0)
    talk.agent_said(nonsense, 0.0)
    talk.is_late(nonsense)
    assert talk.judge(1e9).agent == []


def test_terminals_are_offered_in_an_otherwise_equal_initialize() -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1, "x": "ü"}}
    line = with_terminals(hello)
    assert line is not None
    assert json.loads(line) == hello | {"params": hello["params"] | {"clientCapabilities": {"terminal": True}}}  # type: ignore[operator]
    assert with_terminals(json.loads(line)) is None


messages = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["session/update", "session/request_permission", "x"]),
        "params": st.fixed_dictionaries(
            {
                "sessionId": st.sampled_from(["s", 's"', "ü", '"sessionId":"t"']),
                "update": st.fixed_dictionaries(
                    {
                        "sessionUpdate": st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "tool_call"]),
                        "content": st.text('"method:session/updateUp,_chk\\\\{}', max_size=60)
                        | st.just('"method":"session/update","sessionUpdate":"agent_message_chunk","sessionId":"t"'),
                    }
                ),
            }
        ),
    }
)


@settings(deadline=None)
@given(message=messages)
def test_the_quick_look_at_a_line_says_what_reading_it_would_say(message: dict[str, Any]) -> None:
    line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    found = chunk_of(line)
    is_chunk = message["method"] == "session/update" and message["params"]["update"]["sessionUpdate"] != "tool_call"
    if found is not None:
        assert is_chunk
        assert found[0] == message["params"]["sessionId"]
        assert line.startswith(found[1])
        other = json.loads(found[1] + b"}}}")
        assert other["params"]["sessionId"] == message["params"]["sessionId"], "all that matters is in the beginning"
    elif is_chunk:
        usual = next(iter(message)) == "method" and next(iter(message["params"])) == "sessionId"
        assert '"' in message["params"]["sessionId"] or not usual, "then it is read whole"


def test_a_request_for_a_terminal_is_noticed_however_it_is_written() -> None:
    for line in (b'{"method":"terminal/create"}', b'{"method": "terminal\\/create"}'):
        assert names_terminals([b"{}", line])
        assert json.loads(line)["method"] == "terminal/create"
    assert not names_terminals([b'{"method":"session/update"}'])


class Clockwork(RuleBasedStateMachine):
    """Whatever is said and however late we look: no cancel before a limit, one answer a request, always an end."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.talk = Conversation(CLOCKS)
        self.next_id = 0
        self.waiting: dict[int, str] = {}  # as the editor sees it: unanswered prompts, by session
        self.hidden: set[int] = set()  # what the agent has yet to answer
        self.asking: set[int] = set()
        self.last: dict[str, float] = {}
        self.since: dict[int, float] = {}

    @rule(session=st.sampled_from("ab"))
    def prompt(self, session: str) -> None:
        self.next_id += 1
        self.talk.editor_said(prompt(self.next_id, session), self.now)
        self.waiting[self.next_id] = session
        self.hidden.add(self.next_id)
        self.last[session] = self.now
        self.since[self.next_id] = self.now

    @rule(session=st.sampled_from("ab"))
    def news(self, session: str) -> None:
        self.talk.agent_said(update(session=session), self.now)
        self.last[session] = self.now

    @precondition(lambda self: self.hidden)
    @rule(data=st.data())
    def agent_answers(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.hidden)))
        self.hidden.discard(id)
        message = {"id": id, "result": {"stopReason": "end_turn"}}
        late = self.talk.is_late(message)
        assert late == (id not in self.waiting), "answered exactly once"
        if not late:
            self.talk.agent_said(message, self.now)
            del self.waiting[id]

    @rule(session=st.sampled_from("ab"))
    def agent_asks(self, session: str) -> None:
        self.next_id += 1
        self.asking.add(self.next_id)
        ask = {"id": self.next_id, "method": "session/request_permission", "params": {"sessionId": session}}
        self.talk.agent_said(ask, self.now)
        self.last[session] = self.now

    @precondition(lambda self: self.asking)
    @rule(data=st.data())
    def editor_answers(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.asking)))
        self.asking.discard(id)
        self.talk.editor_said({"id": id, "result": {}}, self.now)

    @rule(seconds=st.floats(0.0, 100.0))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        told = self.talk.judge(self.now)
        for message in said(told.agent):
            session = message["params"]["sessionId"]
            assert session in self.waiting.values(), "a cancel for a turn that is open"
            longest = max(self.now - self.since[id] for id, whose in self.waiting.items() if whose == session)
            assert self.now - self.last[session] >= 60.0 - 1e-6 or longest >= 1000.0 - 1e-6
        for message in said(told.editor):
            if "id" in message:
                assert message["id"] in self.waiting, "an answer that somebody waits for"
                del self.waiting[message["id"]]

    @invariant()
    def everything_ends(self) -> None:
        due = self.talk.deadline()
        if self.waiting and not self.asking:
            assert due is not None
            assert due <= self.now + 60.0


TestClockwork = Clockwork.TestCase
TestClockwork.settings = settings(max_examples=60, deadline=None)
