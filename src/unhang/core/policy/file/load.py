"""Text to Policy, or an error that says where: nothing runs under a half-read policy.

    {"version": "1.0",
     "categories": {"long": {"exec_timeout_sec": 600, "no_output_timeout_sec": 60}},
     "command_patterns": {"long": ["^npm (ci|install)"]},
     "default_category": "long"}

JSON or TOML; the same keys in both. What a key may hold is in `keys.py`. `"extends": "built-in"` starts
from the built-in categories and leaves unclaimed commands to its table; without it the file is the whole
truth. An unknown key is an error, because a misspelt limit that is ignored is a limit that does not hold;
keys that begin with `$` or `x-` are free.
"""

from __future__ import annotations

from typing import Any

from unhang.core import settings_text
from unhang.core.limits import DEFAULT_HARD, DEFAULT_IDLE, LONG_GRACE
from unhang.core.plain_text import escaped
from unhang.core.policy import builtin
from unhang.core.policy.file import keys, position
from unhang.core.policy.file.keys import FieldError
from unhang.core.policy.learn import Learn
from unhang.core.policy.model import Category, Policy
from unhang.core.policy.regex.match import CompiledPattern
from unhang.core.policy.regex.parse import RegexError
from unhang.errors import UsageError

LARGEST = 1 << 20
# Of a file that came with a project: its author may want to keep us busy.
LARGEST_OF_A_PROJECT = 1 << 18
MOST_PATTERNS = 2000
# Instructions of all patterns together: some 0.2 s and 20 MB. A pattern has about as many as it has characters.
_MOST_INSTRUCTIONS = 50_000
_LONGEST_PATTERN = 2000
_LONGEST_MESSAGE = 300

_TOP = frozenset(
    {"version", "description", "extends", "categories", "command_patterns", "default_category", "learn"}
) | keys.SHARED  # fmt: skip
_IN_CATEGORY = frozenset({"description", "exec_timeout_sec", "no_output_timeout_sec", "never_ending"}) | keys.SHARED


class PolicyError(UsageError):
    """One line: the file, the line and column, what is wrong."""


# what a category takes over from the file, unless it says otherwise itself
_TIERS = ("liveness", "on_hung", "stall", "warn", "grace")


def load(text: str, name: str, toml: bool = False, trusted: bool = True) -> Policy:
    """Read a policy; `trusted` is False for a file that came with a project: it may set only harmless variables."""
    largest = LARGEST if trusted else LARGEST_OF_A_PROJECT
    if len(text) > largest:
        raise PolicyError(f"{name}: a policy file of more than {'1 MiB' if trusted else '256 KiB'}")
    text = text.removeprefix("\ufeff")
    data = _parse(text, name, toml)
    try:
        return _policy(data, name, trusted)
    except FieldError as problem:
        find = position.in_toml if toml else position.in_json
        line, column = find(text, problem.path)
        raise PolicyError(f"{name}:{line}:{column}: {escaped(str(problem), _LONGEST_MESSAGE)}") from None


def _parse(text: str, name: str, toml: bool) -> dict[str, Any]:
    if toml:
        try:
            return settings_text.toml(text)
        except ValueError as error:
            what, line, column = _toml_place(str(error), text)
            raise PolicyError(f"{name}:{line}:{column}: {escaped(what, _LONGEST_MESSAGE)}") from None
    import json

    try:
        settings_text.measure(text, toml=False)
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise PolicyError(f"{name}:{error.lineno}:{error.colno}: {error.msg}") from None
    except _TwiceError as twice:
        line, column = _second(text, str(twice))
        key = escaped(str(twice), _LONGEST_MESSAGE)
        raise PolicyError(f"{name}:{line}:{column}: {key} stands twice in one object") from None
    except settings_text.TooMuch as error:
        line, column = position.line_column(text, error.at)
        raise PolicyError(f"{name}:{line}:{column}: {error}") from None
    except ValueError as error:
        raise PolicyError(f"{name}:1:1: {escaped(str(error), _LONGEST_MESSAGE)}") from None
    except RecursionError:
        raise PolicyError(f"{name}:1:1: nested too deep") from None
    if not isinstance(data, dict):
        raise PolicyError(f"{name}:1:1: a policy is an object, not {keys.kind_of(data)}")
    return data


