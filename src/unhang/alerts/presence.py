"""Whether a person sits in front of the very terminal that a job runs in. Such a person is told there alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from unhang.core import values

if TYPE_CHECKING:
    from typing import Any

# A terminal that was typed at within this time has a person in front of it.
RECENT = 120.0


def is_watched(job: dict[str, Any], now: float) -> bool:
    """Whether the job runs in the foreground of a terminal that a person has typed at a moment ago."""
    terminal = values.text(job.get("terminal"))
    if not job.get("foreground") or terminal is None:
        return False
    try:
        return now - os.stat(terminal).st_atime < RECENT  # the kernel sets it when input is read
    except OSError:
        return False
