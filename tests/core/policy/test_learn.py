"""Limits from history: the arithmetic, the words, and who may teach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.core.limit_request import LimitRequest
from unhang.core.limits import Limits
from unhang.core.policy import builtin, learn, retry
from unhang.core.policy.command_key import command_key, normal_word
from unhang.core.policy.learn import Learn, Profile
from unhang.core.policy.model import Bounds
from unhang.core.policy.resolve import resolve


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.floats(0, 1))
def test_a_quantile_is_the_smallest_value_that_covers_its_share(values: list[float], q: float) -> None:
    found = sorted(values)[learn.rank(len(values), q)]
    assert found in values
    share = sum(value <= found for value in values)
    assert share >= q * len(values) - 1e-6
    below = sum(value < found for value in values)
    assert below < q * len(values) + 1e-6 or below == 0


@pytest.mark.parametrize(
    ("count", "q", "place"), [(20, 0.95, 18), (100, 0.95, 94), (1, 0.5, 0), (2, 0.5, 0), (3, 1.0, 2)]
)
def test_a_quantile_is_read_at_its_nearest_rank(count: int, q: float, place: int) -> None:
    assert learn.rank(count, q) == place


def test_the_source_of_a_learnt_limit_names_its_floor_or_ceiling() -> None:
    assert learn.limit(Profile(37, 41.0, 1.0), "duration") == (123.0, "history: p95 41s of 37 runs ×3")
    assert learn.limit(Profile(10, 41.0, 0.2), "silence") == (10.0, "history: p95 0.2s of 10 runs ×3, floor 10s")
    value, source = learn.limit(Profile(10, 7200.0, 0.2), "duration") or (0, "")
    assert (value, source) == (3600.0, "history: p95 2h of 10 runs ×3, ceiling 1h")
    assert learn.limit(Profile(9, 41.0, 1.0), "duration") is None
    assert learn.limit(Profile(3, 41.0, 1.0, 0.5), "duration", Learn(0.5, 2.0, 3)) == (
        82.0,
        "history: p50 41s of 3 runs ×2",
    )


def test_a_run_is_slow_at_half_more_than_its_history_or_five_seconds_more() -> None:
    assert learn.slow_after(Profile(10, 40.0, 1.0)) == 60
    assert learn.slow_after(Profile(10, 0.1, 0.1)) == pytest.approx(5.1)
    assert learn.slow_after(Profile(5, 40.0, 1.0)) is None
    text = learn.slow_text(Profile(10, 40.0, 1.0), 65.0)
    assert all(value in text for value in ("1m 5s", "p95 40s", "10 runs"))


@pytest.mark.parametrize(
    ("status", "stalled", "nested", "argued", "why"),
    [
        ("success", False, False, False, None),
        ("error", False, False, False, "error"),
        ("timeout", False, False, False, "timeout"),
        ("cancelled", False, False, False, "cancelled"),
        ("success", True, False, False, "stalled"),
        ("success", False, True, False, "another job"),
        ("success", False, False, True, "caller"),
    ],
)
def test_only_a_plain_success_teaches(status: str, stalled: bool, nested: bool, argued: bool, why: str | None) -> None:
    found = learn.teaches(status, stalled, nested, argued)
    assert found is None if why is None else why in (found or "")


@pytest.mark.parametrize(
    ("request_", "argued"),
    [
        (LimitRequest(), False),
        (LimitRequest(idle=10.0, hard=20.0), False),
        (LimitRequest(idle=301.0), True),
        (LimitRequest(hard=0.0), True),
        (LimitRequest(liveness="output"), True),
        (LimitRequest(category="extended"), True),
        (LimitRequest(category="quick"), False),
    ],
)
def test_more_time_than_the_policy_gives_to_the_command_is_an_argument(request_: LimitRequest, argued: bool) -> None:
    assert resolve("unknown-command", builtin.policy(), request_).argued is argued
    assert not resolve("npm run dev", builtin.policy(), request_.replace(liveness=None)).argued


def test_an_agent_in_the_category_of_its_mode_argues_for_nothing() -> None:
    own = builtin.categories()["agent-write"].replace(liveness="agent")
    asked = LimitRequest(category="agent-write", liveness="agent")
    assert resolve(["driver"], builtin.policy(), asked).argued, "by its words alone"
    assert not resolve(["driver"], builtin.policy(), asked, by_itself=own).argued
    assert resolve(["driver"], builtin.policy(), asked.replace(hard=3000.0), by_itself=own).argued


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("git show a1b2c3d4", "git show 9f8e7d6c"),
        ("pytest --basetemp=/tmp/pytest-1/x", "pytest --basetemp=/tmp/zz"),
        (
            "curl http://h/v1/123e4567-e89b-12d3-a456-426614174000",
            "curl http://h/v2/00000000-e89b-12d3-a456-426614174000",
        ),
        ("head -n 10 x", "head -n 200 x"),
        ("backup 2026-01-02T03:04:05Z", "backup 2025-11-12"),
        ("git commit -m 'one thing'", "git commit -m 'another thing entirely'"),
        ("cd a && npm ci", "cd a;   npm   ci"),
    ],
)
def test_what_varies_from_run_to_run_is_one_command(one: str, two: str) -> None:
    assert command_key(one) == command_key(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("pytest tests/test_a.py", "pytest tests/test_b.py"),
        ("npm test", "npm ci"),
        ("cargo build", "cargo build --release"),
        ("python3 x.py", "python2 x.py"),
        ("npm ci", "npm ci && npm test"),
    ],
)
def test_other_work_is_another_command(one: str, two: str) -> None:
    assert command_key(one) != command_key(two)


@pytest.mark.parametrize("sequence", ["\x1b[31m", "\x1b[1;38;5;9m", "\x1b]0;title\a", "\x1b]8;;http://x/\x1b\\"])
def test_a_sequence_for_a_terminal_is_no_part_of_a_key(sequence: str) -> None:
    assert command_key(f"echo {sequence}red; make") == command_key("echo red; make")
    assert command_key(["sh", "-c", f"echo {sequence}red{sequence}"]) == command_key(["sh", "-c", "echo red"])
    assert command_key(["echo", f"{sequence}red"]) == command_key(["echo", "red"])


@given(st.text(max_size=200))
def test_every_command_has_a_short_key(line: str) -> None:
    assert len(command_key(line)) <= 300
    assert normal_word(normal_word(line)) == normal_word(normal_word(normal_word(line)))


# -- retries


@pytest.mark.parametrize(
    ("reason", "cause", "needs_input", "again"),
    [
        ("no_output_timeout", "network", False, True),
        ("exec_timeout", "progress", False, True),
        ("exec_timeout", None, False, True),
        ("no_output_timeout", "unknown", False, True),
        ("no_output_timeout", "lock", False, True),
        ("no_output_timeout", "deadlock", False, True),
        ("no_output_timeout", "input", False, False),
        ("no_output_timeout", "network", True, False),
        ("no_output_timeout", "idle", False, False),
        ("no_output_timeout", "pipe_cycle", False, False),
        (None, None, False, False),
    ],
)
def test_a_retry_only_where_it_may_help(reason: str | None, cause: str | None, needs_input: bool, again: bool) -> None:
    worth = retry.may_help(reason, None if cause is None else {"cause": cause, "evidence": {}}, needs_input)
    decision = retry.decide(1, 2, worth)
    assert decision.again is again
    assert decision.reason
    assert not retry.decide(3, 2, worth).again
    assert not retry.decide(1, 0, worth).again


def test_each_attempt_has_twice_the_time_up_to_the_bound() -> None:
    limits = Limits(idle=60.0, hard=None)
    one = retry.longer(limits, Bounds(idle_max=150.0))
    two = retry.longer(one, Bounds(idle_max=150.0))
    assert (one.idle, two.idle, two.hard) == (120, 150, None)
    assert retry.longer(Limits(idle=200.0), Bounds(idle_max=150.0)).idle == 200
    assert retry.longer(limits, Bounds()).warn == limits.warn


@pytest.mark.parametrize(
    ("statuses", "row"),
    [
        ([], 0),
        (["timeout", "timeout"], 0),
        (["timeout", "timeout", "timeout"], 3),
        (["timeout", "timeout", "timeout", "timeout", "success"], 4),
        (["success", "timeout", "timeout", "timeout"], 0),
        (["timeout", "error", "timeout", "timeout"], 0),
    ],
)
def test_three_timeouts_in_a_row_open_the_breaker(statuses: list[str], row: int) -> None:
    text = retry.breaker(statuses)
    assert (text is not None) == bool(row)
    assert text is None or f"{row} timeouts in a row" in text