def _toml_place(message: str, text: str) -> tuple[str, int, int]:
    """tomllib says it in words: "… (at line 3, column 7)" or "(at end of document)"."""
    what, _, place = message.rpartition(" (at ")
    numbers = [int(part) for part in place.rstrip(")").replace(",", " ").split() if part.isdigit()]
    if len(numbers) == 2:
        return what, numbers[0], numbers[1]
    line, column = position.line_column(text, len(text))
    return what or message, line, column


class _TwiceError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            import json

            raise _TwiceError(json.dumps(key, ensure_ascii=False))
        made[key] = value
    return made


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number that a limit can have")


def _second(text: str, quoted: str) -> tuple[int, int]:
    first = text.find(quoted)
    return position.line_column(text, max(text.find(quoted, first + 1), 0))


def _policy(data: dict[str, Any], name: str, trusted: bool) -> Policy:
    keys.known_keys(data, _TOP, ())
    keys.version(data)
    extends = data.get("extends")
    if extends not in (None, "built-in"):
        raise FieldError('extends can only be "built-in"', ("extends",))
    shared = keys.shared(data, (), trusted)
    categories = _categories(data, shared, extends is not None, trusted)
    default = _default(data, categories, extends is not None)
    return Policy(
        name,
        categories,
        default,
        _patterns(data, categories),
        builtin=extends is not None,
        bounds=shared.get("bounds"),
        env={**(builtin.ENV if extends else {}), **shared.get("env", {})},
        retry=shared.get("retry", 0),
        learn=_learn(data),
        description=keys.text(data, "description", ()),
    )


def _categories(data: dict[str, Any], shared: dict[str, Any], extends: bool, trusted: bool) -> dict[str, Category]:
    made = builtin.categories() if extends else {}
    defaults: dict[str, Any] = {key: shared[key] for key in _TIERS if key in shared}
    if defaults and made:
        made = {
            name: category.replace(**defaults, given=category.given | frozenset(defaults))
            for name, category in made.items()
        }
    listed = data.get("categories", {} if extends else None)
    if not isinstance(listed, dict) or (not listed and not extends):
        raise FieldError("categories is missing or no object: name at least one category", ("categories",))
    for name, body in listed.items():
        path = ("categories", name)
        if not isinstance(body, dict):
            raise FieldError(f"category {name!r} must be an object", path)
        if not name or len(name) > 100 or not name.isprintable():
            raise FieldError("a category needs a short printable name", path)
        # a file that stands by itself has the grace of the servers that such files come from
        plain = Category(name) if extends else Category(name, grace=LONG_GRACE)
        made[name] = _category(body, path, defaults, made.get(name), plain, trusted)
    return made


def _category(
    body: dict[str, Any],
    path: tuple[str, ...],
    defaults: dict[str, Any],
    base: Category | None,
    plain: Category,
    trusted: bool,
) -> Category:
    keys.known_keys(body, _IN_CATEGORY, path)
    own = keys.shared(body, path, trusted)
    never_ending = body.get("never_ending", base.never_ending if base else False)
    if not isinstance(never_ending, bool):
        raise FieldError("never_ending is true or false", (*path, "never_ending"))
    hard, auto_hard = _tier(body, "exec_timeout_sec", path, DEFAULT_HARD, never_ending, base.hard if base else None)
    idle, auto_idle = _tier(
        body, "no_output_timeout_sec", path, DEFAULT_IDLE, never_ending, base.idle if base else None
    )
    if base is not None:
        hard = hard if "exec_timeout_sec" in body else base.hard
        idle = idle if "no_output_timeout_sec" in body else base.idle
    if "no_output_timeout_sec" not in body and idle is not None and hard is not None:
        idle = min(idle, hard)  # what was not written is not longer than what was
    made = base or plain.replace(**defaults, given=frozenset(defaults))
    tiers = {key: own[key] for key in _TIERS if key in own}
    return made.replace(
        idle=idle,
        hard=hard,
        auto_idle=auto_idle,
        auto_hard=auto_hard,
        never_ending=never_ending,
        description=keys.text(body, "description", path) or made.description,
        bounds=own.get("bounds", made.bounds),
        env=own.get("env", made.env),
        retry=own.get("retry", made.retry),
        given=made.given | frozenset(tiers),
        **tiers,
    )


