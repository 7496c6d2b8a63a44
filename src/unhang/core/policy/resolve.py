"""The way in: a command, a policy and what the caller asked for become limits that can each say why.

Precedence, for every limit by itself: the caller's own number (within the policy's bounds), `timeout_sec`
(hard = that, idle = a quarter of it, at most 60 s and at least 1 s), history where "auto" was asked for and
there is enough of it, the category of the command, the default. The most generous category among the pieces
of a line wins, because the whole line has to be let finish.
"""

from __future__ import annotations

from unhang.core import limits as core_limits
from unhang.core.limit_request import LimitRequest
from unhang.core.limits import Limits, Sourced
from unhang.core.policy.builtin import NEVER_ENDING
from unhang.core.policy.match import Verdict, by_table, judge
from unhang.core.policy.model import Bounds, Category, Piece, Policy, Resolution
from unhang.core.policy.shell.pieces import Part, pieces_of
from unhang.errors import UsageError

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from collections.abc import Sequence

    from unhang.core.limit_request import LimitValue
    from unhang.core.policy.learn import Profile

_NO_BOUNDS = Bounds()
# The seed's rule for a caller who gives one number: silence may last a quarter of it, at most this.
_TIMEOUT_IDLE_MOST = 60.0
_TIMEOUT_IDLE_LEAST = 1.0


def resolve(
    command: Sequence[str] | str, policy: Policy, asked: LimitRequest | None = None, profile: Profile | None = None
) -> Resolution:
    """`profile` is the history of this command, needed only where `wants_history` says so."""
    asked = asked or LimitRequest()
    parts = pieces_of(command)
    pieces, tags = _judged(parts, policy)
    winner = _most_generous(pieces, policy)
    never_ending = any(piece.never_ending for piece in pieces)
    if asked.category is not None:
        if asked.category not in policy.categories:
            known = ", ".join(sorted(policy.categories))
            raise UsageError(f"no category {asked.category!r} in policy {policy.name}; there are: {known}")
        category = policy.categories[asked.category]
        never_ending = category.never_ending
        pattern = None
    else:
        category = policy.categories[policy.default if winner is None else winner.category]
        pattern = None if winner is None else winner.pattern
    bounds = _bounds(category, policy)
    auto_idle = asked.idle == "auto" or (asked.idle is None and asked.timeout_sec is None and category.auto_idle)
    auto_hard = asked.hard == "auto" or (asked.hard is None and asked.timeout_sec is None and category.auto_hard)
    learnt_idle: tuple[float, str] | None = None
    learnt_hard: tuple[float, str] | None = None
    if profile is not None and (auto_idle or auto_hard):
        from unhang.core.policy import learn

        learnt_idle = learn.limit(profile, "silence", policy.learn) if auto_idle else None
        learnt_hard = learn.limit(profile, "duration", policy.learn) if auto_hard else None
    from_category = _source(category, policy, asked, pattern)
    timeout = asked.timeout_sec
    quarter = None if timeout is None else max(_TIMEOUT_IDLE_LEAST, min(timeout / 4, _TIMEOUT_IDLE_MOST))
    idle = _tier(
        asked.idle,
        quarter,
        learnt_idle,
        category.idle,
        from_category,
        (bounds.idle_min, bounds.idle_max),
        category.name,
    )
    hard = _tier(
        asked.hard,
        timeout,
        learnt_hard,
        category.hard,
        from_category,
        (bounds.hard_min, bounds.hard_max),
        category.name,
    )
    sourced = {
        "idleMs": idle,
        "hardMs": hard,
        "stallMs": _plain(asked.stall, category.stall, "stall", category, from_category),
        "warnMs": _plain(asked.warn, category.warn, "warn", category, from_category, zero_is_off=False),
        "graceMs": _plain(asked.grace, category.grace, "grace", category, from_category, zero_is_off=False),
    }
    liveness = asked.liveness or category.liveness
    warn, grace = sourced["warnMs"].value, sourced["graceMs"].value
    limits = Limits(
        stall=sourced["stallMs"].value,
        idle=idle.value,
        hard=hard.value,
        warn=0.0 if warn is None else warn,
        grace=0.0 if grace is None else grace,
        liveness=liveness,
        on_hung=asked.on_hung or category.on_hung,
    )
    wrong = core_limits.check(limits)
    if wrong is not None:
        raise UsageError(wrong)
    return Resolution(
        limits,
        sourced,
        category.name,
        never_ending,
        _env(policy, category, tags),
        policy.retry if category.retry is None else category.retry,
        pieces,
        pattern,
        liveness,
        bounds,
        policy.name,
        auto_idle or auto_hard,
    )


