"""What the watchdog can ask for. The keeper performs; it never decides.

Notices are for people and event streams and touch nothing; `Look`, `Interrupt`, `Terminate`, `Kill` and `Settle`
are work.
"""

from __future__ import annotations

from unhang.core.record import Record

# Why a tree is being ended. "leak": the leader ended by itself and something of its tree stayed.
IDLE = "idle"
HARD = "hard"
CANCELLED = "cancelled"
LEAK = "leak"


class Look(Record):
    """Sample the tree and tell `Looked`, then wake again. `full`: a notice may follow, collect evidence for it."""

    full: bool


class Stuck(Record):
    """Notice: silent, and no sign of progress, for `silent` seconds."""

    silent: float


class Quiet(Record):
    """Notice: silent, but working."""

    silent: float
    reason: str


class Resumed(Record):
    """Notice: a sign of life after a `Stuck`, `Quiet` or idle `Warned`. `asked`: a caller has sent input."""

    silent: float
    asked: bool = False


class Warned(Record):
    """Notice: `tier` will end the job in `left` seconds unless something changes.

    `budget`: what stands in the place of the idle limit, and is so long; empty: nothing does."""

    tier: str
    elapsed: float
    left: float
    budget: str = ""
    limit: float | None = None


class Extended(Record):
    """Notice: the deadline of `tier` is now `left` seconds away; `reason` says what moved it, for people.

    `asked`: a caller moved it, not the progress of the tree. `budget` as in `Warned`."""

    tier: str
    left: float
    reason: str
    asked: bool = False
    budget: str = ""


class LimitReached(Record):
    """Notice: a limit fired; `Terminate` follows at once. `budget` as in `Warned`."""

    tier: str
    elapsed: float
    budget: str = ""
    limit: float | None = None


class Interrupt(Record):
    """Send SIGINT, as Ctrl-C does, to the processes that a terminal would send it to."""

    reason: str


class Terminate(Record):
    """Ask every process of the tree politely (SIGTERM, SIGCONT)."""

    reason: str


class Kill(Record):
    """End every process of the tree (SIGKILL), again and again until none is left."""

    reason: str


class Settle(Record):
    """The end. `ending` is "exited" or one of the reasons above; `abandoned`: something outlived SIGKILL."""

    ending: str
    leaked: bool
    abandoned: bool


EXITED = "exited"

Notice = Stuck | Quiet | Resumed | Warned | Extended | LimitReached
Action = Look | Notice | Interrupt | Terminate | Kill | Settle
