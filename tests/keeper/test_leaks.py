"""What the leader leaves behind: ended and named, or kept and watched; never waited for without end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.engine import Engine, actor
from unhang.testing.liveness import RollCall


def test_a_grandchild_that_holds_the_pipe_is_a_leak_and_not_a_hang(
    engine: Engine, roll: RollCall, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    leaver = actor("leaver", roll.path, 3, tmp_path / "gate")
    done = engine.run("--json", "--grace", "0.5", "--", *leaver)
    result = done.result
    assert (done.code, result["status"], result["exitCode"]) == (3, "error", 3)
    assert result["leaked"] is True
    assert result["stdout"] == "early\n"
    assert roll.is_empty()
    member = next(process for process in roll.called if process.name == "member")
    [named] = engine.events()[-1]["leftovers"]
    assert named["pid"] == member.pid
    shown = named["command"].rstrip("…")  # as much of it as there is room for: where this checkout is, nobody knows
    assert " ".join(leaver).startswith(shown)
    assert any("--keep" in hint and shown in hint for hint in result["recovery"]["suggestions"])


def test_a_leak_does_not_turn_success_into_failure(engine: Engine, roll: RollCall, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    done = engine.run("--json", "--", *actor("leaver", roll.path, 0, tmp_path / "gate"))
    assert (done.code, done.result["status"], done.result["leaked"]) == (0, "success", True)
    assert (done.result["error"], done.result["terminationMode"]) == (None, None)
    assert roll.is_empty()


def test_kept_left_overs_are_still_the_job_until_the_last_of_them_ends(
    engine: Engine, roll: RollCall, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    running = engine.start("--json", "--keep", "--", *actor("leaver", roll.path, 0, gate))
    member = roll.wait_for("member")
    with gate.open("w") as opened:  # blocks until the daemon reads it: the leader has long exited or is about to
        assert member.is_alive()
        assert running.poll() is None
        opened.write("go\n")
    done = engine.finish(running)
    assert (done.code, done.result["status"], done.result["leaked"]) == (0, "success", False)
    assert done.result["stdout"] == "early\nlate\n"
    assert roll.is_empty()


def test_kept_left_overs_are_watched_like_any_job(engine: Engine, roll: RollCall, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    done = engine.run("--json", "--keep", "--idle", "2", "--", *actor("leaver", roll.path, 0, tmp_path / "gate"))
    assert (done.code, done.result["timeoutReason"]) == (124, "no_output_timeout")
    assert roll.is_empty()


def test_a_stranger_who_holds_the_pipe_does_not_keep_the_job_open(engine: Engine, roll: RollCall) -> None:
    """Nobody of the tree: this test itself opens the job's stdout for writing."""
    running = engine.start("--json", "--", *actor("puppet", roll.path), stdin=subprocess.PIPE)
    leader = roll.wait_for("leader")
    held = os.open(f"/proc/{leader.pid}/fd/1", os.O_WRONLY)
    try:
        done = engine.finish(running)  # closes its stdin: the puppet exits
        assert (done.code, done.result["status"], done.result["leaked"]) == (0, "success", True)
        assert "leftovers" not in engine.events()[-1]
    finally:
        os.close(held)


def test_a_background_process_that_ends_in_time_is_no_leak(engine: Engine) -> None:
    # it runs already, and says its word as soon as its parent is gone: no new process has to get a core in time
    line = "(while kill -0 $$ 2>/dev/null; do :; done; echo late) & echo early"
    result = engine.json("--", "sh", "-c", line)
    assert (result["status"], result["leaked"], result["stdout"]) == ("success", False, "early\nlate\n")
