"""An hour in which the machine was suspended during a turn: no silence of its tool, and part of its hard limit."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.support.claude.harness import BASH, Bench
from tests.support.jobs import check_log
from tests.support.namespaces import need_namespaces
from tests.support.places import ROOT
from tests.support.suspension import HOUR


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    need_namespaces()


def _suspended(bench: Bench, then: str, *limits: str) -> dict[str, Any]:
    """The result of a turn whose command asks for the suspension, and goes on once it has been."""
    flag = bench.folder / "flag"
    task = f"fake: bash : > {flag}; while test -e {flag}; do sleep 0.1; done; {then}"
    words = [sys.executable, "-m", "tests.support.suspension", str(flag), "claude", "run", task, *BASH, *limits]
    env = bench.env | {"PYTHONPATH": str(ROOT)}
    turn = bench.popen_program(*words, "--warn", "0", "--wait", "--json", cwd=bench.workspace, env=env)
    done = bench.finish(turn, 110)
    assert done.out, done.err
    result: dict[str, Any] = json.loads(done.out)
    return result


def test_a_tool_goes_on_after_a_suspension_that_was_longer_than_its_limit(bench: Bench) -> None:
    """The limit of its call is three minutes; it has time to be ended in, if the hour counted."""
    result = _suspended(bench, "sleep 3; echo over", "--idle", "300", "--hard", "off")
    assert result["status"] == "success", result
    assert result["durationMs"] >= HOUR * 1000
    events = check_log(bench.handle(result["jobId"]).place)
    assert not [event for event in events if event["type"] in ("signal", "watchdog")]


def test_a_hard_limit_that_passed_in_a_suspension_ends_the_turn_by_its_protocol(bench: Bench) -> None:
    result = _suspended(bench, "sleep 1000", "--idle", "300", "--hard", "600", "--grace", "20")
    assert (result["status"], result["timeoutReason"]) == ("timeout", "exec_timeout"), result
    assert result["terminationMode"] == "soft"
    assert result["error"]["survivors"] == []
