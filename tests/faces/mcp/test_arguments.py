"""What the arguments of `run` and `start` ask of the limits."""

from __future__ import annotations

from typing import Any

import pytest

from unhang.core.policy import builtin
from unhang.core.policy.model import Policy, Resolution
from unhang.core.policy.resolve import resolve
from unhang.errors import UsageError
from unhang.faces.mcp.arguments import TO_ANSWER, CommandCall, command_call, folder_of


def called(**given: Any) -> CommandCall:
    named = {"timeout_sec": None, "idleTimeoutMs": None, "hardTimeoutMs": None, "category": "", "interactive": False}
    return command_call("./unknown", None, "", None, stdin="", pty=False, **(named | given))


def limits(call: CommandCall, policy: Policy) -> Resolution:
    return resolve("./unknown", policy, call.limits)


@pytest.mark.parametrize(
    ("given", "idle", "hard"),
    [
        ({}, None, None),
        ({"timeout_sec": 3600}, None, 3600.0),
        ({"hardTimeoutMs": 3_600_000}, None, 3600.0),
        ({"idleTimeoutMs": 5000}, 5.0, ...),
        ({"timeout_sec": 3600, "idleTimeoutMs": 5000}, 5.0, 3600.0),
        ({"category": "quick"}, ..., ...),
    ],
)
def test_what_is_started_may_be_silent_unless_its_caller_says_how_long(
    given: dict[str, Any], idle: Any, hard: Any
) -> None:
    policy = builtin.policy()
    asked = called(**given)
    plain = limits(asked, policy)
    found = limits(asked.with_room(plain, stays=True), policy).limits
    assert found.idle == (plain.limits.idle if idle is ... else idle)
    assert found.hard == (plain.limits.hard if hard is ... else hard)


def test_a_policy_that_stands_by_itself_keeps_its_rule_for_one_number() -> None:
    policy = builtin.policy().replace(builtin=False)
    asked = called(timeout_sec=100)
    plain = limits(asked, policy)
    assert plain.limits.idle == 25.0
    assert limits(asked.with_room(plain, stays=True), policy).limits.idle == 25.0


def test_what_is_run_keeps_its_limits_and_what_is_talked_to_gets_time_for_an_answer() -> None:
    policy = builtin.policy()
    asked = called()
    assert asked.with_room(limits(asked, policy), stays=False) is asked
    typed = called(interactive=True)
    short = limits(typed, policy)
    short = short.replace(limits=short.limits.replace(idle=30.0))
    assert typed.with_room(short, stays=False).limits.idle == TO_ANSWER


def test_a_directory_with_a_nul_byte_is_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError):
        folder_of("/tmp\0x")
