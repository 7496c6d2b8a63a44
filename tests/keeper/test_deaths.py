"""No process is orphaned when `unhang run`, the keeper or the guard is killed, or two of them at once."""

from __future__ import annotations

import random
import signal
import subprocess
import time

from tests.support.engine import Engine, actor
from unhang.jobs import reconcile
from unhang.testing.liveness import RollCall


def test_sigkill_of_unhang_run_at_twenty_random_moments_leaves_no_process(engines: list[Engine]) -> None:
    """Four at a time; the first tells how long a start takes here and now, so that the moments fall before, during and
    after the start of the job on a slow machine too."""
    words = ("--grace", "0.2", "--", "sh", "-c", "trap '' TERM; setsid sleep 1000 & nohup sleep 1000 2>&1 & sleep 1000")
    asked = time.monotonic()
    first = engines[0].start(*words)
    engines[0].wait_for_event("job/started")
    took = time.monotonic() - asked
    first.kill()
    assert engines[0].finish(first).code == -signal.SIGKILL
    assert engines[0].left_over() == []
    begun = 0
    for batch in range(1, len(engines), 4):
        started: list[tuple[float, Engine, subprocess.Popen[bytes]]] = [
            (time.monotonic() + random.uniform(0, 3 * took), engine, engine.start(*words))
            for engine in engines[batch : batch + 4]
        ]
        for when, _, running in sorted(started, key=lambda entry: entry[0]):
            time.sleep(max(0.0, when - time.monotonic()))
            running.kill()
        for _, engine, running in started:
            assert engine.finish(running).code == -signal.SIGKILL
            assert engine.left_over() == []
            begun += bool(engine.jobs())
    assert begun > 0, "no job had begun: the moments were all too early"


def test_the_job_is_ended_and_recorded_when_unhang_run_is_killed(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--grace", "0.2", "--", *actor("setsid_child", roll.path))
    roll.wait_for("member")
    running.kill()
    assert roll.wait_empty()
    last = engine.wait_for_event("job/exited")
    assert (last["phase"], last["terminationMode"]) == ("cancelled", "hard")
    assert "caller" in last["cancelledBy"]


def test_the_guard_ends_the_tree_and_records_the_loss_when_the_keeper_is_killed(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--json", "--", *actor("double_fork", roll.path))
    roll.wait_for("member")
    engine.wait_for_event("output")
    engine.keeper().send(signal.SIGKILL)
    done = engine.finish(running)
    assert roll.is_empty()
    assert done.code == 125
    assert (done.result["status"], done.result["error"]["code"]) == ("error", "ELOST")
    assert done.result["error"]["survivors"] == []
    assert done.result["stdout"] == "ready\n"
    last = engine.events()[-1]
    assert (last["type"], last["phase"]) == ("job/exited", "lost")
    assert {process.pid for process in roll.called} <= set(last["endedPids"])


def test_a_forking_tree_ends_too_when_the_keeper_is_killed(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--json", "--", *actor("forker", roll.path))
    roll.wait_for("full")
    engine.keeper().send(signal.SIGKILL)
    assert engine.finish(running).result["error"]["code"] == "ELOST"
    assert roll.is_empty()


def test_the_job_runs_on_when_the_guard_is_killed(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--json", "--", *actor("puppet", roll.path), stdin=subprocess.PIPE)
    leader = roll.wait_for("leader")
    engine.guard().send(signal.SIGKILL)
    assert engine.guard().wait_gone()
    assert leader.is_alive()
    done = engine.finish(running)
    assert (done.code, done.result["status"]) == (0, "success")


def test_the_next_look_ends_what_a_killed_keeper_and_a_killed_guard_left(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--", *actor("env_cleared", roll.path))
    roll.wait_for("member")
    roll.wait_for("leader")
    keeper, guard = engine.keeper(), engine.guard()
    guard.send(signal.SIGSTOP)
    keeper.send(signal.SIGKILL)
    guard.send(signal.SIGKILL)
    done = engine.finish(running)
    assert done.code == 125
    assert reconcile.settle(engine.job())
    assert roll.wait_empty()
    assert engine.events()[-1]["phase"] == "lost"


def test_a_job_inside_a_job_ends_with_it(engine: Engine, roll: RollCall) -> None:
    inner = engine.command("run", "--grace", "0.2", "--", *actor("setsid_child", roll.path))
    running = engine.start("--grace", "5", "--", *inner)
    roll.wait_for("member")
    running.kill()
    assert roll.wait_empty()
    assert engine.left_over() == []


def test_the_job_of_a_killed_caller_ends_when_its_stopped_keeper_runs_again(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--grace", "0.2", "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    keeper = engine.keeper()
    keeper.send(signal.SIGSTOP)
    running.kill()
    running.wait(30)
    assert roll.alive()
    keeper.send(signal.SIGCONT)
    assert roll.wait_empty()
