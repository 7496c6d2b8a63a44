"""What `execute_with_timeout` says: the command came to its end, or its time was over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Completed:
    """The command ended by itself, or was killed by a request (`state`: finished or killed)."""

    exit_code: int | None
    signal: str | None
    output: str
    truncated: bool
    state: str
    job_id: str
    limits: dict[str, Any] = field(default_factory=dict)  # what was applied, and from where

    @property
    def ok(self) -> bool:
        """Return whether the exit code is 0."""
        return self.exit_code == 0


@dataclass(frozen=True)
class TimedOut:
    """It was ended: by the timeout, or by a limit of the policy that was shorter (`reason`)."""

    output: str
    truncated: bool
    exit_code: int | None
    signal: str | None
    reason: str  # exec_timeout, or no_output_timeout
    message: str
    job_id: str
    diagnosis: dict[str, Any] | None = None
    suggestions: tuple[str, ...] = ()
    limits: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Return False: the command did not come to its end."""
        return False
