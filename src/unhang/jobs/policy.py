"""The policy file that holds for a command, found or read for callers that need not know where such files are."""

from __future__ import annotations

import os

from unhang.store import home as homes
from unhang.store import policy_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.policy.model import Policy


def find_policy(file: str | None, cwd: str) -> Policy:
    """Return the policy in `file`; without one, the policy that holds in the directory `cwd`. Raises UsageError."""
    return policy_file.find(file, cwd, os.environ)


def untrusted_policies(cwd: str) -> dict[str, str]:
    """Return each policy file that would hold in the directory `cwd` and is passed over, and what is said of it."""
    return {path: homes.not_believed(path) for path in policy_file.untrusted(cwd, os.environ)}


def stall_of_environment() -> float | None:
    """Return the stall time that $UNHANG_STALL sets (0: off); None: it sets none. Raises UsageError."""
    return policy_file.stall_of(os.environ)


def read_policy(path: str) -> Policy:
    """Read and check one policy file, by the rules that hold for it when `run` finds it.

    Raises UsageError, with line and column where there is one.
    """
    return policy_file.read(path, trusted=not policy_file.is_of_a_project(path))


def is_built_in(policy: Policy) -> bool:
    """Return whether this is the built-in policy, and not one of a file."""
    return policy.name == policy_file.BUILT_IN
