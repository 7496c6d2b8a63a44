"""Limits that were learnt, retries and the circuit breaker, end to end."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import unhang
from tests.support import history as planted
from unhang.core.diagnosis import causes
from unhang.core.policy.command_key import command_key
from unhang.jobs.history import catch_up
from unhang.store.history import History

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def home() -> str:
    return os.environ["UNHANG_HOME"]


def teach(command: list[str], duration: float, silence: float, *, runs: int = 12, status: str = "success") -> None:
    planted.teach(home(), command, duration, silence, runs=runs, status=status)


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """Learns with a low floor, so that a test need not wait."""
    path = tmp_path / "policy.json"
    learn = {"min_runs": 10, "factor": 3, "floor_sec": 0.5, "ceiling_sec": 60}
    category = {"exec_timeout_sec": "auto", "no_output_timeout_sec": "auto"}
    path.write_text(
        json.dumps({"version": "1.0", "categories": {"all": category}, "default_category": "all", "learn": learn})
    )
    return str(path)


def test_a_run_under_auto_is_ended_at_the_learnt_limit_and_not_before(policy: str) -> None:
    command = ["sleep", "600"]
    teach(command, duration=1.0, silence=1.0)
    result = unhang.run(command, policy=policy, warn=0)
    assert result.status == "timeout"
    assert result.duration is not None
    assert result.duration >= 3.0
    assert result.limits["hardMs"]["value"] == 3000
    assert result.limits["hardMs"]["source"] == "history: p95 1s of 12 runs ×3"


def test_a_run_within_its_learnt_limit_is_left_alone(policy: str) -> None:
    command = ["sleep", "1"]
    teach(command, duration=1.0, silence=1.0)
    assert unhang.run(command, policy=policy, warn=0).status == "success"


def test_too_little_history_teaches_nothing(policy: str) -> None:
    command = ["sleep", "0"]
    teach(command, duration=0.1, silence=0.1, runs=3)
    assert "history" not in unhang.run(command, policy=policy).limits["hardMs"]["source"]


def test_every_finished_run_is_counted_once_and_only_good_ones_teach() -> None:
    good = ["sh", "-c", "exit 0"]
    for _ in range(3):
        unhang.run(good)
    unhang.run(["false"])
    unhang.run(["sleep", "60"], hard=0.3, warn=0)
    for _ in range(3):
        catch_up(home())
        unhang.list_jobs(all=True)
    found = {item.command: item for item in History(os.path.join(home(), "index.db")).summary()}
    assert found[command_key(good)].runs == 3
    assert found[command_key(["sleep", "60"])].hard_timeouts == 1
    profile = History(os.path.join(home(), "index.db")).profile(command_key(good), os.getcwd())
    assert profile is not None
    assert profile.runs == 3
    assert History(os.path.join(home(), "index.db")).profile(command_key(["sleep", "60"]), os.getcwd()) is None


def test_a_run_from_inside_a_job_does_not_teach(tmp_path: Path) -> None:
    inner = ["sh", "-c", "exit 0"]
    script = tmp_path / "agent.sh"
    script.write_text(f"{sys.executable} -m unhang run -- sh -c 'exit 0'\n")
    assert unhang.run(["sh", str(script)], hard=60).status == "success"
    catch_up(home())
    assert History(os.path.join(home(), "index.db")).profile(command_key(inner), os.getcwd()) is None


def test_a_timed_out_run_is_tried_again_with_twice_the_limits() -> None:
    # the first attempt has 1.5 s, which is not enough; the second has 3 s, which is
    result = unhang.run(["sleep", "2"], hard=1.5, warn=0, idle="off", retry=2)
    assert result.status == "success"
    events = unhang.job(result.job_id).events()
    assert [e.get("attempt", 1) for e in events if e["type"] == "job/started"] == [1, 2]
    assert sum(e["type"] == "job/exited" for e in events) == 1
    assert result.outcome["attempts"] == 2


def test_a_timeout_without_attempts_left_may_still_be_worth_another_run() -> None:
    result = unhang.run(["sleep", "60"], hard=0.3, warn=0, idle="off", retry=1)
    assert (result.status, result.outcome["attempts"]) == ("timeout", 2)
    assert result.recovery is not None
    assert result.recovery["retryable"] is True


def test_what_waits_for_input_is_not_tried_again() -> None:
    job = unhang.start(["sh", "-c", "printf 'Sure? '; read x"], stdin="pipe", idle=6, warn=1, hard=60, retry=3)
    result = job.wait(60)
    assert result.status == "timeout"
    [said] = [e["message"] for e in job.events() if e.get("phase") == "retry"]
    assert causes.INPUT.why_not in said
    assert result.outcome["retryable"] is False
    assert result.recovery is not None
    assert result.recovery["retryable"] is False
    assert "attempts" not in result.outcome


def test_three_timeouts_in_a_row_open_the_circuit_breaker() -> None:
    command = ["sleep", "600"]
    teach(command, duration=1.0, silence=1.0, runs=3, status="timeout")
    result = unhang.run(command, hard=0.5, warn=0, idle="off", retry=2)
    assert result.status == "timeout"
    events = unhang.job(result.job_id).events()
    assert sum(e["type"] == "job/started" for e in events) == 1
    assert any("circuit breaker" in e["message"] for e in events)


@pytest.mark.slow
def test_a_run_slower_than_its_history_is_reported_with_the_number_of_runs() -> None:
    command = ["sleep", "600"]
    teach(command, duration=1.0, silence=1.0)
    job = unhang.start(command, idle="off", hard="5m")
    event = next(e for e in job.watch(timeout=60) if e.get("phase") == "slow")
    assert (event["runs"], event["usualMs"]) == (12, 1000)
    job.cancel(force=True)


@pytest.mark.parametrize("retry", [-1, 11])
def test_an_absurd_number_of_retries_is_refused(retry: int) -> None:
    with pytest.raises(unhang.UsageError):
        unhang.run(["true"], retry=retry)
