"""The commands that an agent's tools run: the phase of each, and how long it may be silent. Pure."""

from __future__ import annotations

from unhang.core.limits import DEFAULT_IDLE
from unhang.core.policy import builtin
from unhang.core.policy.resolve import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.limits import Limits
    from unhang.core.policy.model import Policy

# More calls than this at once are calls whose end an agent never tells: the oldest are forgotten.
MOST_CALLS = 500
_CHECKS = (
    "test", "tests", "pytest", "unittest", "tox", "nox", "jest", "vitest", "mocha", "ctest", "rspec", "phpunit",
    "lint", "check", "verify", "eslint", "ruff", "mypy", "pyright", "tsc", "clippy", "shellcheck", "vet", "fmt",
)  # fmt: skip


def phase_of_command(line: str) -> str:
    """Return "verifying" or "running": `/usr/bin/pytest` and `npm run test:unit` check something, `touch tests/check`
    does not.
    """
    first, *rest = line.split()[:6] or [""]
    words = [first.rpartition("/")[2], *(part for word in rest if "/" not in word for part in word.split(":"))]
    return "verifying" if any(word in _CHECKS for word in words) else "running"


class CommandLimits:
    """How long the commands of an agent's tools may be silent, by the user's policy (None: the built-in one)."""

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy

    def idle_of(self, line: str) -> float:
        """Return seconds for one command.

        A model waits for it, so that a command without an idle limit has the default.
        """
        idle = self._limits(line).idle
        return DEFAULT_IDLE if idle is None else idle

    def hard_of(self, line: str) -> float | None:
        """Return how many seconds one command may take in all; None: as long as it likes."""
        return self._limits(line).hard

    def _limits(self, line: str) -> Limits:
        self._policy = self._policy or builtin.policy()
        return resolve(line, self._policy).limits
