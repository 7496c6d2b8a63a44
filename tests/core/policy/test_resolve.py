"""Which of several numbers wins, where it came from, and what the bounds made of it."""

from __future__ import annotations

from typing import Any

import pytest

from unhang.core.limit_request import LIMIT_NAMES, LimitRequest, read_limits
from unhang.core.limits import Limits
from unhang.core.policy import builtin
from unhang.core.policy.file.load import load
from unhang.core.policy.learn import Profile
from unhang.core.policy.model import Bounds, Category, Policy
from unhang.core.policy.resolve import resolve
from unhang.errors import UsageError


def policy_of(**more: Any) -> Policy:
    categories = {"a": Category("a", 60.0, 600.0), "b": Category("b", 10.0, 20.0)}
    return Policy("test", {**categories, **more.pop("categories", {})}, more.pop("default", "a"), **more)


def test_an_unknown_command_gets_the_defaults() -> None:
    found = resolve(["frobnicate"], builtin.policy())
    assert (found.limits.idle, found.limits.hard, found.limits.stall) == (300, 1200, 60)
    assert (found.limits.warn, found.limits.grace, found.limits.liveness) == (30, 2, "progress")
    assert {name: sourced.source for name, sourced in found.sourced.items()} == dict.fromkeys(
        ("idleMs", "hardMs", "stallMs", "warnMs", "graceMs"), "default"
    )
    assert (found.category, found.pattern, found.never_ending) == ("default", None, False)


def test_a_callers_limits_win_and_say_so() -> None:
    asked = LimitRequest(idle=5.0, hard=7.5, stall=2.0, warn=0.5, grace=0.0, liveness="output")
    found = resolve(["npm", "ci"], builtin.policy(), asked)
    limits = found.limits
    assert (limits.stall, limits.idle, limits.hard, limits.warn, limits.grace) == (2.0, 5.0, 7.5, 0.5, 0.0)
    assert found.liveness == found.limits.liveness == "output"
    assert {sourced.source for sourced in found.sourced.values()} == {"argument"}
    assert found.category == "long"


@pytest.mark.parametrize("name", [name for name in LIMIT_NAMES if name in Limits.__match_args__])
def test_every_limit_that_a_caller_may_ask_for_reaches_the_job(name: str) -> None:
    asked: Any = {"liveness": "output", "on_hung": "end"}.get(name, 7.0)
    found = resolve(["frobnicate"], builtin.policy(), LimitRequest().replace(**{name: asked}))
    assert getattr(found.limits, name) == asked


@pytest.mark.parametrize("off", ["off", 0, 0.0])
def test_off_switches_a_tier_off(off: Any) -> None:
    found = resolve(["ls"], builtin.policy(), read_limits({"idle": off, "hard": off, "stall": off}))
    assert (found.limits.stall, found.limits.idle, found.limits.hard) == (None, None, None)


def test_the_command_may_be_words_or_a_line() -> None:
    policy = builtin.policy()
    assert resolve(["npm", "run", "dev"], policy).category == resolve("npm run dev", policy).category == "server"
    # words are words: nothing in them is a shell's business
    assert resolve(["echo", "; npm run dev"], policy).category == "quick"
    assert resolve([], policy).category == "default"
    assert resolve(["bash", "-c", "ls; npm ci"], policy).category == "long"


def test_the_most_generous_piece_wins() -> None:
    found = resolve("ls && cargo build --release && npm ci", builtin.policy())
    assert (found.category, found.pattern) == ("extended", "cargo build --release")
    assert [piece.category for piece in found.pieces] == ["quick", "extended", "long"]


# -- bounds


AGENT = ["codex", "exec", "fix it"]


@pytest.mark.parametrize(
    ("idle", "hard", "applied"),
    [
        (300.0, 1200.0, (300, 1200)),
        (10.0, 60.0, (60, 300)),
        (7200.0, 86400.0, (1800, 3600)),
        ("off", "off", (1800, 3600)),
        (60.0, 300.0, (60, 300)),
        (1800.0, 3600.0, (1800, 3600)),
    ],
)
def test_a_delegated_agent_gets_what_the_bounds_permit(idle: Any, hard: Any, applied: tuple[float, float]) -> None:
    found = resolve(AGENT, builtin.policy(), read_limits({"idle": idle, "hard": hard}))
    assert (found.limits.idle, found.limits.hard) == applied
    for name, wish in (("idleMs", idle), ("hardMs", hard)):
        sourced = found.sourced[name]
        wanted = 0.0 if wish == "off" else wish
        if sourced.value == wanted:
            assert (sourced.source, sourced.asked) == ("argument", None)
        else:
            assert (sourced.source, sourced.asked) == ("argument, bounded by policy:agent-write", wanted)


def test_asked_and_applied_are_both_on_the_wire() -> None:
    found = resolve(AGENT, builtin.policy(), LimitRequest(idle=10.0))
    assert found.limits_json()["idleMs"] == {
        "value": 60000,
        "source": "argument, bounded by policy:agent-write",
        "asked": 10000,
    }


