"""What a Python author meets: exceptions, lines, callbacks, representations, help."""

from __future__ import annotations

import asyncio
import json
import pickle
import pydoc
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import unhang
from tests.support.jobs import Jobs
from unhang import errors
from unhang.core.limit_request import LimitRequest
from unhang.jobs.request import prepare
from unhang.testing.liveness import PATIENCE

# in a program of its own: the pools of a process leave helpers behind that end with it
POOLS = """
import concurrent.futures, multiprocessing, sys
import unhang

def fail():
    unhang.run(["sh", "-c", "echo to-stdout; echo the-reason >&2; exit 3"]).check()

def time_out():
    unhang.run(["sleep", "600"], idle="off", hard=0.2).check()

def be_cancelled():
    unhang.start(["sleep", "600"], idle="off", hard="off").cancel(force=True).check()

def tell(answer):
    try:
        answer(100)
    except unhang.JobError as error:
        print(type(error).__name__, error.result.status, error.result.command, flush=True)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    try:
        if sys.argv[1] == "futures":
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                for function in (time_out, be_cancelled):
                    tell(pool.submit(function).result)
                pool.submit(fail).result(100)
        else:
            with context.Pool(1) as pool:
                for function in (time_out, be_cancelled):
                    tell(pool.apply_async(function).get)
                pool.apply_async(fail).get(100)
    except unhang.Failed as error:
        print(type(error).__name__, error.result.exit_code, error.result.stderr.strip())
        print(error)
"""


@pytest.mark.parametrize("pool", ["futures", "multiprocessing"])
def test_an_exception_comes_back_from_a_pool_of_processes(jobs: Jobs, tmp_path: Path, pool: str) -> None:
    program = tmp_path / "pools.py"
    program.write_text(POOLS)
    done = jobs.finish(jobs.popen_program(sys.executable, str(program), pool), timeout=300)
    timed_out, cancelled, first, text, *_ = done.out.decode().splitlines()
    assert (timed_out, cancelled) == ("TimedOut timeout sleep 600", "Cancelled cancelled sleep 600")
    assert first == "Failed 3 the-reason"
    assert text.startswith("sh -c ")
    assert "exited with 3" in text
    assert done.out.endswith(b"the-reason\n")


@pytest.mark.parametrize(
    "error",
    [
        errors.SpawnError("x", 127),
        errors.AmbiguousJob("x", ["a", "b"]),
        errors.NoSuchJob("x"),
        errors.UsageError("x"),
        errors.StateError("x"),
        errors.ControlError("x"),
    ],
)
def test_every_error_survives_pickling_whole(error: unhang.UnhangError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)


def test_lines_come_as_they_are_printed_and_the_last_one_needs_no_end() -> None:
    job = unhang.start(["sh", "-c", "echo one; read x; echo two; printf end"], stdin="pipe", idle="off", hard=100)
    lines = job.lines(timeout=PATIENCE)
    assert next(lines) == "one"
    job.send("go on\n")
    assert list(lines) == ["two", "end"]
    assert list(job.lines("stderr")) == []
    with pytest.raises(unhang.UsageError):
        list(job.lines("stdin"))


def test_an_event_loop_reads_the_lines_of_a_job() -> None:
    async def play() -> list[str]:
        job = await unhang.astart(["sh", "-c", "echo one; echo two; echo three"])
        return [line async for line in job.alines(timeout=PATIENCE)]

    assert asyncio.run(play()) == ["one", "two", "three"]


def test_lines_end_when_the_time_is_over() -> None:
    job = unhang.start(["sh", "-c", "echo one; exec sleep 100"], idle="off", hard=200)
    assert list(job.lines(timeout=5)) == ["one"]
    job.cancel(force=True)


def test_one_number_can_stand_for_the_whole_time(jobs: Jobs, tmp_path: Path) -> None:
    """It is the hard limit; the idle limit, too, follows from it under a policy that stands by itself."""
    alone = tmp_path / "alone.json"
    alone.write_text('{"version": "1.0", "default_category": "a", "categories": {"a": {"exec_timeout_sec": 900}}}')
    whole = {"value": 120_000, "source": "argument:timeout_sec"}
    typed = jobs.said("run", "--json", "--timeout-sec", "120", "--", "true")
    for limits in (typed["limits"], unhang.run(["true"], timeout_sec=120).limits):
        assert (limits["idleMs"]["source"], limits["hardMs"]) == ("policy:quick", whole)
    limits = unhang.run(["true"], timeout_sec=120, policy=str(alone)).limits
    assert (limits["idleMs"], limits["hardMs"]) == (whole | {"value": 30_000}, whole)


