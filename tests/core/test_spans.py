"""Events → spans: the same log makes the same spans, however it is cut; each has a parent that there is, and an end."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_logs import START, logs, stamp
from unhang.core import events as ev
from unhang.core.spans import FAILED, UNSET, JobSpans, Span

TRACE = {"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00f067aa0ba902b7", "parentSpanId": "ab" * 8}
RECORD = {"argv": ["/usr/bin/make", "test", "TOKEN=hunter2hunter2"], "cwd": "/srv", "trace": TRACE | {"flags": 1}}
AGENT = RECORD | {"agent": {"name": "codex", "task": "fix the secret"}, "labels": {"name": "fixer", "team": "web"}}


def spans_of(record: dict[str, Any], log: list[dict[str, Any]]) -> list[Span]:
    fold = JobSpans("j1", record)
    return [span for event in log for span in fold.apply(event)]


def numbered(*events: dict[str, Any]) -> list[dict[str, Any]]:
    """One second apart."""
    return [{"seq": seq, "ts": stamp(START + seq)} | event for seq, event in enumerate(events, 1)]


STARTED = ev.started(7, "make", {})
DONE = ev.exited("completed", "exited with 0", {"status": "success", "exitCode": 0})


@given(logs(), st.sampled_from([RECORD, AGENT, {}]))
def test_a_log_makes_one_tree_that_ends_with_the_job(log: list[dict[str, Any]], record: dict[str, Any]) -> None:
    spans = spans_of(record, log)
    assert spans == spans_of(record, log), "the ids follow from the log"
    ids = [span.id for span in spans]
    assert len(set(ids)) == len(ids)
    assert [span.seq for span in spans] == sorted(span.seq for span in spans)
    assert len({span.trace for span in spans}) <= 1
    for span in spans:
        assert 0 < span.start <= span.end
        assert len(span.id) == 16
        assert len(span.trace) == 32
        json.dumps(span.attributes).encode()
    if log[-1]["type"] != ev.EXITED:
        return
    root = spans[-1]
    assert (root.id, root.seq) == (JobSpans("j1", record).trace.span, log[-1]["seq"])
    for span in spans[:-1]:
        assert span.parent in ids
        parent = spans[ids.index(span.parent or "")]
        assert parent.start <= span.start <= span.end <= parent.end


@given(logs(), st.integers(0, 30))
def test_what_was_sent_up_to_a_cursor_and_what_comes_after_it_are_all_without_a_double(
    log: list[dict[str, Any]], cut: int
) -> None:
    """As the exporter restarts: from the beginning of the log, without what ended up to the cursor."""
    before = spans_of(AGENT, log[:cut])
    cursor = log[:cut][-1]["seq"] if cut else 0
    after = [span for span in spans_of(AGENT, log) if span.seq > cursor]
    assert before + after == spans_of(AGENT, log)


ODD = st.one_of(st.none(), st.integers(), st.text(max_size=20), st.just("\ud800"), st.lists(st.integers(), max_size=2))
FIELDS = ("phase", "attempt", "toolUseId", "tool", "method", "toolStatus", "exitCode", "model", "inputTokens", "error")


@given(
    st.lists(st.tuples(st.sampled_from([*ev.TYPES, "odd"]), st.dictionaries(st.sampled_from(FIELDS), ODD)), max_size=8),
    st.dictionaries(st.sampled_from(["argv", "labels", "agent", "trace", "cwd", "shell", "shown"]), ODD),
)
def test_odd_records_and_events_make_spans_that_can_be_sent(
    events: list[tuple[str, dict[str, Any]]], record: dict[str, Any]
) -> None:
    lines = [
        ev.to_line({"seq": seq, "ts": ""} | fields | {"type": kind}) for seq, (kind, fields) in enumerate(events, 1)
    ]
    log = [event for line in lines if (event := ev.from_line(line)) is not None]
    for span in spans_of(record, log):
        for key, value in span.attributes.items():
            assert isinstance(value, str | int | list), (key, value)
            json.dumps(value, ensure_ascii=False).encode()
        span.name.encode()


def test_a_job_is_a_span_with_the_names_of_the_conventions_and_without_its_secrets() -> None:
    failed = ev.exited("failed", "exited with 2", {"status": "error", "exitCode": 2})
    (span,) = spans_of(RECORD | {"labels": {"team": "web", "notify": "phone"}}, numbered(STARTED, failed))
    assert (span.trace, span.id, span.parent) == (TRACE["traceId"], TRACE["spanId"], TRACE["parentSpanId"])
    assert (span.name, span.kind, span.status, span.message) == ("make", "client", FAILED, "exited with 2")
    assert (span.start, span.end) == (round(START + 1) * 10**9, round(START + 2) * 10**9)
    assert span.attributes == {
        "process.executable.name": "make",
        "process.executable.path": "/usr/bin/make",
        "process.command_args": ["/usr/bin/make", "test", "TOKEN=***"],
        "process.working_directory": "/srv",
        "process.pid": 7,
        "process.exit.code": 2,
        "error.type": "2",
        "cicd.pipeline.task.name": "make",
        "cicd.pipeline.task.run.id": "j1",
        "cicd.pipeline.task.run.result": "failure",
        "unhang.job.id": "j1",
        "unhang.status": "error",
        "unhang.label.team": "web",
    }


def test_every_end_has_a_result_of_the_conventions() -> None:
    for status, fields, result, error, failed in (
        ("success", {"exitCode": 0}, "success", None, UNSET),
        ("timeout", {"error": {"code": "EIDLE", "kind": "inactivity"}}, "timeout", "EIDLE", FAILED),
        ("cancelled", {"error": {"code": "ECANCELED", "kind": "cancelled"}}, "cancellation", "ECANCELED", UNSET),
        ("error", {"error": {"code": "ELOST", "kind": "lost"}}, "error", "ELOST", FAILED),
        ("error", {"signal": "SIGSEGV"}, "failure", "SIGSEGV", FAILED),
    ):
        log = numbered(STARTED, ev.exited("failed", "", {"status": status} | fields))
        (span,) = spans_of(RECORD, log)
        assert span.attributes["cicd.pipeline.task.run.result"] == result
        assert (span.attributes.get("error.type"), span.status) == (error, failed)


def test_attempts_are_spans_where_there_are_several() -> None:
    timed_out = ev.exited("timed_out", "", {"status": "timeout", "error": {"code": "EIDLE", "kind": "inactivity"}})
    first, second, job = spans_of(RECORD, numbered(STARTED, STARTED | {"attempt": 2}, timed_out))
    assert [(span.name, span.parent, span.seq) for span in (first, second)] == [
        ("attempt 1", job.id, 2),
        ("attempt 2", job.id, 3),
    ]
    assert job.attributes["unhang.attempts"] == 2


def test_turns_and_tool_calls_of_every_protocol_are_spans_below_the_job() -> None:
    said = [
        ev.agent("starting", "The agent is being started.") | {"threadId": "t1", "model": "gpt"},
        ev.agent("running", "Running: ls") | {"toolUseId": "a", "tool": "Bash", "method": "assistant"},
        ev.agent("verifying", "Running: make test")
        | {"itemId": "b", "itemType": "commandExecution", "method": "item/started"},
        ev.agent("verifying", "Output: …") | {"itemId": "b", "method": "item/commandExecution/outputDelta"},
        ev.agent("editing", "Editing x") | {"toolCallId": "c", "toolKind": "edit", "toolStatus": "in_progress"},
        ev.agent("running", "Failed: ls") | {"toolUseId": "a", "tool": "Bash", "method": "user", "failed": True},
        ev.agent("verifying", "Exited with 1") | {"itemId": "b", "method": "item/completed", "exitCode": 1},
        ev.agent("metering", "tokens", alive=False) | {"inputTokens": 10, "outputTokens": 2},
        ev.agent("metering", "tokens", alive=False) | {"inputTokens": 5, "outputTokens": 1},
        ev.agent("editing", "Edited x") | {"toolCallId": "c", "toolStatus": "completed"},
        ev.agent("completed", "The turn is complete: I know the secret"),
        ev.agent("idle", "", alive=False),
    ]
    *calls, turn, job = spans_of(AGENT, numbered(STARTED, *said, DONE))
    assert [(span.name, span.status) for span in calls] == [
        ("execute_tool Bash", FAILED),
        ("execute_tool commandExecution", FAILED),
        ("execute_tool edit", UNSET),
    ]
    assert [span.attributes["gen_ai.tool.call.id"] for span in calls] == ["a", "b", "c"]
    assert {span.parent for span in calls} == {turn.id}
    assert (turn.name, turn.parent, turn.status) == ("invoke_agent codex", job.id, UNSET)
    assert turn.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.name": "codex",
        "gen_ai.conversation.id": "t1",
        "gen_ai.request.model": "gpt",
        "gen_ai.usage.input_tokens": 15,
        "gen_ai.usage.output_tokens": 3,
        "unhang.job.id": "j1",
    }
    assert (job.name, job.attributes["cicd.pipeline.task.name"]) == ("codex", "fixer")
    assert "secret" not in repr([turn, job, calls])


def test_notices_are_events_of_the_job_and_bounded() -> None:
    stuck = ev.watchdog("stuck", "no sign of life", diagnosis={"cause": "network", "reason": "waits for a peer"})
    signal = ev.signal("terminate", "SIGTERM", [7], "idle", "SIGTERM to 1 process")
    asks = ev.agent("needs_approval", "Waits for approval.", alive=False)
    log = numbered(STARTED, ev.output("stdout", 1, 0), stuck, asks, signal, DONE)
    (job,) = spans_of(AGENT, log)
    assert [(event.name, event.at) for event in job.events] == [
        (f"unhang.{name}", round(START + seq) * 10**9)
        for seq, name in ((3, "stuck"), (4, "needs_approval"), (5, "signal"))
    ]
    assert job.events[0].attributes == {
        "message": "no sign of life",
        "unhang.cause": "network",
        "unhang.diagnosis": "waits for a peer",
    }
    (job,) = spans_of(RECORD, numbered(STARTED, *[stuck] * 300, DONE))
    assert (len(job.events), job.attributes["unhang.events.dropped"]) == (128, 172)