@pytest.mark.parametrize(
    ("line", "idle", "hard"),
    [
        ("codex exec -s read-only x", 120, 600),
        ("codex exec -s workspace-write x", 300, 1200),
        ("codex cloud exec x", None, None),
    ],
)
def test_agents_have_the_limits_of_their_mode(line: str, idle: float | None, hard: float | None) -> None:
    found = resolve(line, builtin.policy())
    assert (found.limits.idle, found.limits.hard) == (idle, hard)
    assert not found.never_ending


def test_bounds_of_the_policy_hold_where_the_category_has_none() -> None:
    policy = policy_of(bounds=Bounds(idle_max=30.0, hard_min=100.0))
    found = resolve("x", policy, LimitRequest(idle=45.0, hard=50.0))
    assert (found.limits.idle, found.limits.hard) == (30, 100)
    # the policy's own numbers are the policy's own business
    assert resolve("x", policy).limits.idle == 60


def test_timeout_sec_is_bounded_too() -> None:
    found = resolve(AGENT, builtin.policy(), LimitRequest(timeout_sec=20.0))
    assert found.limits.hard == 300
    assert found.sourced["hardMs"].asked == 20


def test_one_number_is_the_whole_time_and_leaves_the_silence_to_the_policy() -> None:
    for line in ("sleep 3", "make", "./build.sh", "npm test"):
        own = resolve(line, builtin.policy()).limits
        found = resolve(line, builtin.policy(), LimitRequest(timeout_sec=6.0))
        assert (found.limits.hard, found.limits.idle) == (6, own.idle)
        assert found.sourced["hardMs"].source == "argument:timeout_sec"


# -- category, environment, errors


def test_a_category_may_be_named_by_the_caller() -> None:
    found = resolve("ls", builtin.policy(), LimitRequest(category="extended"))
    assert (found.category, found.limits.hard, found.pattern) == ("extended", 3600, None)
    assert found.sourced["hardMs"].source == "policy:extended"
    with pytest.raises(UsageError, match=r"'nope'.*agent-cloud"):
        resolve("ls", builtin.policy(), LimitRequest(category="nope"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"idle": -1.0}, "^idle"),
        ({"--hard": float("nan")}, "^--hard"),
        ({"liveness": "pulse"}, "liveness"),
    ],
)
def test_limits_that_make_no_sense_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve("ls", builtin.policy(), read_limits(given))


def test_the_environment_prevents_known_hangs() -> None:
    env = resolve("git log", builtin.policy()).env
    assert env["GIT_PAGER"] == env["PAGER"] == "cat"
    assert env["GIT_TERMINAL_PROMPT"] == "0"
    assert env["DEBIAN_FRONTEND"] == "noninteractive"
    assert "CI" not in env


def test_ci_is_set_for_test_runners_but_not_beside_an_install() -> None:
    """Under CI, pnpm and yarn refuse to change the lock file, which an install may have to."""
    policy = builtin.policy()
    assert resolve("npm test", policy).env["CI"] == "1"
    assert resolve("npx vitest", policy).env["CI"] == "1"
    assert "CI" not in resolve("pnpm install && pnpm test", policy).env


def test_never_ending_pieces_that_do_not_hold_the_line() -> None:
    policy = builtin.policy()
    for line in ("timeout 5 npm run dev", "npm run dev & sleep 1", "(npm run dev; tail -f x) &"):
        found = resolve(line, policy)
        assert not found.never_ending, line
        assert found.limits.hard is not None, line
    assert resolve("npm run dev & wait", policy).never_ending


# -- history


def test_auto_asks_for_history_and_uses_it_when_there_is_enough() -> None:
    policy = builtin.policy()
    without = resolve("npm ci", policy, LimitRequest(idle="auto", hard="auto"))
    assert (without.limits.idle, without.limits.hard) == (300, 1800)
    found = resolve("npm ci", policy, LimitRequest(idle="auto", hard="auto"), history=lambda: Profile(37, 41.0, 8.0))
    assert found.limits.hard == 123
    assert found.sourced["hardMs"].source == "history: p95 41s of 37 runs ×3"
    assert found.limits.idle == 24
    few = resolve("npm ci", policy, LimitRequest(hard="auto"), history=lambda: Profile(9, 41.0, 8.0))
    assert few.limits.hard == 1800
    assert few.sourced["hardMs"].source == "policy:long"


def test_auto_of_a_category_is_learnt_within_its_bounds() -> None:
    text = """
    version = "1.0"
    default_category = "t"
    [categories.t]
    exec_timeout_sec = "auto"
    no_output_timeout_sec = "auto"
    [bounds.exec_timeout_sec]
    max = 100
    """
    policy = load(text, "t.toml", toml=True)
    found = resolve("x", policy, history=lambda: Profile(20, 41.0, 2.0))
    assert (found.limits.hard, found.limits.idle) == (100, 10)
    assert found.sourced["hardMs"].source.endswith("bounded by policy:t")
    assert found.sourced["idleMs"].source == "history: p95 2s of 20 runs ×3, floor 10s"
    assert resolve("x", policy, LimitRequest(hard=50.0), history=lambda: Profile(20, 41.0, 2.0)).limits.hard == 50
