"""Resolve a command, a policy and a caller's request to limits; each limit says where it comes from.

Precedence, for every limit by itself: the caller's own number (within the policy's bounds), `timeout_sec`, history
where "auto" was asked for and there is enough of it, the category of the command, the default. `timeout_sec` is the
hard limit; how long the command may be silent is still the policy's to say. Only a file that stands by itself (it does
not extend the built-in policy) has the rule of the servers that it comes from: idle = a quarter of `timeout_sec`, at
most 60 s and at least 1 s. The most generous category among the pieces
of a line wins, because the whole line must be able to finish.
"""

from __future__ import annotations

from unhang.core import limits as core_limits
from unhang.core.limit_request import LimitRequest
from unhang.core.limits import Limits, Sourced
from unhang.core.policy.builtin import NEVER_ENDING, SLOW_TO_END, categories, command_name
from unhang.core.policy.match import Verdict, by_table, judge
from unhang.core.policy.model import Bounds, Category, Piece, Policy, Resolution
from unhang.core.policy.shell.command_pieces import Part, pieces_of
from unhang.errors import UsageError

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unhang.core.limit_request import LimitValue
    from unhang.core.policy.learn import Profile

_NO_BOUNDS = Bounds()
# The rule of a file that stands by itself, for a caller who gives one number: silence may last a quarter of it, at most
# this.
_TIMEOUT_IDLE_MOST = 60.0
_TIMEOUT_IDLE_LEAST = 1.0


def resolve(
    command: Sequence[str] | str,
    policy: Policy,
    request: LimitRequest | None = None,
    history: Callable[[], Profile | None] | None = None,
    by_itself: Category | None = None,
) -> Resolution:
    """Return the limits of a command under a policy, as far as the caller may change them.

    `history` is called only if a limit is to be learnt: it reads the past runs of this command. `by_itself`: the
    category that it has if the caller asks for none; None: the one that its words lead to.
    """
    request = request or LimitRequest()
    parts = pieces_of(command)
    pieces, tags = _judged(parts, policy)
    winner = _most_generous(pieces, policy)
    never_ending = any(piece.never_ending for piece in pieces)
    own = by_itself or policy.categories[policy.default if winner is None else winner.category]
    category, pattern = own, None if winner is None else winner.pattern
    if request.category is not None:
        if request.category not in policy.categories:
            known = ", ".join(sorted(policy.categories))
            raise UsageError(f"no category {request.category!r} in policy {policy.name}; there are: {known}")
        category, pattern = policy.categories[request.category], None
        never_ending = category.never_ending
    bounds = category.bounds or policy.bounds or _NO_BOUNDS
    sourced = _sourced(category, policy, request, pattern, bounds, history)
    slow = None if "grace" in category.given or request.grace is not None else _slow_to_end(parts, tags)
    if slow is not None and category.grace < core_limits.LONG_GRACE:
        sourced["graceMs"] = Sourced(core_limits.LONG_GRACE, f"policy: {slow} is not to be killed half-way")
    warn, grace = sourced["warnMs"].value, sourced["graceMs"].value
    limits = Limits(
        stall=sourced["stallMs"].value,
        idle=sourced["idleMs"].value,
        hard=sourced["hardMs"].value,
        warn=0.0 if warn is None else warn,
        grace=0.0 if grace is None else grace,
        liveness=request.liveness or category.liveness,
        on_hung=request.on_hung or category.on_hung,
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
        limits.liveness,
        bounds,
        policy.name,
        request != LimitRequest() and _takes_more(limits, own),
    )


def with_stall_notice(found: Resolution, policy: Policy) -> Resolution:
    """Return the decision with a stall time for a command that never ends, where the built-in policy gives it none.

    For one that a caller waits for and no person sits at: a server that was run instead of started would hold its
    caller for ever, and nothing would be said. What the policy of a user switches off stays off.
    """
    if not found.never_ending or found.limits.stall is not None:
        return found
    if policy.categories[found.category] != categories().get(found.category):
        return found
    stall = core_limits.DEFAULT_STALL if policy.stall is None else policy.stall or None
    sourced = found.sourced | {"stallMs": Sourced(stall, "default" if policy.stall is None else "environment")}
    return found.replace(limits=found.limits.replace(stall=stall), sourced=sourced)


def waits_for_no_person(found: Resolution, policy: Policy) -> bool:
    """Return whether what the built-in policy lets go on for ever is an editor, of which a person has to take leave.

    Where no person can reach it, it is a command like any other, and has to have an end.
    """
    if found.category != "session" or policy.categories[found.category] != categories().get(found.category):
        return False
    from unhang.core.editors import EDITOR_STARTERS, EDITORS  # few commands are for a person

    endless = [command_name(piece.text.partition(" ")[0]) for piece in found.pieces if piece.never_ending]
    return bool(endless) and all(name in EDITORS or name in EDITOR_STARTERS for name in endless)


