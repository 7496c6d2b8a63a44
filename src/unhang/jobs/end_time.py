"""When a running job is ended by its limits, as far as can be told now. Every list and page asks here.

Its keeper knows best: of work that no event shows, of limits that stand still, of a longer one for a question. Where
it is not asked, or does not answer, the limits count from what the events say.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.record import Record
from unhang.errors import UnhangError
from unhang.jobs import control_client
from unhang.procs import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.view import View
    from unhang.store.layout import JobDir

# How long a keeper may take to say when its job ends, before the caller goes on without it.
_PATIENCE = 0.5


class EndTime(Record):
    """What a keeper says. `at`: seconds since 1970; None: no limit runs now. `limit`: `idle` or `hard`."""

    at: float | None
    limit: str


def ask_keeper(place: JobDir) -> EndTime | None:
    """Return when the nearer of a job's limits ends it, as its keeper says; None: it does not answer."""
    try:
        said = control_client.ask(place, do="ping", patience=_PATIENCE)
    except (UnhangError, OSError):
        return None  # `unhang doctor` says so
    if "endsInMs" not in said:
        return None  # a keeper of an earlier version
    left = values.number(said["endsInMs"])
    return EndTime(None if left is None else clock.wall() + left / 1000, values.text(said.get("endsBy")) or "idle")


def ends_at(place: JobDir, view: View, *, always_ask: bool = False) -> float | None:
    """Return when the nearer of a job's limits ends it, in seconds since 1970; None if none will, or it has ended.

    Its keeper is asked if it has an idle limit and is silent (`always_ask`: also if it talks).
    """
    if view.ended:
        return None
    hard, idle = (values.number((view.limits.get(name) or {}).get("value")) for name in ("hardMs", "idleMs"))
    if idle is not None and (view.silent or always_ask):
        said = ask_keeper(place)
        if said is not None:
            return said.at
    begun, alive = values.moment(view.attempt_at), values.moment(view.last_activity_at)
    found = [begun + hard / 1000] if hard is not None and begun is not None else []
    found += [alive + idle / 1000] if idle is not None and alive is not None else []
    return min(found, default=None)
