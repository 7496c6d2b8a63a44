"""The exporter and a real receiver of OTLP: every span arrives once, whatever is killed, refused or removed."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.support.jobs import STILL, Jobs, check_log, kill_with_guard, over, wait_until
from tests.support.places import SUPPORT
from tests.support.telemetry.receiver import OtlpReceiver
from unhang.core import events as ev

UNHANG = f"{sys.executable} -m unhang"
CLIENT = 3


def once(jobs: Jobs, receiver: OtlpReceiver, *words: str, code: int = 0) -> bytes:
    done = jobs.call("otel", "--endpoint", receiver.url, "--once", *words)
    assert (done.code, done.out) == (code, b""), done.err
    return done.err


def ids(receiver: OtlpReceiver) -> list[str]:
    return sorted(span.id for span in receiver.spans)


def test_jobs_arrive_once_with_the_names_of_the_conventions(jobs: Jobs, receiver: OtlpReceiver) -> None:
    jobs.env["TRACEPARENT"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    jobs.call("run", "--label", "team=web", "--", "sh", "-c", "exit 3")
    ended = jobs.call("run", "--json", "--idle", "1", "--stall", "0.3", "--grace", "5", "--", "sleep", "100").result
    once(jobs, receiver, "--all")
    (failed,), (slept,) = receiver.named("sh"), receiver.named("sleep")
    assert (failed.trace, failed.parent) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    assert (failed.kind, failed.error, slept.error) == (CLIENT, True, True)
    assert failed.start <= failed.end < slept.end
    assert failed.attributes["process.command_args"] == ["sh", "-c", "exit 3"]
    assert (failed.attributes["process.exit.code"], failed.attributes["error.type"]) == (3, "3")
    assert failed.attributes["unhang.label.team"] == "web"
    assert failed.attributes["cicd.pipeline.task.run.result"] == "failure"
    assert slept.attributes["cicd.pipeline.task.run.result"] == "timeout"
    assert (failed.resource["service.name"], "host.name" in failed.resource) == ("unhang", True)
    happened = check_log(jobs.handle(ended["jobId"]).place)
    notices = [event for event in happened if event["type"] in (ev.WATCHDOG, ev.SIGNAL)]
    assert [about["message"] for _, about in slept.events] == [event["message"] for event in notices]
    assert {"unhang.timeout", "unhang.signal"} <= {name for name, _ in slept.events}
    once(jobs, receiver)
    assert len(receiver.spans) == 2


def test_jobs_in_jobs_are_one_trace_as_it_was_received(jobs: Jobs, receiver: OtlpReceiver) -> None:
    outer = jobs.call(
        "run", "--name", "outer", "--shell", f"{UNHANG} run --name inner -- {UNHANG} start --wait -- true"
    )
    assert outer.code == 0, outer.err
    once(jobs, receiver, "--all")
    found = {span.attributes["cicd.pipeline.task.name"]: span for span in receiver.spans}
    assert len(receiver.spans) == 3
    assert len({span.trace for span in receiver.spans}) == 1
    assert found["outer"].parent == ""
    assert (found["inner"].parent, found["true"].parent) == (found["outer"].id, found["inner"].id)


def test_an_agent_its_turn_its_tools_and_their_jobs_are_one_trace(jobs: Jobs, receiver: OtlpReceiver) -> None:
    """A stand-in for an agent that speaks ACP runs a tool, which is a job."""
    line = shlex.join([sys.executable, str(SUPPORT / "acp_agents" / "standin.py"), "nested"])
    done = jobs.call("agent", "run", "stand-in", "do it", "--command", line, "--wait", "--hard", "100", "--idle", "90")
    assert done.code == 0, done.err
    once(jobs, receiver, "--all")
    (job,), (turn,) = receiver.named("stand-in"), receiver.named("invoke_agent stand-in")
    (tool,), (inner,) = receiver.named("execute_tool execute"), receiver.named("true")
    assert len({span.trace for span in receiver.spans}) == 1
    assert (turn.parent, tool.parent, inner.parent) == (job.id, turn.id, job.id)
    assert turn.start <= tool.start <= inner.start <= inner.end <= tool.end <= turn.end <= job.end
    assert turn.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert (tool.attributes["gen_ai.tool.call.id"], tool.attributes["gen_ai.tool.name"]) == ("t1", "execute")
    assert "do it" not in repr(receiver.spans)


def test_it_begins_with_the_jobs_that_end_from_now_on(jobs: Jobs, receiver: OtlpReceiver) -> None:
    jobs.call("run", "--", "true")
    running = jobs.begin(*STILL, "--", "sleep", "1000")
    once(jobs, receiver)
    assert receiver.spans == []
    running.cancel()
    jobs.call("run", "--", "echo")
    once(jobs, receiver, "--all")
    assert {span.name for span in receiver.spans} == {"sleep", "echo"}


def test_a_caller_who_does_not_want_to_be_recorded_is_not(jobs: Jobs, receiver: OtlpReceiver) -> None:
    jobs.env["TRACEPARENT"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
    jobs.call("run", "--", "true")
    once(jobs, receiver, "--all")
    assert receiver.spans == []


def test_a_running_exporter_sends_as_jobs_end_and_needs_no_other_process(jobs: Jobs, receiver: OtlpReceiver) -> None:
    exporter = jobs.popen("otel", "--endpoint", receiver.url)
    wait_until((jobs.home / "otel" / "state.json").exists, "it runs")
    assert "exports" in jobs.refused("otel", "--endpoint", receiver.url)
    jobs.call("run", "--", "true")
    wait_until(lambda: receiver.named("true"), "the first has come")
    job = jobs.begin(*STILL, "--", "sleep", "1000")
    kill_with_guard(job.place)
    jobs.call("ps")
    wait_until(lambda: receiver.named("sleep"), "the lost one has come")
    assert receiver.named("sleep")[0].attributes["error.type"] == "ELOST"
    exporter.send_signal(signal.SIGTERM)
    assert exporter.wait(30) == 0


def has_more(receiver: OtlpReceiver, than: int) -> bool:
    return len(set(ids(receiver))) > than


def test_an_exporter_that_is_killed_again_and_again_leaves_no_gap(jobs: Jobs, receiver: OtlpReceiver) -> None:
    jobs.call("otel", "--endpoint", receiver.url, "--once")

    for _ in range(2):
        before = len(set(ids(receiver)))
        exporter = jobs.popen("otel", "--endpoint", receiver.url)
        for _ in range(2):
            jobs.call("run", "--", "true")
        wait_until(partial(has_more, receiver, before), "something has come")
        exporter.kill()
        exporter.wait()
    once(jobs, receiver)
    assert len(set(ids(receiver))) == 4
    # what was sent and not yet noted when it was killed comes a second time, as the same span
    doubles = {span.id: span for span in receiver.spans}
    assert all(doubles[span.id] == span for span in receiver.spans)


@pytest.mark.parametrize("code", [400, 307])
def test_what_is_refused_or_sent_elsewhere_is_kept_and_sent_later(
    jobs: Jobs, receiver: OtlpReceiver, code: int
) -> None:
    for _ in range(3):
        jobs.call("run", "--", "true")
    receiver.answers = [code]
    assert f"it answered {code}".encode() in once(jobs, receiver, "--all", code=125)
    assert (receiver.spans, receiver.refused) == ([], 1)
    once(jobs, receiver)
    assert len(receiver.spans) == len(set(ids(receiver))) == 3


def make_copies(jobs: Jobs, count: int) -> None:
    """So many ended jobs with a trace each, and the one they are copies of."""
    original = over(jobs.begin("--", "true"))
    for number in range(count):
        jobs.copy(original.place, original.place.replace(id=f"c{number:09d}"))
        path = Path(jobs.home) / "jobs" / f"c{number:09d}" / "job.json"
        path.write_text(path.read_text().replace('"trace"', '"traced"'))


def test_more_than_one_request_holds_arrives_in_several(jobs: Jobs, receiver: OtlpReceiver) -> None:
    make_copies(jobs, 204)
    once(jobs, receiver, "--all")
    assert len(receiver.spans) == len(set(ids(receiver))) == 205
    assert len(receiver.headers) == 2


def test_a_kill_repeats_the_one_request_that_was_not_noted_with_the_same_spans(
    jobs: Jobs, receiver: OtlpReceiver
) -> None:
    make_copies(jobs, 19)
    for path in (jobs.home / "jobs").glob("*/events.ndjson"):
        first, *rest = map(json.loads, path.read_text().splitlines())
        notices = [first | {"type": ev.WATCHDOG, "phase": "slow"} for _ in range(60)]
        happened = [event | {"seq": seq} for seq, event in enumerate([first, *notices, *rest], first["seq"])]
        path.write_text("".join(json.dumps(event) + "\n" for event in happened))
    sent: list[set[str]] = []

    def taken(number: int) -> None:
        sent.append({span.id for span in receiver.spans} - set().union(*sent))
        if number == 2:
            exporter.kill()

    receiver.taken = taken
    exporter = jobs.popen("otel", "--endpoint", receiver.url, "--once", "--all")
    assert exporter.wait(60) == -signal.SIGKILL
    receiver.taken = lambda _: None
    once(jobs, receiver)
    first = {span.id: span for span in reversed(receiver.spans)}
    assert len(first) == 20, "no gap"
    assert len(receiver.headers) >= 7, "three jobs fit into one request"
    twice = {span for span, count in Counter(ids(receiver)).items() if count > 1}
    assert twice == sent[1], "the request that was taken when it was killed, and no other"
    assert all(first[span.id] == span for span in receiver.spans)


def test_headers_come_from_files_and_the_endpoint_from_the_environment(
    jobs: Jobs, receiver: OtlpReceiver, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("Bearer s3cret\n")
    jobs.call("run", "--", "true")
    jobs.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url.removesuffix("/v1/traces") + "/"
    done = jobs.call("otel", "--once", "--all", "--header-file", f"Authorization={tmp_path}/key")
    assert done.code == 0, done.err
    assert receiver.headers[0]["authorization"] == "Bearer s3cret"
    del jobs.env["OTEL_EXPORTER_OTLP_ENDPOINT"]
    assert "--endpoint" in jobs.refused("otel", "--once", code=2)
    assert "--endpoint" in jobs.refused("otel", "--once", "--endpoint", "localhost:4318", code=2)
    assert "key2" in jobs.refused("otel", "--endpoint", receiver.url, "--header-file", f"A={tmp_path}/key2", code=2)


def test_jobs_that_are_removed_before_they_are_sent_do_not_hold_up_the_others(
    jobs: Jobs, receiver: OtlpReceiver
) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "1000")
    once(jobs, receiver)
    job.cancel()
    over(job)
    subprocess.run(["rm", "-r", job.place.path], check=True)
    jobs.call("run", "--", "true")
    once(jobs, receiver)
    assert [span.name for span in receiver.spans] == ["true"]


def test_an_exporter_that_is_stopped_is_named_by_a_second_one_and_by_doctor(jobs: Jobs, receiver: OtlpReceiver) -> None:
    def doctor() -> tuple[bool, str]:
        found = json.loads(jobs.call("doctor", "--json").out)["checks"]
        return next((each["ok"], each["message"]) for each in found if each["check"] == "traces")

    assert doctor()[0]
    jobs.call("run", "--", "true")
    first = jobs.popen("otel", "--endpoint", receiver.url, "--all")
    wait_until(lambda: receiver.spans, "the first one exports")
    second = ("otel", "--endpoint", receiver.url, "--once")
    assert jobs.call(*second).code == 125
    assert doctor()[0]
    first.send_signal(signal.SIGSTOP)
    wait_until(lambda: not doctor()[0], "it is stopped")
    assert f"pid {first.pid})" in doctor()[1]
    refused = jobs.call(*second)
    assert (refused.code, f"kill -CONT {first.pid}".encode() in refused.err) == (125, True)
    first.send_signal(signal.SIGCONT)
    first.terminate()
    assert jobs.finish(first).code == 0
    assert doctor()[0]
    assert jobs.call(*second).code == 0
