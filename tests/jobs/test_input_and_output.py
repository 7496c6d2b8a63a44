"""Talking to a background job: its input, its terminal, and what it prints, while it runs and afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import unhang
from tests.support.engine import read_line
from tests.support.jobs import STILL, Jobs, actor, check_log, wait_until
from unhang.testing.liveness import RollCall


def test_text_sent_to_a_pipe_arrives_in_order_and_end_of_file_ends_it(jobs: Jobs) -> None:
    job = jobs.begin("--stdin", "pipe", "--", "cat")
    assert jobs.call("send", job.id, "one").code == 0
    assert jobs.call("send", job.id, "-n", "two").code == 0
    assert jobs.call("send", job.id, "-", stdin=_pipe_with(b"\x00three\xff\n")).code == 0
    assert jobs.call("send", job.id, "--eof").code == 0
    assert job.wait().ok
    assert job.output().data == b"one\ntwo\x00three\xff\n"


def _pipe_with(data: bytes) -> int:
    read_end, write_end = os.pipe()
    os.write(write_end, data)
    os.close(write_end)
    return read_end


def test_input_that_a_job_does_not_read_is_refused_and_its_keeper_goes_on(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    refused = None
    for _ in range(20):
        try:
            job.send(b"x" * (200 << 10))
        except unhang.ControlError as error:
            refused = str(error)
            break
    assert refused is not None
    assert "does not read" in refused
    assert job.ping()["ok"] is True


def test_a_terminal_takes_text_and_a_size(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--pty", "--", *actor("screen"))
    wait_until(lambda: b"ttys 111 session own size 24x80" in job.output().data, "it is there")
    job.resize(40, 100)
    wait_until(lambda: b"size 40x100" in job.output().data, "the program has heard of its new size")
    job.send("words\n")
    wait_until(lambda: b"typed words" in job.output().data, "the program has heard what was typed")
    job.send("\x03")
    wait_until(lambda: b"interrupted" in job.output().data, "Ctrl-C is an interrupt there")
    job.send(eof=True)
    assert job.wait().stdout.endswith("end of input\r\n")


def test_a_prompt_on_a_background_terminal_can_be_answered(jobs: Jobs) -> None:
    job = jobs.begin(
        "--pty", "--hard", "60", "--", "sh", "-c", 'printf "Name: "; read name; echo "hello $name"; stty size'
    )
    seen = next(event for event in job.watch(timeout=30) if event["phase"] in ("needs_input", "completed"))
    assert seen["phase"] == "needs_input"
    assert "Name:" in seen["prompt"]
    assert jobs.said("status", job.id)["needsInput"]["prompt"] == seen["prompt"]
    assert jobs.call("send", job.id, "Ann").code == 0
    result = job.wait()
    assert result.ok
    assert "hello Ann" in result.stdout
    assert "24 80" in result.stdout


def test_logs_follow_until_the_end_and_show_everything_once(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    following = jobs.popen("logs", job.id, "-f")
    assert following.stdout is not None
    for number in range(5):  # all within one coalesced event: the file wakes the follower, not the event
        job.send(f"print line {number}\n")
        assert read_line(following.stdout.fileno()) == f"line {number}\n".encode()
    job.send("exit 0\n")
    assert jobs.finish(following).out == b""
    assert jobs.call("logs", job.id).out == b"".join(b"line %d\n" % n for n in range(5))


def test_the_tail_is_shown_and_followed_without_a_gap_or_a_repetition(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    for number in range(6):
        job.send(f"print {number}\n")
        roll.wait_for(f"print {number}")
    wait_until(lambda: job.output().data.endswith(b"5\n"), "all is stored")
    assert jobs.call("logs", job.id, "--tail", "2").out == b"4\n5\n"
    assert jobs.call("logs", job.id, "--tail", "0").out == b""
    following = jobs.popen("logs", job.id, "--tail", "2", "-f", "--stream", "stdout")
    assert following.stdout is not None
    assert [read_line(following.stdout.fileno()) for _ in range(2)] == [b"4\n", b"5\n"]
    job.send("print 6\nexit 0\n")
    assert jobs.finish(following).out == b"6\n"


def test_logs_shows_both_streams_or_one(jobs: Jobs) -> None:
    job = jobs.begin("--", "sh", "-c", "echo out; echo err >&2")
    job.wait()
    assert jobs.call("logs", job.id).out == b"out\nerr\n"
    assert jobs.call("logs", job.id, "--stream", "stderr").out == b"err\n"
    assert jobs.call("result", job.id).out == b"out\n"
    assert jobs.call("result", job.id).err == b"err\n"


def test_a_follower_of_a_lost_job_ends_with_its_loss(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("double_fork", roll.path))
    roll.wait_for("member")
    followers = [jobs.popen("events", job.id, "-f"), jobs.popen("logs", job.id, "-f"), jobs.popen("wait", job.id)]
    assert followers[0].stdout is not None
    assert read_line(followers[0].stdout.fileno())
    os.kill(int(job.spec["keeper"]["pid"]), 9)
    done = [jobs.finish(process) for process in followers]
    assert [d.code for d in done] == [0, 0, 125]
    assert b"lost" in done[0].out
    check_log(job.place)


def test_what_a_lost_job_printed_is_kept_whole_even_what_no_event_had_said(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    for number in range(3):
        job.send(f"print {number}\n")
    wait_until(lambda: job.output().data == b"0\n1\n2\n", "all is stored")
    os.kill(int(job.spec["keeper"]["pid"]), 9)
    result = job.wait()
    assert (result.error or {})["code"] == "ELOST"
    assert (result.stdout, result.truncated) == ("0\n1\n2\n", False)
    assert job.output(offset=2).data == b"1\n2\n"


def test_the_output_of_a_background_job_does_not_reach_its_callers_streams(jobs: Jobs) -> None:
    code = "import subprocess, sys; print(subprocess.run(sys.argv[1:], capture_output=True).stdout.decode(), end='')"
    done = jobs.finish(
        jobs.popen_program(
            *(sys.executable, "-c", code), *jobs.command("start", "--", "sh", "-c", "echo loud; echo err >&2"),
            stderr=subprocess.STDOUT,
        )
    )  # fmt: skip
    job = jobs.handle(done.out.decode().strip())
    assert job.wait().stdout == "loud\n"
