"""A job's own record, with the types that the code relies on, whatever the file holds."""

from __future__ import annotations

from unhang.core.spec import job_record
from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.store.layout import JobDir


def job(place: JobDir) -> dict[str, Any] | None:
    """Return job.json; None when it is missing or broken."""
    value = files.read_json(place.job)
    return None if value is None else job_record(value)
