"""Signals to `unhang run` end the job through the ladder, and the exit code tells which it was."""

from __future__ import annotations

import random
import signal
import subprocess
import time

import pytest

from tests.support.engine import Engine, actor, hears_signals
from unhang.testing.liveness import RollCall

CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), CODES, ids=str)
def test_a_signal_ends_the_job_softly_and_is_the_exit_code(
    engine: Engine, roll: RollCall, number: signal.Signals, code: int
) -> None:
    running = engine.start("--json", "--grace", "60", "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    hears_signals(running)
    running.send_signal(number)
    done = engine.finish(running)
    assert done.code == code
    assert (done.result["status"], done.result["terminationMode"]) == ("cancelled", "soft")
    assert done.result["error"]["code"] == "ECANCELED"
    assert done.result["stdout"] == "ready\nlast word\n"
    assert roll.is_empty()


@pytest.mark.parametrize(("number", "code"), CODES, ids=str)
def test_a_signal_ends_a_job_that_ignores_it_after_the_grace(
    engine: Engine, roll: RollCall, number: signal.Signals, code: int
) -> None:
    running = engine.start("--json", "--grace", "0.2", "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    hears_signals(running)
    running.send_signal(number)
    done = engine.finish(running)
    assert (done.code, done.result["terminationMode"]) == (code, "hard")
    assert roll.is_empty()


def test_a_second_ctrl_c_goes_straight_to_kill(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--json", "--grace", "1h", "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    hears_signals(running)
    running.send_signal(signal.SIGINT)
    engine.wait_for_event("signal", "stopping")
    running.send_signal(signal.SIGINT)
    done = engine.finish(running)
    assert (done.code, done.result["status"], done.result["terminationMode"]) == (130, "cancelled", "hard")
    assert roll.is_empty()


def test_a_signal_to_the_keeper_itself_ends_its_job_properly(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--json", "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    engine.keeper().send(signal.SIGTERM)
    done = engine.finish(running)
    assert (done.result["status"], done.result["terminationMode"]) == ("cancelled", "soft")
    assert roll.is_empty()


def test_signals_to_the_guard_change_nothing(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--", *actor("puppet", roll.path), stdin=subprocess.PIPE)
    roll.wait_for("leader")
    guard = engine.guard()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        guard.send(number)
    done = engine.finish(running)
    assert (done.code, done.err) == (0, b"")


def test_an_ignored_hangup_stays_ignored(engine: Engine, roll: RollCall) -> None:
    """nohup sets it so; a hang-up then must not end the job."""
    command = [*engine.command("run", "--json"), "--", *actor("puppet", roll.path)]
    running = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=engine.env,
    )  # fmt: skip
    leader = roll.wait_for("leader")
    hears_signals(running)
    running.send_signal(signal.SIGHUP)
    assert running.stdin is not None
    running.stdin.write(b"print on\n")
    running.stdin.flush()
    roll.wait_for("print on")
    assert leader.is_alive()
    assert engine.finish(running).result["status"] == "success"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_at_any_moment_of_the_start_leaves_nothing_and_no_traceback(
    engines: list[Engine], number: signal.Signals
) -> None:
    command = ["--grace", "0.2", "--", "sh", "-c", "setsid sleep 1000 & sleep 1000"]
    started = [(time.monotonic() + random.uniform(0, 0.5), engine.start(*command)) for engine in engines[:8]]
    for when, running in sorted(started, key=lambda pair: pair[0]):
        time.sleep(max(0.0, when - time.monotonic()))
        running.send_signal(number)
    for engine, (_, running) in zip(engines, started, strict=False):
        assert b"Traceback" not in engine.finish(running).err
        assert engine.left_over() == []
