"""What the watchdog does with signs of life and diagnoses, end to end, on real programs."""

from __future__ import annotations

import shutil
import sys

import pytest

import unhang
from tests.support.engine import Engine

pytestmark = pytest.mark.usefixtures("nothing_is_left")

DEADLOCK = """
import threading
a, b = threading.Lock(), threading.Lock()
def take(one, other, meet):
    with one:
        meet.wait()
        other.acquire()
meet = threading.Barrier(2)
for pair in ((a, b), (b, a)):
    threading.Thread(target=take, args=(*pair, meet)).start()
print("started", flush=True)
"""
# As a compiler does: burns CPU, prints nothing for three times the idle limit, then succeeds.
QUIET_WORK = """
import hashlib, time
end = time.monotonic() + {seconds}
data = b"x"
while time.monotonic() < end:
    data = hashlib.sha512(data * 100).digest()
print("done")
"""


def phases(result: unhang.Result) -> list[str]:
    events = unhang.job(result.job_id).events()
    return [event["phase"] for event in events if event["type"] == "watchdog"]


def test_quiet_work_that_outlasts_its_idle_limit_three_times_is_not_ended() -> None:
    result = unhang.run([sys.executable, "-c", QUIET_WORK.format(seconds=4)], idle=1.2, warn=0.4, hard=60, stall=0.5)
    assert result.status == "success"
    seen = phases(result)
    assert "quiet" in seen
    assert "extended" in seen
    assert "timeout" not in seen


def test_the_same_work_is_ended_where_only_output_counts() -> None:
    code = QUIET_WORK.format(seconds=30)
    result = unhang.run([sys.executable, "-c", code], idle=1, warn=0.2, hard=60, liveness="output")
    assert result.timeout_reason == "no_output_timeout"


def test_a_silent_deadlock_is_ended_at_its_idle_limit_and_named() -> None:
    result = unhang.run([sys.executable, "-c", DEADLOCK], idle=3, warn=1, stall=1.5, hard=60)
    assert result.timeout_reason == "no_output_timeout"
    assert result.stdout == "started\n"
    assert result.diagnosis is not None
    assert result.diagnosis["cause"] in ("deadlock", "idle")
    assert result.duration is not None
    assert result.duration >= 3, "not before its limit, though it was called stuck"
    assert "stuck" in phases(result)


def test_a_spinning_loop_ends_at_the_hard_limit_with_busy_as_its_cause() -> None:
    result = unhang.run([sys.executable, "-c", "while True: pass"], idle=1.5, hard=5, warn=1)
    assert result.timeout_reason == "exec_timeout"
    assert result.diagnosis is not None
    assert result.diagnosis["cause"] == "busy"


def test_a_verdict_of_hung_ends_a_job_before_its_limit_where_that_was_asked_for() -> None:
    command = [sys.executable, "-c", DEADLOCK]
    result = unhang.run(command, idle=120, hard=600, warn=0.5, stall=2, on_hung="end")
    assert result.timeout_reason == "no_output_timeout"
    assert result.duration is not None
    assert result.duration < 60
    assert "warning" in phases(result)


PROMPTS = {
    "a question of bash": ["bash", "-c", 'read -p "Overwrite? [y/N] " x; echo "got $x"'],
    "a password": ["bash", "-c", 'read -s -p "Password: " x; echo; echo "got $x"'],
    "python's input": [sys.executable, "-c", "print('got', input('Name: '))"],
    "python's getpass": [sys.executable, "-c", "import getpass; print('got', getpass.getpass('Secret: '))"],
}
TEXTS = {
    "a question of bash": "Overwrite? [y/N]",
    "a password": "Password:",
    "python's input": "Name:",
    "python's getpass": "Secret:",
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_reported_within_seconds_with_its_text_and_can_be_answered(name: str) -> None:
    job = unhang.start(PROMPTS[name], pty=True, idle=60, hard=60)
    for event in job.watch(timeout=30):
        if event["type"] == "watchdog" and event["phase"] == "needs_input":
            break
    else:
        pytest.fail("no needs_input")
    assert event["prompt"] == TEXTS[name]
    assert event["password"] == (name in ("a password", "python's getpass"))
    status = job.status()
    assert status["phase"] == "needs_input"
    assert status["needsInput"]["prompt"] == TEXTS[name]
    started = unhang.job(job.id).events()[0]["ts"]
    from unhang.procs import clock

    assert clock.parse(event["ts"]) - clock.parse(started) < 15  # 5 s on a machine that is not overloaded
    job.send("yes\n")
    result = job.wait(30)
    assert result.status == "success"
    assert "got yes" in result.stdout


def test_a_prompt_on_a_pipe_is_reported_too() -> None:
    job = unhang.start(["sh", "-c", "printf 'Continue? '; read x; echo got $x"], stdin="pipe", idle=60, hard=60)
    event = next(e for e in job.watch(timeout=30) if e.get("phase") == "needs_input")
    assert event["prompt"] == "Continue?"
    job.send("ok\n")
    assert job.wait(30).stdout.endswith("got ok\n")


def test_heartbeats_keep_a_silent_job_alive_and_are_recorded() -> None:
    line = f'for i in 1 2 3 4 5; do {sys.executable} -m unhang beat "step $i of 5"; sleep 1.2; done'
    result = unhang.run(line, shell=True, idle=5, warn=0.2, hard=60, liveness="heartbeat")
    assert result.status == "success"
    beats = [e["status"] for e in unhang.job(result.job_id).events() if e["type"] == "heartbeat"]
    assert beats
    assert set(beats) <= {f"step {i} of 5" for i in range(1, 6)}


def test_heartbeats_count_for_nothing_where_only_output_does() -> None:
    line = f"while true; do {sys.executable} -m unhang beat alive; sleep 0.2; done"
    result = unhang.run(line, shell=True, idle=1, warn=0.1, hard=60, liveness="output")
    assert result.timeout_reason == "no_output_timeout"


@pytest.mark.skipif(shutil.which("systemd-notify") is None, reason="systemd-notify is not installed")
def test_the_real_systemd_notify_works_from_inside_a_job() -> None:
    line = "systemd-notify --ready --status='half way'; systemd-notify WATCHDOG=1; sleep 0.2"
    result = unhang.run(line, shell=True, hard=60)
    assert result.status == "success", result.stderr
    beats = [e["status"] for e in unhang.job(result.job_id).events() if e["type"] == "heartbeat"]
    assert "half way" in beats


def test_a_heartbeat_outside_a_job_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    from unhang.faces.cli.main import run

    assert run(["beat", "x"]) == 125
    assert "NOTIFY_SOCKET" in capfd.readouterr().err


def test_a_stall_notice_that_has_come_too_soon_for_two_looks_waits_for_its_reason(engine: Engine) -> None:
    """So it is of every keeper that gets no core in time: a look takes longer than this stall."""
    waiting = engine.start("--stall", "0.02", "--", "sleep", "1000")
    stuck = engine.wait_for_event("watchdog", "stuck")
    assert stuck["diagnosis"]["reason"]
    waiting.terminate()
    engine.finish(waiting)
