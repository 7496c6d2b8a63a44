"""Lengths of time as a model gives them, checked before anything is reckoned with them."""

from __future__ import annotations

from unhang.core.limit_request import read_duration
from unhang.faces.mcp.settings import Settings


def patience_of(settings: Settings, wait_sec: float | None) -> float:
    """How long a call may last: what was asked for, but no longer than its client waits."""
    if wait_sec is None:
        return min(settings.wait, settings.longest_wait)
    return min(read_duration("wait_sec", wait_sec) or 0.0, settings.longest_wait)
