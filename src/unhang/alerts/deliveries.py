"""What became of each message: `alerts/sent.ndjson`, the newest at the end, bounded."""

from __future__ import annotations

import errno
import os

from unhang.core import values
from unhang.store import files
from unhang.store.alert_news import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.alerts.ledger import Outcome

_LARGEST = 1 << 20


def record(home: str, outcome: Outcome, at: str) -> None:
    """Add a line. When the file is full, its older half goes. OSError: the disk is full, and nothing was added."""
    path = f"{home}/{FOLDER}/sent.ndjson"
    delivery = outcome.delivery
    line = {
        "ts": at,
        "state": outcome.state,
        "target": delivery.target,
        "key": delivery.key,
        "attempts": delivery.attempts,
        "kinds": [each.kind for each in delivery.occasions][:20],
        "jobs": list(dict.fromkeys(each.subject.id for each in delivery.occasions))[:20],
        "reason": outcome.reason[:300] or None,
    }
    data = values.dump(line, compact=True).encode() + b"\n"
    fd = files.open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = os.fstat(fd).st_size
        if size > _LARGEST:
            kept = os.pread(fd, _LARGEST // 2, size - _LARGEST // 2).partition(b"\n")[2]
            os.ftruncate(fd, 0)
            os.write(fd, kept)
            size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data  # a power cut has torn the line before
        if os.write(fd, data) < len(data):
            os.ftruncate(fd, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(fd)


def read(home: str) -> list[dict[str, Any]]:
    """Every line that is whole, the oldest first."""
    try:
        fd = files.open_plain(f"{home}/{FOLDER}/sent.ndjson", os.O_RDONLY)
    except FileNotFoundError:
        return []
    with open(fd, "rb") as file:
        found = [values.parse_message(line) for line in file.read(_LARGEST * 2).splitlines()]
    return [each for each in found if isinstance(each, dict)]