def _judged(parts: list[Part], policy: Policy) -> tuple[tuple[Piece, ...], set[str]]:
    pieces: list[Piece] = []
    tags: set[str] = set()
    seen: dict[tuple[object, ...], Verdict] = {}
    waits = any(part.words[0] == "wait" for part in parts)
    meter = [0]
    for part in parts:
        # generated scripts repeat themselves; a verdict depends on nothing but the words
        key = (part.words, len(part.layers), part.endless)
        verdict = seen.get(key)
        if verdict is None:
            verdict = seen[key] = judge(part, policy, meter)
        tags.add(verdict.tag)
        category, pattern, note = verdict.category, verdict.pattern, verdict.note
        endless = policy.categories[category].never_ending or (part.endless and verdict.pattern is not None)
        if not endless and not policy.builtin and pattern is None:
            endless = _known_never_ending(part)
        if endless and (part.bounded or (part.background and not waits)):
            # the line as a whole ends without it
            note = "ended by timeout" if part.bounded else "runs in the background of the shell"
            if policy.categories[category].never_ending:
                category = policy.default
            endless = False
        pieces.append(Piece(part.shown, category, pattern, endless, part.background, tuple(part.through), note))
    return tuple(pieces), tags


def _known_never_ending(part: Part) -> bool:
    """What never ends is a fact about the command, also under a policy that does not mention it."""
    found = by_table(part)
    return found is not None and found.category in NEVER_ENDING


def _most_generous(pieces: tuple[Piece, ...], policy: Policy) -> Piece | None:
    best: Piece | None = None
    most: tuple[float, float] = (-1.0, -1.0)
    for piece in pieces:
        generosity = policy.categories[piece.category].generosity()
        if generosity > most:
            best, most = piece, generosity
    return best


def _bounds(category: Category, policy: Policy) -> Bounds:
    return category.bounds or policy.bounds or _NO_BOUNDS


def _source(category: Category, policy: Policy, asked: LimitRequest, pattern: str | None) -> str:
    if policy.name == "built-in" and asked.category is None and pattern is None:
        return "default"
    return f"policy:{category.name}"


def _tier(
    wish: LimitValue,
    from_timeout: float | None,
    learnt: tuple[float, str] | None,
    fallback: float | None,
    from_category: str,
    bounds: tuple[float | None, float | None],
    category: str,
) -> Sourced:
    if wish == 0:
        return _bounded(None, "argument", bounds, category)
    if wish is not None and wish != "auto":
        return _bounded(float(wish), "argument", bounds, category)
    if wish is None and from_timeout is not None:
        return _bounded(from_timeout, "argument:timeout_sec", bounds, category)
    if learnt is not None:
        return _bounded(learnt[0], learnt[1], bounds, category)
    return Sourced(fallback, from_category)


def _bounded(value: float | None, source: str, bounds: tuple[float | None, float | None], category: str) -> Sourced:
    """What the policy lets a caller have, and what was asked for where that is something else (0: off)."""
    least, most = bounds
    applied = value
    if most is not None and (applied is None or applied > most):
        applied = most
    if least is not None and applied is not None and applied < least:
        applied = least
    if applied == value:
        return Sourced(value, source)
    return Sourced(applied, f"{source}, bounded by policy:{category}", 0.0 if value is None else value)


def _plain(
    wish: LimitValue,
    fallback: float | None,
    name: str,
    category: Category,
    from_category: str,
    zero_is_off: bool = True,
) -> Sourced:
    if zero_is_off and wish == 0:
        return Sourced(None, "argument")
    if wish is not None and wish != "auto":
        return Sourced(float(wish), "argument")
    return Sourced(fallback, from_category if name in category.given else "default")


def _env(policy: Policy, category: Category, tags: set[str]) -> dict[str, str]:
    env = dict(policy.env or {})
    if "ci" in tags and "install" not in tags:
        env["CI"] = "1"
    env.update(category.env or {})
    return env