def test_a_command_that_never_ends_gets_a_stall_notice_in_the_foreground(jobs: Jobs) -> None:
    """Whoever waits for it would wait for ever, and hear nothing."""
    line = ("--", "tail", "-f", "/dev/null")
    jobs.env["UNHANG_STALL"] = "0.3"
    waited = jobs.popen("run", *line)
    assert waited.stderr is not None
    assert waited.stderr.readline().startswith(b"unhang: tail: ")
    waited.terminate()
    waited.wait()
    (job,) = jobs.said("ps", "--all")
    assert jobs.handle(job["jobId"]).view().limits["stallMs"] == {"value": 300, "source": "environment"}
    del jobs.env["UNHANG_STALL"]
    for words, value, source in (
        ((), 60_000, "default"),
        (("--stall", "off"), None, "argument"),
        (("--category", "server"), None, "policy:server"),
    ):
        ended = jobs.call("run", "--hard", "0.2", "--json", *words, *line)
        assert json.loads(ended.out)["limits"]["stallMs"] == {"value": value, "source": source}
    left = jobs.begin("--hard", "600", *line)
    assert left.cancel(force=True).limits["stallMs"] == {"value": None, "source": "policy:server"}


@pytest.mark.parametrize("command", [["vim"], ["nano", "file"], ["/usr/bin/vim", "file"], ["sh", "-c", "cd /; vim x"]])
def test_an_editor_that_no_person_can_reach_has_an_end(command: list[str]) -> None:
    for prepared in (prepare(command, stdin="null", foreground=False), prepare(command, foreground=True)):
        assert (prepared.spec.limits.idle, prepared.spec.limits.hard) == (300, 1200)
    assert prepare(command, stdin="null", asked=LimitRequest(hard=3600.0)).spec.limits.hard == 3600


@pytest.mark.parametrize(
    "options", [{"pty": True}, {"attended": True}, {"stdin": "pipe"}, {"asked": LimitRequest(category="session")}]
)
def test_an_editor_that_a_person_can_reach_has_none(options: dict[str, Any]) -> None:
    assert prepare(["vim"], **options).spec.limits.hard is None
    assert prepare(["erl", "-noshell"], stdin="null", foreground=False).spec.limits.hard is None, "it needs no person"


def test_the_environment_sets_the_stall_time_where_nobody_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"version": "1.0", "extends": "built-in", "stall_sec": 500}')
    monkeypatch.setenv("UNHANG_STALL", "0.3")
    job = unhang.start(["sleep", "600"], idle="off", hard="off", policy=str(file))
    stuck = next(event for event in job.follow() if event["phase"] == "stuck")
    assert (stuck["type"], stuck["stallMs"] < 500_000) == ("watchdog", True)
    assert job.cancel(force=True).limits["stallMs"] == {"value": 300, "source": "environment"}
    assert unhang.run(["true"], stall="5s").limits["stallMs"] == {"value": 5000, "source": "argument"}
    server = unhang.start(["tail", "-f", "/dev/null"], hard=600)
    assert server.cancel(force=True).limits["stallMs"] == {"value": None, "source": "policy:server"}, "off stays off"
    monkeypatch.setenv("UNHANG_STALL", "off")
    assert unhang.run(["true"]).limits["stallMs"] == {"value": None, "source": "environment"}
    monkeypatch.setenv("UNHANG_STALL", "soon")
    with pytest.raises(unhang.UsageError, match="UNHANG_STALL: not a duration"):
        unhang.run(["true"])


def test_run_tells_its_callbacks_everything_that_happened() -> None:
    seen: dict[str, list[dict[str, Any]]] = {"event": [], "warning": [], "timeout": []}
    result = unhang.run(
        ["sleep", "100"],
        idle="off",
        hard=4,
        warn=3,
        grace=1,
        on_event=seen["event"].append,
        on_warning=seen["warning"].append,
        on_timeout=seen["timeout"].append,
    )
    assert result.status == "timeout"
    recorded = unhang.job(result.job_id).events()
    assert [event["seq"] for event in seen["event"]] == [event["seq"] for event in recorded]
    assert [event["phase"] for event in seen["warning"]] == ["warning"]
    assert [event["phase"] for event in seen["timeout"]] == ["timeout"]
    assert {event["jobId"] for event in seen["event"]} == {result.job_id}


