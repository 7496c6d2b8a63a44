"""Lengths of time as a model gives them, checked before anything is reckoned with them."""

from __future__ import annotations

from unhang.core import durations
from unhang.errors import UsageError
from unhang.faces.mcp.settings import Settings


def limit_of(name: str, milliseconds: int | None) -> float | None:
    """Seconds."""
    try:
        return None if milliseconds is None else durations.usable_ms(name, milliseconds)
    except ValueError as error:
        raise UsageError(str(error)) from None


def patience_of(settings: Settings, wait_sec: float | None) -> float:
    """How long a call may last: what was asked for, but no longer than its client waits."""
    if wait_sec is None:
        return min(settings.wait, settings.longest_wait)
    try:
        return min(durations.usable("wait_sec", wait_sec), settings.longest_wait)
    except ValueError as error:
        raise UsageError(str(error)) from None
