"""`unhang policy check`: what is allowed in a policy file and yet almost certainly not meant.

The file has been loaded, so it is valid. Whether one pattern makes another unreachable is decided by
trying: a few commands are made that a pattern matches, and if all of them go to other patterns, no command
reaches it.
"""

from __future__ import annotations

from unhang.core.durations import human
from unhang.core.policy.model import Category, Policy
from unhang.core.policy.regex.examples import examples_of
from unhang.core.policy.regex.parse import Node, RegexError, parse
from unhang.core.record import Record


class LintFinding(Record):
    """One thing in a policy file that is allowed and almost certainly not meant."""

    level: str  # "error" | "warning"
    message: str
    # where in the file: keys and indices, for `position.py`
    path: tuple[str | int, ...] = ()


# Steps of the matcher for all patterns together, some seconds; and what a person will read.
_MOST_WORK = 2_000_000
_MOST_FINDINGS = 200


def lint(policy: Policy) -> list[LintFinding]:
    """Return every finding about a policy that has been loaded; an empty list if there is none."""
    found: list[LintFinding] = []
    for category in policy.categories.values():
        found += _category(category)
    used = {category for category, _, _ in policy.patterns} | {policy.default}
    if not policy.builtin:
        found += [
            LintFinding("warning", f"no pattern leads to category {name!r}", ("categories", name))
            for name in policy.categories
            if name not in used
        ]
    places: dict[str, int] = {}
    meter = [0]
    for category_name, text, _ in policy.patterns:
        index = places.get(category_name, 0)
        places[category_name] = index + 1
        path = ("command_patterns", category_name, index)
        if meter[0] > _MOST_WORK or len(found) > _MOST_FINDINGS:
            found.append(LintFinding("warning", "not looked at from here on: it would take too long", path))
            break
        found += [LintFinding("warning", message, path) for message in _pattern(policy, category_name, text, meter)]
    return found


def _category(category: Category) -> list[LintFinding]:
    path = ("categories", category.name)
    found: list[LintFinding] = []
    if category.idle is not None and category.hard is not None and category.idle > category.hard:
        found.append(
            LintFinding(
                "warning",
                f"category {category.name!r}: idle {human(category.idle)} is longer than"
                f" hard {human(category.hard)} and can never be reached",
                (*path, "no_output_timeout_sec"),
            )
        )
    bounds = category.bounds
    if bounds is not None:
        for name, value, least, most in (
            ("no_output_timeout_sec", category.idle, bounds.idle_min, bounds.idle_max),
            ("exec_timeout_sec", category.hard, bounds.hard_min, bounds.hard_max),
        ):
            if (value is None and most is not None) or (
                value is not None and not (least or 0) <= value <= (most if most is not None else value)
            ):
                found.append(
                    LintFinding(
                        "warning",
                        f"category {category.name!r}: its own {name} is outside its bounds",
                        (*path, name),
                    )
                )
    if category.never_ending and category.hard is not None:
        found.append(
            LintFinding(
                "warning",
                f"category {category.name!r} never ends but has a hard limit",
                (*path, "exec_timeout_sec"),
            )
        )
    return found


def _pattern(policy: Policy, category: str, text: str, meter: list[int]) -> list[str]:
    messages: list[str] = []
    try:
        tree = parse(text)
    except RegexError:  # pragma: no cover - it was loaded
        return []
    if _nested_repetition(tree, False):
        messages.append(f"{text!r}: a repetition inside a repetition; harmless here, slow or endless in other tools")
    if _branch_of_lookahead(text):
        messages.append(f"{text!r}: the alternatives of a look-ahead: .* binds to the first one only")
    examples = examples_of(tree)
    claimed = [_winner(policy, example, meter) for example in examples]
    mine = [winner for winner in claimed if winner == (category, text)]
    if examples and not any(claimed):
        messages.append(f"{text!r}: matches no whole words; does it need a \\S* at its end?")
    elif examples and not mine:
        other = next(winner for winner in claimed if winner is not None)
        messages.append(f"{text!r} ({category}) can never win: {other[1]!r} ({other[0]}) matches the same or more")
    if _matches_anything(policy, text):
        messages.append(
            f"{text!r}: matches every command, and being longest wins over all others; use default_category"
        )
    return messages


def _winner(policy: Policy, command: str, meter: list[int]) -> tuple[str, str] | None:
    best: tuple[int, tuple[float, float], str, str] | None = None
    for category, text, program in policy.patterns:
        end = program.match(command, meter)
        if end:
            rank = (end, policy.categories[category].generosity(), category, text)
            if best is None or rank > best:
                best = rank
    return None if best is None else (best[2], best[3])


def _matches_anything(policy: Policy, text: str) -> bool:
    program = next(program for _, own, program in policy.patterns if own == text)
    strangers = ("zq7 --flag value", "/opt/x9/bin/kk 1 2 3", "ü é")
    return all(program.match(stranger) == len(stranger) for stranger in strangers)


def _nested_repetition(node: Node, inside: bool) -> bool:
    kind = node[0]
    if kind in ("seq", "alt"):
        return any(_nested_repetition(item, inside) for item in node[1])  # type: ignore[attr-defined]
    if kind == "look":
        return _nested_repetition(node[3], inside)  # type: ignore[arg-type]
    if kind == "rep":
        unbounded = node[3] is None
        return (inside and unbounded) or _nested_repetition(node[1], inside or unbounded)  # type: ignore[arg-type]
    return False


def _branch_of_lookahead(text: str) -> bool:
    """`(?!.*push|pull)` reads as "neither push nor pull anywhere" and means something else."""
    start = text.find("(?!.*")
    if start < 0:
        return False
    end = text.find(")", start)
    inside = text[start + 5 : end]
    return "|" in inside and not inside.startswith("(")