def _tier(
    body: dict[str, Any],
    key: str,
    path: tuple[str, ...],
    default: float,
    never_ending: bool,
    base: float | None,
) -> tuple[float | None, bool]:
    """A limit and whether history may set it; the number is what holds until there is enough of that."""
    if key not in body:
        return (None if never_ending else default), False
    if body[key] == "auto":
        return (base if base is not None else default), True
    return keys.limit(body[key], (*path, key)), False


def _default(data: dict[str, Any], categories: dict[str, Category], extends: bool) -> str:
    default = data.get("default_category", builtin.DEFAULT if extends else None)
    if default is None:
        raise FieldError("default_category is missing: which category do unknown commands get?", ())
    if not isinstance(default, str) or default not in categories:
        raise FieldError(f"default_category names no category: {default!r}", ("default_category",))
    return default


def _patterns(data: dict[str, Any], categories: dict[str, Category]) -> tuple[tuple[str, str, CompiledPattern], ...]:
    listed = data.get("command_patterns", {})
    if not isinstance(listed, dict):
        raise FieldError("command_patterns must be an object of category: [patterns]", ("command_patterns",))
    made: list[tuple[str, str, CompiledPattern]] = []
    instructions = 0
    for category, patterns in listed.items():
        path: tuple[str | int, ...] = ("command_patterns", category)
        if category not in categories:
            raise FieldError(f"command_patterns names a category that does not exist: {category!r}", path)
        if not isinstance(patterns, list):
            raise FieldError(f"the patterns of {category!r} must be a list", path)
        for index, pattern in enumerate(patterns):
            where = (*path, index)
            if not isinstance(pattern, str) or not pattern:
                raise FieldError("a pattern is a text that is not empty", where)
            if len(pattern) > _LONGEST_PATTERN or len(made) >= MOST_PATTERNS:
                raise FieldError(f"more than {MOST_PATTERNS} patterns, or one of more characters", where)
            try:
                made.append((category, pattern, CompiledPattern(pattern)))
            except RegexError as error:
                raise FieldError(f"bad pattern {pattern!r}: {error} (at character {error.at + 1})", where) from None
            instructions += made[-1][2].size
            if instructions > _MOST_INSTRUCTIONS:
                raise FieldError("the patterns up to here are too large together", where)
    return tuple(made)


def _learn(data: dict[str, Any]) -> Learn | None:
    body = data.get("learn")
    if body is None:
        return None
    path = ("learn",)
    if not isinstance(body, dict):
        raise FieldError("learn must be an object", path)
    keys.known_keys(body, frozenset({"quantile", "factor", "min_runs", "floor_sec", "ceiling_sec"}), path)
    usual = Learn()
    made = Learn(
        keys.number(body, "quantile", path, usual.quantile, 0.5, 1.0),
        keys.number(body, "factor", path, usual.factor, 1.0, 100.0),
        int(keys.number(body, "min_runs", path, usual.min_runs, 3, 10_000)),
        keys.number(body, "floor_sec", path, usual.floor, 0.1, 1e9),
        keys.number(body, "ceiling_sec", path, usual.ceiling, 0.1, 1e9),
    )
    if made.floor > made.ceiling:
        raise FieldError("floor_sec is above ceiling_sec", (*path, "floor_sec"))
    return made
