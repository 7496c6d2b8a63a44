"""The settings of a server, given when it is started. They hold for every call."""

from __future__ import annotations

from unhang.core.policy.model import Bounds
from unhang.core.record import Record

# Clients give up on a call after 60 s (the default of the TypeScript SDK); the answer must come before that.
WAIT = 45.0
LONGEST_WAIT = 3600.0
# The limits that a caller may ask for if the policy sets no bounds. An upper bound also forbids "off".
BOUNDS = Bounds(1.0, 86400.0, 1.0, 86400.0)
# Servers that this one can stand in for.
DELEGATOR, MYSHELL = "delegator", "myshell"


class Settings(Record):
    """What the options of `unhang mcp` decide; times are in seconds."""

    wait: float = WAIT
    longest_wait: float = LONGEST_WAIT
    first_progress: float = 5.0
    progress_every: float = 10.0
    # how long the answer waits for the first lines of a command that never ends
    first_output: float = 4.0
    # the most running jobs of this server, and calls in flight; a model that needs more has made a mistake
    max_jobs: int = 100
    max_calls: int = 200
    # of each stream, in one result: enough for a model, and small beside its context window
    output_bytes: int = 12_000
    policy: str | None = None
    # for clients that know only numbers: the exitCode of a result that has none is -1
    compat: bool = False
    # the server whose tools are offered under their own names, too: DELEGATOR or MYSHELL (tools/aliases.py)
    aliases: str = ""
    allow_commands: tuple[str, ...] = ()
    deny_commands: tuple[str, ...] = ()
    allow_dirs: tuple[str, ...] = ()
    deny_dirs: tuple[str, ...] = ()
