"""The types of a policy: categories with their limits, the patterns that lead to them, and the resolution.

    Policy ── categories (name → Category: limits, bounds, env, retry)
           └─ patterns   (regular expressions of the user's file, each leading to one category)

    command ── shell/ ──> pieces ── match.py ──> a category each ── resolve.py ──> Resolution

Durations are seconds; None is "off". `file/load.py` makes a Policy of a file, `resolve.py` applies it to a command.
"""

from __future__ import annotations

from unhang.core.limits import DEFAULT_GRACE, DEFAULT_HARD, DEFAULT_IDLE, DEFAULT_STALL, DEFAULT_WARN, Limits, Sourced
from unhang.core.record import Record

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.policy.learn import Learn
    from unhang.core.policy.regex.match import CompiledPattern


class Bounds(Record):
    """What a caller may ask for. None: no bound on that side. A maximum also forbids "off"."""

    idle_min: float | None = None
    idle_max: float | None = None
    hard_min: float | None = None
    hard_max: float | None = None


class Category(Record):
    """A kind of command and the limits that its members get."""

    name: str
    idle: float | None = DEFAULT_IDLE
    hard: float | None = DEFAULT_HARD
    stall: float | None = DEFAULT_STALL
    warn: float = DEFAULT_WARN
    grace: float = DEFAULT_GRACE
    liveness: str = "progress"
    on_hung: str = "wait"
    never_ending: bool = False
    description: str = ""
    # Learnt from history once there is enough of it; until then `idle` and `hard` above are what is used.
    auto_idle: bool = False
    auto_hard: bool = False
    bounds: Bounds | None = None
    env: dict[str, str] | None = None
    retry: int | None = None
    # Which of stall, warn, grace, liveness were written down: the others are shown as "default".
    given: frozenset[str] = frozenset()

    def generosity(self) -> tuple[float, float]:
        """Return what the most generous has most of: the latest certain end; what never ends is the most generous of
        all.
        """
        infinite = float("inf")
        return (infinite if self.hard is None else self.hard, infinite if self.idle is None else self.idle)


class Policy(Record):
    """A whole policy: its categories, the patterns that lead to them, and what holds for all of them."""

    name: str
    categories: dict[str, Category]
    default: str
    # (category, text, compiled): the compiled form knows how to match, see `regex/match.py`
    patterns: tuple[tuple[str, str, CompiledPattern], ...] = ()
    # Ask the built-in table about commands that no pattern of this file claims.
    builtin: bool = False
    bounds: Bounds | None = None
    env: dict[str, str] | None = None
    # How often a run that timed out is tried again, where the diagnosis says that it may help.
    retry: int = 0
    # How "auto" limits follow from history; None: as `learn.Learn` has it.
    learn: Learn | None = None
    # The stall time that holds for every category, whatever the file says (0: off); None: the category's own.
    stall: float | None = None
    description: str = ""


class Piece(Record):
    """One simple command of the line and what was made of it."""

    text: str
    category: str
    pattern: str | None = None
    never_ending: bool = False
    background: bool = False
    through: tuple[str, ...] = ()
    note: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the piece as `unhang policy explain` and results show it."""
        shown: dict[str, Any] = {"command": self.text, "category": self.category, "pattern": self.pattern}
        shown["neverEnding"] = self.never_ending
        if self.background:
            shown["background"] = True
        if self.through:
            shown["through"] = list(self.through)
        if self.note:
            shown["note"] = self.note
        return shown


class Resolution(Record):
    """What a policy decided about one command: its limits, their sources and the pieces that led to them."""

    limits: Limits
    sourced: dict[str, Sourced]
    category: str
    never_ending: bool
    env: dict[str, str]
    retry: int
    pieces: tuple[Piece, ...]
    pattern: str | None
    liveness: str
    bounds: Bounds
    policy: str
    # The caller got more time than the policy gives by itself; such a run does not teach (`learn.teaches`).
    argued: bool = False

    def limits_json(self) -> dict[str, Any]:
        """Return every limit with its value and its source, as results show them."""
        return {name: sourced.to_json() for name, sourced in self.sourced.items()}

    def to_json(self) -> dict[str, Any]:
        """Return what `policy explain --json` prints, and what every other face shows."""
        return {
            "category": self.category,
            "neverEnding": self.never_ending,
            "pattern": self.pattern,
            "policy": self.policy,
            "liveness": self.liveness,
            "limits": self.limits_json(),
            "retry": self.retry,
            "env": self.env,
            "pieces": [piece.to_json() for piece in self.pieces],
        }
