"""How a job ends and what is said about it: the seed's four cases, soft and hard, and both sides of a deadline."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from tests.support.engine import Engine, actor, wait_until
from unhang.core import values
from unhang.jobs import control_client
from unhang.procs import identity
from unhang.testing.liveness import Process, RollCall

# A start that takes long is no silence, so this limit ends an actor when it has begun, however busy the machine is.
AFTER_ITS_WORDS = ("--idle", "2")


def test_a_quick_command_succeeds(engine: Engine) -> None:
    result = engine.json("--", "sh", "-c", "echo hello; echo world >&2")
    assert (result["status"], result["exitCode"], result["timeoutReason"]) == ("success", 0, None)
    assert (result["stdout"], result["stderr"]) == ("hello\n", "world\n")
    assert (result["error"], result["partial"], result["leaked"], result["truncated"]) == (None, None, False, False)


def test_a_silent_sleep_ends_at_its_idle_limit(engine: Engine) -> None:
    done = engine.run("--json", "--idle", "0.5", "--", "sleep", "1000")
    result = done.result
    assert done.code == 124
    assert (result["status"], result["timeoutReason"]) == ("timeout", "no_output_timeout")
    assert (result["error"]["code"], result["error"]["kind"]) == ("EIDLE", "inactivity")
    assert result["error"]["idleMs"] >= 500
    assert result["recovery"]["suggestions"]


def test_a_chatty_loop_ends_at_its_hard_limit(engine: Engine) -> None:
    # a shell is there at once: on a busy machine the start of a Python program may take longer than the limit
    chatty = 'i=0; while :; do echo "line $i"; i=$((i+1)); sleep 0.1; done'
    done = engine.run("--json", "--idle", "20", "--hard", "2", "--", "sh", "-c", chatty)
    result = done.result
    assert done.code == 124
    assert (result["status"], result["timeoutReason"]) == ("timeout", "exec_timeout")
    assert (result["error"]["code"], result["error"]["kind"]) == ("ETIMEDOUT", "deadline")
    assert result["error"]["wallClockMs"] >= 2000
    assert result["stdout"].startswith("line 0\nline 1\n")
    assert result["partial"]["stdoutTail"] == result["stdout"]


def test_a_long_command_that_goes_on_talking_is_left_alone(engine: Engine) -> None:
    result = engine.json("--idle", "2", "--hard", "60", "--", *actor("chatty", 25))
    assert (result["status"], result["exitCode"]) == ("success", 0)
    assert result["durationMs"] > 2000
    assert result["stdout"] == "".join(f"line {i}\n" for i in range(25))


def test_sigterm_that_is_honoured_is_a_soft_end(engine: Engine, roll: RollCall) -> None:
    result = engine.json(*AFTER_ITS_WORDS, "--grace", "60", "--", *actor("obedient", roll.path))
    assert (result["status"], result["terminationMode"]) == ("timeout", "soft")
    assert (result["error"]["killed"], result["error"]["signal"]) == (True, "SIGTERM")
    assert result["stdout"] == "ready\nlast word\n"
    assert roll.is_empty()


def test_sigterm_that_is_ignored_is_a_hard_end(engine: Engine, roll: RollCall) -> None:
    result = engine.json(*AFTER_ITS_WORDS, "--grace", "0.2", "--", *actor("ignore_term", roll.path))
    assert (result["status"], result["terminationMode"]) == ("timeout", "hard")
    assert (result["error"]["killed"], result["error"]["signal"]) == (True, "SIGKILL")
    assert result["error"]["survivors"] == []
    steps = [event["step"] for event in engine.events() if event["type"] == "signal"]
    assert steps == ["terminate", "kill"]
    assert roll.is_empty()


def test_every_process_of_the_tree_is_asked_politely_before_any_is_killed(engine: Engine, roll: RollCall) -> None:
    """Also the child of a thread, which /proc lists under that thread only."""
    engine.run(*AFTER_ITS_WORDS, "--grace", "0.2", "--", *actor("threaded", roll.path))
    polite, final = [event for event in engine.events() if event["type"] == "signal"]
    everybody = {roll.wait_for("leader").pid, roll.wait_for("member").pid}
    assert (polite["signal"], set(polite["pids"])) == ("SIGTERM", everybody)
    assert (final["signal"], set(final["pids"])) == ("SIGKILL", everybody)


def test_output_during_grace_is_read_and_kept(engine: Engine, roll: RollCall) -> None:
    result = engine.json(*AFTER_ITS_WORDS, "--grace", "3", "--", *actor("grace_talker", roll.path))
    assert result["terminationMode"] == "hard"
    assert result["stdout"].startswith("ready\nxxxx")
    assert result["stdout"].endswith("x\nduring grace\n")
    assert len(result["stdout"]) == len("ready\n") + (1 << 18) + len("during grace\n")


def stop(process: Process) -> None:
    process.send(signal.SIGSTOP)
    wait_until(lambda: (entry := identity.find(process.pid)) and entry.state == "T", "the keeper is stopped")


def puppet(engine: Engine, roll: RollCall, *limits: object) -> subprocess.Popen[bytes]:
    return engine.start("--json", *limits, "--", *actor("puppet", roll.path), stdin=subprocess.PIPE)


def say(running: subprocess.Popen[bytes], line: str) -> None:
    assert running.stdin is not None
    running.stdin.write(line.encode() + b"\n")
    running.stdin.flush()


def test_a_process_that_exits_at_the_very_deadline_has_not_timed_out(engine: Engine) -> None:
    """The keeper sleeps through the hard deadline; when it wakes, both the exit and the deadline lie behind it."""
    # a shell is there at once
    limits = ("--hard", "5", "--warn", "0", "--idle", "off")
    running = engine.start("--json", *limits, "--", "sh", "-c", "read line; exit 7", stdin=subprocess.PIPE)
    started = engine.wait_for_event("job/started")
    leader = Process(started["pid"], "leader")
    keeper = engine.keeper()
    stop(keeper)
    passes = (values.moment(started["ts"]) or 0.0) + 5.1  # the deadline, and not the patience of its guard
    time.sleep(max(0.0, passes - time.time()))
    say(running, "exit")
    assert leader.wait_gone()
    keeper.send(signal.SIGCONT)
    done = engine.finish(running)
    assert (done.code, done.result["status"], done.result["exitCode"]) == (7, "error", 7)
    assert (done.result["timeoutReason"], done.result["error"]) == (None, None)


def test_a_process_that_exits_just_after_its_warning_has_not_timed_out(engine: Engine, roll: RollCall) -> None:
    running = puppet(engine, roll, "--idle", "6", "--warn", "3")
    leader, keeper = roll.wait_for("leader"), engine.keeper()
    engine.wait_for_event("watchdog", "warning")
    stop(keeper)
    time.sleep(3.2)
    say(running, "exit 0")
    assert leader.wait_gone()
    keeper.send(signal.SIGCONT)
    assert engine.finish(running).result["status"] == "success"


def test_a_keeper_that_was_stopped_for_longer_than_the_idle_limit_kills_nothing(engine: Engine, roll: RollCall) -> None:
    running = puppet(engine, roll, "--idle", "5", "--warn", "0")
    leader, keeper = roll.wait_for("leader"), engine.keeper()
    stop(keeper)
    time.sleep(5.5)
    keeper.send(signal.SIGCONT)
    assert control_client.ask(engine.job(), do="ping")["phase"] == "running"
    assert leader.is_alive()
    say(running, "print still here")
    say(running, "exit 0")
    result = engine.finish(running).result
    assert (result["status"], result["stdout"]) == ("success", "still here\n")
    assert "timeout" not in {event["phase"] for event in engine.events()}


def test_a_keeper_that_is_stopped_at_any_moment_kills_nothing(engines: list[Engine]) -> None:
    """Asleep, at work, in the middle of a look: the moments are random, around those at which it looks."""

    def stopped_twice(engine: Engine) -> str:
        with engine.roll() as roll:
            running = puppet(engine, roll, "--idle", "4", "--warn", "0")
            roll.wait_for("leader")
            keeper = engine.keeper()
            for i in range(2):
                say(running, f"print {i}")
                roll.wait_for(f"print {i}")
                silent = random.choice([0.0, 0.2, 1.0, 2.0]) + random.uniform(0, 0.03)
                time.sleep(silent)
                keeper.send(signal.SIGSTOP)
                time.sleep(4.5 - silent)  # past the limit, and long before its guard would act in its place
                keeper.send(signal.SIGCONT)
            return str(engine.finish(running).result["status"])

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(stopped_twice, engines[:6])) == {"success"}


def test_a_tree_that_works_without_a_word_is_not_idle(engine: Engine, roll: RollCall) -> None:
    """Under `liveness: progress` CPU time is a sign of life; the hard limit is what ends such a job."""
    running = puppet(engine, roll, "--idle", "3", "--hard", "60")
    roll.wait_for("leader")
    say(running, "burn 5")
    say(running, "exit 0")
    assert engine.finish(running).result["status"] == "success"


def test_a_tree_that_works_without_a_word_is_idle_where_only_output_counts(engine: Engine, roll: RollCall) -> None:
    running = puppet(engine, roll, "--idle", "3", "--liveness", "output", "--hard", "60")
    roll.wait_for("leader")
    say(running, "burn 50")
    assert engine.finish(running).result["timeoutReason"] == "no_output_timeout"


def test_a_job_is_warned_about_before_it_is_ended(engine: Engine) -> None:
    done = engine.run("--idle", "1", "--warn", "0.5", "--", "sleep", "1000")
    warning, timeout = [event for event in engine.events() if event["type"] == "watchdog"][-2:]
    assert (warning["phase"], timeout["phase"]) == ("warning", "timeout")
    assert 0 < warning["willAbortInMs"] <= 500
    lines = done.err.decode().splitlines()
    assert all(line.startswith("unhang: ") for line in lines)
    assert any("extend" in line for line in lines)


def test_a_caller_can_extend_both_limits_of_a_running_job(engine: Engine) -> None:
    limits = ("--idle", "4", "--hard", "5", "--warn", "0.5")
    running = engine.start("--json", *limits, "--", "sh", "-c", "read line", stdin=subprocess.PIPE)
    engine.wait_for_event("job/started")
    control_client.ask(engine.job(), do="extend", idle=60, hard=60)
    time.sleep(5.2)  # both old limits pass
    say(running, "a line")
    assert engine.finish(running).result["status"] == "success"


def test_an_extension_is_recorded_before_it_is_answered(engine: Engine, roll: RollCall) -> None:
    running = puppet(engine, roll, "--idle", "600", "--hard", "600")
    roll.wait_for("leader")
    for count in range(1, 6):
        control_client.ask(engine.job(), do="extend", idle=60, hard=0)
        told = [event for event in engine.events() if event["type"] == "watchdog" and event["phase"] == "extended"]
        assert len(told) == count
    say(running, "exit 0")
    assert engine.finish(running).result["status"] == "success"
