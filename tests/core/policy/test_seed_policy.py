"""The policy file that this grew from, byte for byte, and the acceptance list that came with it.

Its traps are decided here: the longest match wins and ends with a word, a line is judged piece by piece, and a quarter
of a tiny `timeout_sec` is never under a second. What the engine does with the limits (items 3, 4 and 5: both enforced,
TERM before KILL, the response) is tested where the engine is; here is what it is given.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.core.limit_request import LimitRequest
from unhang.core.policy.file.load import load
from unhang.core.policy.match import MOST_WORK, judge
from unhang.core.policy.model import Policy
from unhang.core.policy.resolve import resolve
from unhang.core.policy.shell.command_pieces import pieces_of


@pytest.fixture(scope="module")
def seed() -> Policy:
    path = Path(__file__).parent / "seed_policy.json"
    return load(path.read_text(encoding="utf-8"), str(path))


def limits(policy: Policy, line: str, timeout_sec: float | None = None) -> tuple[float | None, float | None]:
    found = resolve(line, policy, LimitRequest(timeout_sec=timeout_sec)).limits
    return found.hard, found.idle


def test_1_it_is_loaded_as_it_stands(seed: Policy) -> None:
    assert list(seed.categories) == ["quick", "medium", "long", "extended"]
    assert seed.default == "medium"
    assert len(seed.patterns) == 12
    assert not seed.builtin


@pytest.mark.parametrize(
    ("line", "category", "hard", "idle"),
    [
        ("ls -la", "quick", 30, 10),
        ("Get-ChildItem C:\\x", "quick", 30, 10),
        ("git status", "quick", 30, 10),
        ("GIT STATUS", "quick", 30, 10),
        ("whoami", "quick", 30, 10),
        ("pwsh -File build.ps1 -Fast", "medium", 120, 30),
        ("npm test", "medium", 120, 30),
        ("python tool.py", "medium", 120, 30),
        ("npm install --dry-run", "long", 600, 60),
        ("cargo build", "long", 600, 60),
        ("git clone https://example.com/x", "long", 600, 60),
        ("pip install x", "long", 600, 60),
        ("cargo build --release", "extended", 900, 120),
        ("npm run build:prod", "extended", 900, 120),
        ("llamafactory-cli train cfg.yaml", "extended", 900, 120),
        ("something unknown", "medium", 120, 30),
    ],
)
def test_2a_limits_come_from_the_pattern(seed: Policy, line: str, category: str, hard: float, idle: float) -> None:
    found = resolve(line, seed)
    assert (found.category, found.limits.hard, found.limits.idle) == (category, hard, idle)
    assert found.sourced["hardMs"].source == f"policy:{category}"


@pytest.mark.parametrize(
    ("timeout_sec", "idle"), [(30, 7.5), (120, 30), (300, 60), (600, 60), (3, 1), (1, 1), (4.4, 1.1)]
)
def test_2b_a_callers_number_wins(seed: Policy, timeout_sec: float, idle: float) -> None:
    """hard = that; idle = a quarter, at most 60 s; the seed's `//` made 0 of a quarter of 3."""
    found = resolve("npm install", seed, LimitRequest(timeout_sec=timeout_sec))
    assert found.limits.hard == timeout_sec
    assert found.limits.idle == pytest.approx(idle)
    assert found.sourced["hardMs"].source == "argument:timeout_sec"


def test_3_both_limits_are_always_there(seed: Policy) -> None:
    for line in ("ls", "npm ci", "x", "", "npm install && ls"):
        hard, idle = limits(seed, line)
        assert hard is not None
        assert idle is not None


def test_4_five_seconds_lie_between_term_and_kill(seed: Policy) -> None:
    assert resolve("npm install", seed).limits.grace == 5


@pytest.mark.parametrize(
    ("line", "timeout_sec", "hard", "idle"),
    [
        ("echo 'timeout test 1'", 30, 30, 7.5),
        ("Start-Sleep -Seconds 600", 120, 120, 30),
        (
            "for ($i=0; $i -lt 100; $i++) { Start-Sleep -Seconds 10; Write-Host 'still running' }",
            60,
            60,
            15,
        ),
        ("npm install --dry-run", 300, 300, 60),
    ],
)
def test_6_the_four_test_commands_get_their_limits(
    seed: Policy, line: str, timeout_sec: float, hard: float, idle: float
) -> None:
    assert limits(seed, line, timeout_sec) == (hard, idle)


# -- the traps


def test_the_longest_match_wins_not_the_first_category(seed: Policy) -> None:
    found = resolve("cargo build --release -j 4", seed)
    assert (found.category, found.pattern) == ("extended", "cargo build --release")


@pytest.mark.parametrize("line", ["lsof -i", "catalina run", "typeset x", "datefudge now", "echoes", "dirname-x y"])
def test_a_match_ends_with_a_word(seed: Policy, line: str) -> None:
    found = resolve(line, seed)
    assert (found.category, found.pattern) == ("medium", None)


@pytest.mark.parametrize(
    ("line", "category"),
    [
        ("git status && git push", "long"),
        ("git log | cat; git pull", "long"),
        ("git diff; git clone x", "long"),
        ("git log --grep=pull", "quick"),
        ("git diff feature/push", "medium"),
        ("cd x && FOO=1 sudo npm install | tee log", "long"),
    ],
)
def test_the_look_ahead_is_not_needed_where_lines_are_split(seed: Policy, line: str, category: str) -> None:
    """`(?!.*push|pull|clone)` binds .* to push alone; the pieces of a line are judged by themselves instead."""
    assert resolve(line, seed).category == category


def test_a_line_of_a_thousand_commands_costs_a_bounded_amount(seed: Policy) -> None:
    meter = [0]
    line = "; ".join(f"python tool{number}.py {'x' * 80}" for number in range(2000))
    for part in pieces_of(line):
        judge(part, seed, meter)
    assert meter[0] < 2 * MOST_WORK
    assert resolve(line, seed).category == "medium"


def test_what_never_ends_is_known_even_where_the_file_does_not_say_so(seed: Policy) -> None:
    found = resolve("npm run dev", seed)
    assert found.never_ending
    assert found.category == "medium"
    assert found.limits.hard == 120
