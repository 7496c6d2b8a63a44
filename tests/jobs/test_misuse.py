"""Each mistake of a caller is answered in one line and an exit code."""

from __future__ import annotations

import pytest

from tests.support.jobs import STILL, Jobs, actor, check_log
from unhang.core.spec import INPUT_LIMIT
from unhang.errors import ControlError
from unhang.store import layout
from unhang.testing.liveness import RollCall


def test_cancel_of_an_ended_job_says_so_and_exits_with_zero(jobs: Jobs) -> None:
    job = jobs.begin("--", "sh", "-c", "exit 3")
    job.wait()
    for _ in range(2):
        done = jobs.call("cancel", job.id)
        assert (done.code, done.out) == (0, b"")
        [line] = done.err.decode().splitlines()
        assert job.id in line
        assert line.endswith(f": {check_log(job.place)[-1]['message']}")
    assert jobs.said("cancel", job.id)["exitCode"] == 3
    assert job.cancel().exit_code == 3


@pytest.mark.parametrize(
    "words",
    [
        *(("status",), ("result",), ("events",), ("events", "--follow"), ("logs",), ("logs", "-f"), ("wait",)),
        *(("cancel",), ("send", "x"), ("extend", "--hard", "1m"), ("wait", "--any"), ("diagnose",)),
    ],
)
def test_an_unknown_job_is_one_line_and_exit_code_125(jobs: Jobs, words: tuple[str, ...]) -> None:
    command, *rest = words
    for name in ("zzzzzzzzzz", "zz", "@last"):
        given = (command, name, *rest) if command == "send" else (command, *rest, name)
        line = jobs.refused(*given)
        assert ("no job" if name == "@last" else name) in line
    assert not (jobs.home / "jobs").exists()


def test_a_unique_prefix_names_a_job_and_an_ambiguous_one_lists_the_candidates(jobs: Jobs) -> None:
    one = jobs.begin("--", "true")
    one.wait()
    same = [one.id[:4] + rest for rest in ("zzzzz1", "zzzzz2")]
    for job_id in same:
        place = layout.JobDir(str(jobs.home), job_id)
        jobs.copy(one.place, place)
    assert jobs.said("status", one.id)["jobId"] == one.id
    unique = next(one.id[:n] for n in range(5, 11) if not any(other.startswith(one.id[:n]) for other in same))
    assert jobs.said("status", unique)["jobId"] == one.id
    line = jobs.refused("status", one.id[:4])
    assert all(candidate in line for candidate in [one.id, *same])
    assert "3 jobs" in line


def test_a_prefix_of_very_many_jobs_lists_only_some_of_them(jobs: Jobs) -> None:
    one = jobs.begin("--", "true")
    one.wait()
    for number in range(30):
        jobs.copy(one.place, layout.JobDir(str(jobs.home), f"qqqq{number:06}"))
    line = jobs.refused("status", "qqqq")  # longer than a letter: the first one's own id is random
    assert "30 jobs" in line
    assert line.count("qqqq0000") == 10
    assert line.endswith("…")


def test_last_is_the_job_that_was_started_last_though_another_is_busy(jobs: Jobs, roll: RollCall) -> None:
    first = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    second = jobs.begin("--", "true")
    first.send("print busy\n")
    roll.wait_for("print busy")
    first.extend(hard=1)
    assert jobs.said("status", "@last")["jobId"] == second.id


def test_an_ended_job_takes_neither_time_nor_text(jobs: Jobs) -> None:
    job = jobs.begin("--stdin", "pipe", "--", "true")
    job.wait()
    before = check_log(job.place)
    for words in (("extend", job.id, "--hard", "1m"), ("send", job.id, "hello"), ("send", job.id, "--eof")):
        line = jobs.refused(*words)
        assert job.id in line
        assert "ended" in line
    assert check_log(job.place) == before


def test_send_to_a_job_without_a_pipe_names_the_option_for_one(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    assert "--stdin pipe" in jobs.refused("send", job.id, "hello")
    assert job.status()["status"] == "running"


def test_more_input_than_a_job_takes_at_once_is_refused_by_its_size(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    with pytest.raises(ControlError, match=str(INPUT_LIMIT + 1)):
        job.send(b"x" * (INPUT_LIMIT + 1))
    job.send(b"x" * INPUT_LIMIT)


def test_a_job_that_is_ending_takes_no_more_time(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--grace", "20", "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    job.cancel(wait=False)
    next(event for event in job.watch() if event["type"] == "signal")
    assert "ending" in jobs.refused("extend", job.id, "--hard", "1m")
    job.cancel(force=True)
    assert roll.is_empty()


_WRONG = [
    ("events", "JOB", "--after-seq", "-1"),
    ("events", "JOB", "--after-seq", "x"),
    ("events", "JOB", "--limit", "-3"),
    ("events", "JOB", "--since", "yesterday"),
    ("events", "JOB", "--envelope"),
    ("events", "JOB", "--json", "--envelope", "--follow"),
    ("events",),
    ("wait", "JOB", "--timeout", "soon"),
    ("wait",),
    ("extend", "JOB"),
    ("extend", "JOB", "--hard", "-5"),
    ("extend", "JOB", "--idle", "1x"),
    ("logs", "JOB", "--stream", "stdin"),
    ("logs", "JOB", "--tail", "-1"),
    ("gc", "--age", "old"),
    ("gc", "--count", "-1"),
    ("gc", "--bytes", "many"),
    ("ps", "--label", "nonsense"),
    ("start",),
    ("start", "--label", "nonsense", "--", "true"),
    ("start", "--stdin", "sideways", "--", "true"),
    ("start", "--idle", "never ever", "--", "true"),
    ("cancel",),
    ("frobnicate",),
]


def test_wrong_usage_is_one_line_and_exit_code_2(jobs: Jobs) -> None:
    job = jobs.begin("--", "true")
    job.wait()
    for words in _WRONG:
        jobs.refused(*(job.id if word == "JOB" else word for word in words), code=2)
    assert len(jobs.jobs()) == 1


def test_where_the_records_have_no_place_it_is_said_how_to_name_another(jobs: Jobs) -> None:
    del jobs.env["UNHANG_HOME"]
    jobs.env.pop("XDG_STATE_HOME", None)
    for home in ("/proc", "/dev/null"):
        jobs.env["HOME"] = home
        assert "UNHANG_HOME" in jobs.refused("run", "--", "true")
