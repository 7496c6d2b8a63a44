"""Whether a person sits in front of the very terminal or page that shows a job. Such a person is told there alone.

The page says so while it is looked at (`see`): `alerts/seen/<id>`, an empty file whose time is the last such moment.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from unhang.core import values
from unhang.store import alert_news, files
from unhang.store import home as homes

if TYPE_CHECKING:
    from typing import Any

# A terminal that was typed at within this time has a person in front of it; so has a page that said so.
RECENT = 120.0


def see(home: str, job_id: str) -> None:
    """Note that a person looks at this job in the page. Without rules nothing asks for that, and nothing is written."""
    if alert_news.settings_file(os.environ) is None:
        return
    folder = _folder(home)
    for each in (home, f"{home}/{alert_news.FOLDER}", folder):
        homes.make(each)
    alert_news.sweep(folder, 10 * RECENT)
    fd = files.open_plain(f"{folder}/{job_id}", os.O_WRONLY | os.O_CREAT)
    try:
        os.utime(fd)
    finally:
        os.close(fd)


def is_watched(home: str, job_id: str, job: dict[str, Any], now: float) -> bool:
    """Return whether a person looks at the job's page, or has typed a moment ago at the terminal of the job."""
    if _age(f"{_folder(home)}/{job_id}", now) < RECENT:
        return True
    terminal = values.text(job.get("terminal"))
    if not job.get("foreground") or terminal is None:
        return False
    try:
        return now - os.stat(terminal).st_atime < RECENT  # the kernel sets it when input is read
    except OSError:
        return False


def _folder(home: str) -> str:
    return f"{home}/{alert_news.FOLDER}/seen"


def _age(path: str, now: float) -> float:
    try:
        return now - os.lstat(path).st_mtime
    except OSError:
        return float("inf")
