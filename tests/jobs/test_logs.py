"""`unhang logs` and what it rests on: the order of both streams, times, the last lines, several jobs at once."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import unhang
from tests.support.engine import read_line
from tests.support.jobs import STILL, Jobs, over, wait_until
from unhang.store import output_order

# prints what it is told to, where it is told to: "o text" and "e text"
TALKS = 'while read -r where text; do case $where in o) echo "$text";; e) echo "$text" >&2;; esac; done'


def _talk(jobs: Jobs, *said: str) -> unhang.Job:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "sh", "-c", TALKS)
    _say(job, *said)
    return job


def _say(job: unhang.Job, *said: str) -> None:
    """Each line when the one before it has been read: only then is the order known to anybody."""
    for line in said:
        where, _, text = line.partition(" ")
        stream = {"o": "stdout", "e": "stderr"}[where]
        before = job.printed(stream)
        job.send(f"{line}\n")
        wait_until(lambda: job.printed(stream) >= before + len(text) + 1, "the line is read")  # noqa: B023


def test_both_streams_are_shown_in_the_order_written(jobs: Jobs) -> None:
    job = _talk(jobs, "o 1", "e 2", "e 3", "o 4", "e 5")
    assert jobs.call("logs", job.id).out == b"1\n2\n3\n4\n5\n"
    assert jobs.call("logs", job.id, "--stream", "stderr").out == b"2\n3\n5\n"
    job.send(eof=True)
    assert over(job).wait().ok
    assert jobs.call("logs", job.id).out == b"1\n2\n3\n4\n5\n"
    assert list(job.lines()) == list("12345")


def test_the_tail_is_the_end_of_both_streams_together(jobs: Jobs) -> None:
    job = _talk(jobs, "o 1", "e 2", "o 3", "e 4")
    for count, wanted in ((0, b""), (1, b"4\n"), (3, b"2\n3\n4\n"), (9, b"1\n2\n3\n4\n")):
        assert jobs.call("logs", job.id, "--tail", count).out == wanted
    assert jobs.call("logs", job.id, "--tail", 1, "--grep", "[13]").out == b"3\n"


def test_a_tail_longer_than_what_is_looked_at_first_is_true(jobs: Jobs) -> None:
    job = jobs.begin("--", "sh", "-c", "yes 0123456789012345678901234567890123456789 | head -20000 | cat -n")
    over(job)
    lines = jobs.call("logs", job.id, "--tail", 15000).out.splitlines()
    assert len(lines) == 15000
    assert lines[0].split()[0] == b"5001"
    assert lines[-1].split()[0] == b"20000"


def test_lines_have_their_time_and_can_be_chosen_by_it(jobs: Jobs) -> None:
    job = _talk(jobs, "o early")
    after = wait_until(lambda: [e["ts"] for e in job.events() if e["type"] == "output"], "its event is there")[-1]
    wait_until(lambda: unhang.job("@last").events() and _second_after(after), "the next second")
    _say(job, "e late")
    job.send(eof=True)
    over(job)
    out = jobs.call("logs", job.id, "--timestamps", "--utc").out.decode()
    assert re.fullmatch(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ (early|late)\n){2}", out)
    stamps = [line[:20] for line in out.splitlines()]
    assert stamps == sorted(stamps)
    late = [event["ts"] for event in job.events() if event["type"] == "output"][-1]
    assert jobs.call("logs", job.id, "--since", late).out == b"late\n"
    assert jobs.call("logs", job.id, "--since", "1h").out == b"early\nlate\n"
    assert jobs.call("logs", job.id, "--grep", "^l").out == b"late\n"


def test_the_times_of_lines_are_local_unless_utc_is_asked_for(jobs: Jobs) -> None:
    job = over(jobs.begin("--", "echo", "hello"))
    env = jobs.env | {"TZ": "TEST-5:30"}
    here = jobs.call("logs", job.id, "--timestamps", env=env).out.decode()
    there = jobs.call("logs", job.id, "--timestamps", "--utc", env=env).out.decode()
    utc = datetime.strptime(there, "%Y-%m-%d %H:%M:%SZ hello\n")
    assert here == f"{utc + timedelta(hours=5, minutes=30):%Y-%m-%d %H:%M:%S} hello\n"


def _second_after(ts: str) -> bool:
    from unhang.core.values import moment
    from unhang.procs import clock

    return clock.wall() > (moment(ts) or 0) + 1


def test_several_jobs_are_followed_with_their_names_before_each_line(jobs: Jobs) -> None:
    first = jobs.begin(*STILL, "--name", "web", "--stdin", "pipe", "--", "cat")
    second = jobs.begin(*STILL, "--name", "worker", "--stdin", "pipe", "--", "cat")
    following = jobs.popen("logs", "-f", "web", "worker")
    assert following.stdout is not None
    first.send("one\n")
    assert read_line(following.stdout.fileno()) == b"web    | one\n"
    second.send("two\n")
    assert read_line(following.stdout.fileno()) == b"worker | two\n"
    first.send("end", eof=True)
    assert read_line(following.stdout.fileno()) == b"web    | end\n"
    second.send(eof=True)
    assert jobs.finish(following).code == 0


@pytest.mark.parametrize("words", [("--grep", "("), ("--since", "soon"), ("--tail", "-1")])
def test_what_makes_no_sense_is_refused(jobs: Jobs, words: tuple[str, ...]) -> None:
    job = jobs.begin("--", "true")
    jobs.refused("logs", job.id, *words, code=2)


@settings(max_examples=50)
@given(turns=st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.integers(1, 1000)), max_size=20))
def test_the_order_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[str, int]]
) -> None:
    path = str(tmp_path_factory.mktemp("order") / "order")
    writer, reader = output_order.OrderWriter(path), output_order.OrderReader(path)
    totals = {"stdout": 0, "stderr": 0}
    left: list[tuple[str, int]] = []
    found: list[tuple[str, int]] = []
    for at, (stream, count) in enumerate(turns):
        if at and turns[at - 1][0] != stream:
            left.append((turns[at - 1][0], totals[turns[at - 1][0]]))
        totals[stream] += count
        writer.note(stream, totals[stream], float(at))
        found += [(turn.stream, turn.end) for turn in reader.new()]
    assert found == left


def test_an_odd_order_is_passed_over(jobs: Jobs) -> None:
    job = _talk(jobs, "o 1", "e 2", "o 3")
    job.send(eof=True)
    over(job)
    for odd in (b"", b"\xff" * 100, b"o 99999999999999999999 1\n", b"x 1 1\no -1 1\no 1\n" * 10, b"e 1 1\no 1 1\n"):
        Path(job.place.order).write_bytes(odd)
        assert sorted(jobs.call("logs", job.id).out.replace(b"\n", b"")) == [*b"123"]
