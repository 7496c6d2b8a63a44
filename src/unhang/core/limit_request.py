"""What a caller asks of a job's limits, read in one place for every face.

Options of the command line, arguments of MCP tools, keywords of the Python functions and entries of a policy file are
given here in the caller's own spelling (`--idle`, `idleTimeoutMs`, `idle`), so that an error names what was written.
"""

from __future__ import annotations

from unhang.core import durations
from unhang.core.record import Record
from unhang.errors import UsageError

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from typing import Any, Literal

    # A duration as callers write it: seconds, a text such as "5m", or a timedelta. None: not given.
    Duration = float | int | str | timedelta | None
    # A limit that was asked for: seconds (0: off), "auto" (from history), or None where none was asked for.
    LimitValue = float | Literal["auto"] | None

_LIMITS = ("idle", "hard", "stall")
_PAUSES = ("warn", "grace")
_NAMES = ("liveness", "on_hung", "category")
_MILLISECONDS = "TimeoutMs"


class LimitRequest(Record):
    """What a caller asked for. None is "not given"; 0 switches a limit off; "auto" takes it from history."""

    idle: LimitValue = None
    hard: LimitValue = None
    stall: LimitValue = None
    warn: float | None = None
    grace: float | None = None
    liveness: str | None = None
    on_hung: str | None = None
    category: str | None = None
    timeout_sec: float | None = None


# What all of it is called: as a keyword, an entry of a file, and (with dashes) an option.
LIMIT_NAMES = LimitRequest.__match_args__


def read_limits(given: Mapping[str, Any]) -> LimitRequest:
    """Return the request of a caller: spelling → value as it was given. Raise UsageError for a value that is none.

    The spelling of a field is its name (`on_hung`), its option (`--on-hung`) or, in milliseconds, its argument
    (`idleTimeoutMs`). A category, liveness or on_hung that is an empty text was not given.
    """
    request: dict[str, Any] = {}
    for spelling, value in given.items():
        name = spelling.removeprefix("--").replace("-", "_").removesuffix(_MILLISECONDS)
        if spelling.endswith(_MILLISECONDS):
            request[name] = read_milliseconds(spelling, value)
        elif name in _LIMITS:
            request[name] = read_limit(spelling, value)
        elif name in _PAUSES:
            request[name] = read_duration(spelling, value)
        elif name == "timeout_sec":
            request[name] = read_positive(spelling, value)
        elif name in _NAMES:
            request[name] = value or None
        else:
            raise TypeError(f"unknown limit: {spelling}")
    return LimitRequest(**request)


def read_limit(name: str, value: Duration) -> LimitValue:
    """Return one limit: seconds, 0.0 for "off", "auto", or None if it was not given. Raise UsageError."""
    if isinstance(value, str) and value.strip().lower() == "auto":
        return "auto"
    return read_duration(name, value)


def read_duration(name: str, value: Duration, *, off: bool = True) -> float | None:
    """Return a duration in seconds, or None if it was not given; "off", if it can be off, is 0.0. Raise UsageError."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word == "auto":
            raise UsageError(f"{name}: cannot be auto")
        if off and word in durations.OFF_WORDS:
            return 0.0
    try:
        return None if value is None else durations.seconds_of(name, value)
    except ValueError as error:
        raise UsageError(str(error)) from None


def read_positive(name: str, value: Duration) -> float | None:
    """Return a duration that cannot be off, in seconds, or None if it was not given. Raise UsageError."""
    found = read_duration(name, value)
    if found is not None and found <= 0:
        raise UsageError(f"{name}: must be more than 0")
    return found


def read_milliseconds(name: str, value: int | None) -> float | None:
    """Return a number of milliseconds in seconds, or None if it was not given. Raise UsageError."""
    try:
        return None if value is None else durations.usable_ms(name, value)
    except ValueError as error:
        raise UsageError(str(error)) from None