def _sourced(
    category: Category,
    policy: Policy,
    request: LimitRequest,
    pattern: str | None,
    bounds: Bounds,
    history: Callable[[], Profile | None] | None,
) -> dict[str, Sourced]:
    """Return every limit with its source."""
    from_category = _source(category, policy, request, pattern)
    timeout = request.timeout_sec
    quarter = None
    if timeout is not None and not policy.builtin:
        quarter = max(_TIMEOUT_IDLE_LEAST, min(timeout / 4, _TIMEOUT_IDLE_MOST))
    auto_idle = request.idle == "auto" or (request.idle is None and quarter is None and category.auto_idle)
    auto_hard = request.hard == "auto" or (request.hard is None and timeout is None and category.auto_hard)
    learnt_idle: tuple[float, str] | None = None
    learnt_hard: tuple[float, str] | None = None
    profile = history() if history is not None and (auto_idle or auto_hard) else None
    if profile is not None:
        from unhang.core.policy import learn

        learnt_idle = learn.limit(profile, "silence", policy.learn) if auto_idle else None
        learnt_hard = learn.limit(profile, "duration", policy.learn) if auto_hard else None
    idle_bounds, hard_bounds = (bounds.idle_min, bounds.idle_max), (bounds.hard_min, bounds.hard_max)
    idle = Sourced(category.idle, from_category)
    hard = Sourced(category.hard, from_category)
    return {
        "idleMs": _tier(request.idle, quarter, learnt_idle, idle, idle_bounds, category.name),
        "hardMs": _tier(request.hard, timeout, learnt_hard, hard, hard_bounds, category.name),
        "stallMs": _stall(request, policy, category, from_category),
        "warnMs": _unbounded(request.warn, category.warn, "warn", category, from_category, zero_is_off=False),
        "graceMs": _unbounded(request.grace, category.grace, "grace", category, from_category, zero_is_off=False),
    }


def _stall(request: LimitRequest, policy: Policy, category: Category, from_category: str) -> Sourced:
    if request.stall is None and policy.stall is not None and category.stall is not None:  # what is off stays off
        return Sourced(policy.stall or None, "environment")
    return _unbounded(request.stall, category.stall, "stall", category, from_category)


def _slow_to_end(parts: list[Part], tags: set[str]) -> str | None:
    """The command of a line that writes what a kill would leave half-written; None if there is none."""
    for part in parts:
        for words, _ in part.layers:
            name = command_name(words[0])
            if name in SLOW_TO_END or name.rstrip("0123456789.-") in SLOW_TO_END:
                return name
    return "a package manager" if "install" in tags else None


def _takes_more(applied: Limits, own: Category) -> bool:
    """Return whether the caller got more time than the policy gives to the command by itself."""
    return _is_longer(applied.idle, own.idle) or _is_longer(applied.hard, own.hard) or applied.liveness != own.liveness


def _is_longer(one: float | None, other: float | None) -> bool:
    return other is not None and (one is None or one > other)


def _judged(parts: list[Part], policy: Policy) -> tuple[tuple[Piece, ...], set[str]]:
    pieces: list[Piece] = []
    tags: set[str] = set()
    seen: dict[tuple[object, ...], Verdict] = {}
    waits = any(part.words[0] == "wait" for part in parts)
    meter = [0]
    for part in parts:
        # generated scripts repeat themselves; a verdict depends on the words alone
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
        pieces.append(Piece(part.text, category, pattern, endless, part.background, tuple(part.through), note))
    return tuple(pieces), tags


def _known_never_ending(part: Part) -> bool:
    """Return whether the built-in table knows the command as one that never ends, also under another policy."""
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


def _source(category: Category, policy: Policy, request: LimitRequest, pattern: str | None) -> str:
    if policy.name == "built-in" and request.category is None and pattern is None:
        return "default"
    return f"policy:{category.name}"


def _tier(
    asked: LimitValue,
    from_timeout: float | None,
    learnt: tuple[float, str] | None,
    fallback: Sourced,
    bounds: tuple[float | None, float | None],
    category: str,
) -> Sourced:
    if asked == 0:
        return _bounded(None, "argument", bounds, category)
    if asked is not None and asked != "auto":
        return _bounded(float(asked), "argument", bounds, category)
    if asked is None and from_timeout is not None:
        return _bounded(from_timeout, "argument:timeout_sec", bounds, category)
    if learnt is not None:
        return _bounded(learnt[0], learnt[1], bounds, category)
    return fallback


def _bounded(value: float | None, source: str, bounds: tuple[float | None, float | None], category: str) -> Sourced:
    """Return the value within the policy's bounds, with what was asked for where a bound changed it (0: off)."""
    least, most = bounds
    applied = value
    if most is not None and (applied is None or applied > most):
        applied = most
    if least is not None and applied is not None and applied < least:
        applied = least
    if applied == value:
        return Sourced(value, source)
    return Sourced(applied, f"{source}, bounded by policy:{category}", 0.0 if value is None else value)


def _unbounded(
    asked: LimitValue,
    fallback: float | None,
    name: str,
    category: Category,
    from_category: str,
    zero_is_off: bool = True,
) -> Sourced:
    if zero_is_off and asked == 0:
        return Sourced(None, "argument")
    if asked is not None and asked != "auto":
        return Sourced(float(asked), "argument")
    return Sourced(fallback, from_category if name in category.given else "default")


def _env(policy: Policy, category: Category, tags: set[str]) -> dict[str, str]:
    env = dict(policy.env or {})
    if "ci" in tags and "install" not in tags:
        env["CI"] = "1"
    env.update(category.env or {})
    return env
