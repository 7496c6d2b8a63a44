"""What whoever starts the server decides; every call is held to it."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.core.policy.model import Bounds

# Clients give up on a call after 60 s (the TypeScript SDK's default): an answer comes well before that.
WAIT = 45.0
LONGEST_WAIT = 3600.0
# What a caller may ask for where the policy sets no bounds of its own. An upper bound also forbids "off".
BOUNDS = Bounds(1.0, 86400.0, 1.0, 86400.0)


@dataclass(frozen=True)
class Settings:
    wait: float = WAIT
    longest_wait: float = LONGEST_WAIT
    first_progress: float = 5.0
    progress_every: float = 10.0
    # how long a command that never ends is given to print its first lines
    first_output: float = 2.0
    # running jobs of this server, and calls in flight; a model that starts more has lost its way
    max_jobs: int = 100
    max_calls: int = 200
    # of each stream, in one result: enough for a model, far from its context window
    output_bytes: int = 12_000
    policy: str | None = None
    allow_commands: tuple[str, ...] = ()
    deny_commands: tuple[str, ...] = ()
    allow_dirs: tuple[str, ...] = ()
    deny_dirs: tuple[str, ...] = ()