def test_a_callback_can_give_more_time_and_answer() -> None:
    def extend(event: dict[str, Any]) -> None:
        job = unhang.job(event["jobId"])
        job.extend(hard="60s")
        job.send("go on\n")

    result = unhang.run(["sh", "-c", "read x"], stdin="pipe", idle="off", hard=60, warn=59, on_warning=extend)
    assert result.ok
    assert any(event.get("asked") for event in unhang.job(result.job_id).events())


def test_what_a_callback_raises_ends_the_job_and_goes_on() -> None:
    jobs: list[str] = []

    def refuse(event: dict[str, Any]) -> None:
        jobs.append(event["jobId"])
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        unhang.run(["sleep", "100"], idle="off", on_event=refuse)
    assert unhang.job(jobs[0]).result().status == "cancelled"

    async def play() -> None:
        await unhang.arun(["sleep", "100"], idle="off", on_event=refuse)

    with pytest.raises(ValueError, match="no"):
        asyncio.run(play())
    assert unhang.job(jobs[-1]).result().status == "cancelled"


def wait_until_all_is_told(job: unhang.Job) -> None:
    for thread in threading.enumerate():
        if thread.name == f"unhang-events-{job.id}":
            thread.join(PATIENCE)


def test_start_tells_its_callbacks_from_a_thread() -> None:
    seen: list[dict[str, Any]] = []
    job = unhang.start(["true"], on_event=seen.append)
    job.wait()
    last = job.events()[-1]["seq"]
    wait_until_all_is_told(job)
    assert [event["seq"] for event in seen] == list(range(1, last + 1))


def test_start_tells_of_the_warning_and_of_the_timeout() -> None:
    seen: dict[str, list[dict[str, Any]]] = {"warning": [], "timeout": []}
    # however short a limit is, and however late the keeper wakes: it ends nothing without its warning
    job = unhang.start(
        ["sleep", "600"],
        idle="off",
        hard=0.4,
        warn=0.2,
        on_warning=seen["warning"].append,
        on_timeout=seen["timeout"].append,
    )
    assert job.wait().status == "timeout"
    wait_until_all_is_told(job)
    told = {name: [(event["jobId"], event["phase"]) for event in events] for name, events in seen.items()}
    assert told == {"warning": [(job.id, "warning")], "timeout": [(job.id, "timeout")]}


def test_handles_of_one_job_are_equal() -> None:
    job = unhang.start(["true"])
    other = unhang.start(["true"])
    again = unhang.job(job.id)
    assert (again == job, again is job, other == job, {job, again, other} == {job, other}) == (True, False, False, True)
    other.wait()


def test_representations_are_short_and_say_what_matters() -> None:
    result = unhang.run(["sh", "-c", "yes | head -c 100000; exit 3"])
    shown = repr(result)
    assert len(shown) < 250
    assert result.job_id in shown
    assert "exited with 3" in shown
    assert len(repr(unhang.job(result.job_id))) < 30


def test_the_help_begins_with_what_people_use() -> None:
    text = pydoc.plain(pydoc.render_doc(unhang))
    first = text.index("PACKAGE CONTENTS")
    for name in ("unhang.run(", "unhang.arun(", "unhang.start(", "job.lines(", "job.wait(", "check()"):
        assert 0 <= text.index(name) < first


@pytest.mark.parametrize("command", [None, 7, ["ls", 3], ["ls", None]])
def test_what_is_no_list_of_words_is_refused_before_anything_is_started(command: Any) -> None:
    before = unhang.list_jobs(all=True)
    for function in (unhang.run, unhang.start):
        with pytest.raises(unhang.UsageError):
            function(command)
    assert unhang.list_jobs(all=True) == before


def test_words_may_be_paths_and_bytes() -> None:
    result = unhang.run([b"printf", "%s %s", b"caf\xe9", Path("/tmp")])
    assert unhang.job(result.job_id).kept("stdout") == b"caf\xe9 /tmp"


def test_an_option_that_is_nearly_right_is_named() -> None:
    options: dict[str, Any] = {"idel": "3s"}
    with pytest.raises(TypeError, match="did you mean idle"):
        unhang.run(["true"], **options)
