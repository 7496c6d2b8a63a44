"""What became of each message: `alerts/sent.ndjson`, the newest at the end, bounded."""

from __future__ import annotations

import errno
import os

from unhang.core import values
from unhang.core.alerts.ledger import Outcome
from unhang.procs import clock
from unhang.store import files
from unhang.store import home as homes
from unhang.store.alert_news import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.alerts.ledger import Delivery

_LARGEST = 1 << 20


def record(home: str, outcome: Outcome, at: str) -> None:
    """Add a line. When the file is full, its older half goes. OSError: the disk is full, and nothing was added."""
    for folder in (home, f"{home}/{FOLDER}"):
        homes.make(folder)
    path = f"{home}/{FOLDER}/sent.ndjson"
    delivery = outcome.delivery
    line = {
        "ts": at,
        "state": outcome.state,
        "target": delivery.target,
        "key": delivery.key,
        "attempts": delivery.attempts,
        "alerts": len(delivery.occasions),
        "kinds": [each.kind for each in delivery.occasions][:20],
        "jobs": list(dict.fromkeys(each.subject.id for each in delivery.occasions if each.subject.id))[:20],
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


def record_test(home: str, made: Delivery, reason: str = "") -> None:
    """Add what became of a test message: of no job, and of the kind `test`. A full disk hinders no test."""
    parts = tuple(each.replace(kind="test", subject=each.subject.replace(id="")) for each in made.occasions)
    try:
        record(home, Outcome(made.replace(occasions=parts), "failed" if reason else "sent", reason), clock.now())
    except OSError:
        return


def read(home: str) -> list[dict[str, Any]]:
    """Return every line that is whole, the oldest first."""
    try:
        fd = files.open_plain(f"{home}/{FOLDER}/sent.ndjson", os.O_RDONLY)
    except FileNotFoundError:
        return []
    with open(fd, "rb") as file:
        found = [values.parse_message(line) for line in file.read(_LARGEST * 2).splitlines()]
    return [each for each in found if isinstance(each, dict)]
