"""What the keys of a policy file may hold, each checked where it stands."""

from __future__ import annotations

from typing import Any

from unhang.core import durations
from unhang.core.limits import LIVENESS, ON_HUNG
from unhang.core.policy.file import allowed_env
from unhang.core.policy.model import Bounds

Path = tuple[str | int, ...]

# Allowed at the top (for every category) and in a category (for that one).
SHARED = frozenset({"liveness", "on_hung", "stall_sec", "warn_sec", "grace_sec", "bounds", "env", "retry"})


# Of a name or a value in a message, so that what it should have been is not cut off.
_SHOWN = 60


class FieldError(ValueError):
    """Something wrong in a file, and the way to it."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def kind_of(value: Any) -> str:
    """Return what kind of value this is, as error messages name it: "an object", "a number"."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def known_keys(body: dict[str, Any], known: frozenset[str], path: Path) -> None:
    """Raise FieldError at the first key that is not known; keys that begin with "$" or "x-" are always allowed."""
    for key in body:
        if key in known or key.startswith(("$", "x-")):
            continue
        close = [name for name in sorted(known) if name.startswith(key[:4])]
        hint = f"; did you mean {close[0]}?" if close else ""
        raise FieldError(f"unknown key {key!r}{hint}", (*path, key))


def version(data: dict[str, Any]) -> None:
    """Raise FieldError unless the file's version is 1.x; a file without one counts as 1."""
    given = data.get("version", "1")
    if not isinstance(given, (str, int, float)) or isinstance(given, bool):
        raise FieldError(f'version is "1.0", not {kind_of(given)}', ("version",))
    major = str(given).partition(".")[0]
    if major != "1":
        raise FieldError(f"version {given} is not one that this program knows (1.x)", ("version",))


def text(body: dict[str, Any], key: str, path: Path) -> str:
    """Return the text at this key, "" where the key is missing; raises FieldError for anything else."""
    value = body.get(key, "")
    if not isinstance(value, str):
        raise FieldError(f"{key} must be a text, not {kind_of(value)}", (*path, key))
    return value


def seconds(value: Any, path: Path) -> float:
    """Return a number of seconds, or a duration as on the command line."""
    try:
        return durations.seconds_of(str(path[-1]), value)
    except ValueError as error:
        raise FieldError(str(error), path) from None


def limit(value: Any, path: Path) -> float | None:
    """Read a duration as `seconds` does; 0, null and "off" are no limit."""
    if value is None or (isinstance(value, str) and value.strip().lower() in durations.OFF_WORDS):
        return None
    return seconds(value, path) or None


def number(body: dict[str, Any], key: str, path: Path, default: float, least: float, most: float) -> float:
    """Return the number at this key, or `default`; raises FieldError if it is no number or lies outside the bounds."""
    value = body.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError(f"{key} must be a number, not {kind_of(value)}", (*path, key))
    if not least <= value <= most:
        raise FieldError(f"{key} must be between {least:g} and {most:g}: {value}", (*path, key))
    return float(value)


def shared(body: dict[str, Any], path: Path, trusted: bool) -> dict[str, Any]:
    """Read the keys that a category and the whole policy have in common; only those that are present are returned.

    Without trust (a project's own file) an environment variable that could run code raises FieldError.
    """
    made: dict[str, Any] = {}
    if "liveness" in body:
        if body["liveness"] not in LIVENESS:
            raise FieldError(f"liveness must be one of {', '.join(LIVENESS)}", (*path, "liveness"))
        made["liveness"] = body["liveness"]
    if "on_hung" in body:
        if body["on_hung"] not in ON_HUNG:
            raise FieldError(f"on_hung must be one of {', '.join(ON_HUNG)}", (*path, "on_hung"))
        made["on_hung"] = body["on_hung"]
    if "stall_sec" in body:
        made["stall"] = limit(body["stall_sec"], (*path, "stall_sec"))
    for key, name in (("warn_sec", "warn"), ("grace_sec", "grace")):
        if key in body:
            made[name] = seconds(body[key], (*path, key))
    if "retry" in body:
        retry = body["retry"]
        if isinstance(retry, bool) or not isinstance(retry, int) or not 0 <= retry <= 10:
            raise FieldError("retry is a number of further attempts, 0 to 10", (*path, "retry"))
        made["retry"] = retry
    if "bounds" in body:
        made["bounds"] = _bounds(body["bounds"], (*path, "bounds"))
    if "env" in body:
        made["env"] = _env(body["env"], (*path, "env"), trusted)
    return made


def _bounds(body: Any, path: Path) -> Bounds:
    if not isinstance(body, dict):
        raise FieldError("bounds must be an object", path)
    known_keys(body, frozenset({"no_output_timeout_sec", "exec_timeout_sec"}), path)
    found: list[float | None] = []
    for key in ("no_output_timeout_sec", "exec_timeout_sec"):
        where = (*path, key)
        ends = body.get(key, {})
        if not isinstance(ends, dict):
            raise FieldError(f'{key} of bounds is an object: {{"min": …, "max": …}}', where)
        known_keys(ends, frozenset({"min", "max"}), where)
        least = seconds(ends["min"], (*where, "min")) if "min" in ends else None
        most = seconds(ends["max"], (*where, "max")) if "max" in ends else None
        if most == 0 or (least is not None and most is not None and least > most):
            raise FieldError("min is above max, or max is 0", where)
        found += [least, most]
    return Bounds(*found)


def _env(body: Any, path: Path, trusted: bool) -> dict[str, str]:
    if not isinstance(body, dict):
        raise FieldError("env must be an object of NAME: text", path)
    made: dict[str, str] = {}
    for name, value in body.items():
        where = (*path, name)
        if not isinstance(value, str) or "\0" in value:
            raise FieldError(f"{name} must be a text", where)
        if not name or "=" in name or "\0" in name:
            raise FieldError(f"{name!r} is no name of a variable", where)
        if any("\ud800" <= char <= "\udfff" for char in name + value):  # JSON can write them, a process cannot get them
            raise FieldError(f"{name[:_SHOWN]} has half a character (a surrogate) in its name or value", where)
        problem = None if trusted else allowed_env.objection(name, value)
        if problem is not None:
            given = f"{name[:_SHOWN]}={value[:_SHOWN]}"
            raise FieldError(
                f"a project's own policy may not set {given}: {problem}; put it in your user policy", where
            )
        made[name] = value
    return made
