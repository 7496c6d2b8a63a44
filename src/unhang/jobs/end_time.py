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
_LIMITS = ("idle", "hard")


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
    if _limit(view, "idle") is not None and (view.silent or always_ask):
        said = ask_keeper(place)
        if said is not None:
            return said.at
    return _by_events(view).at


def next_end(place: JobDir, view: View) -> EndTime:
    """Return when a running job is ended, and by which of its limits: as its keeper says, or else the events.

    A keeper that ends its job already names no limit: then the events do.
    """
    said = ask_keeper(place)
    return said if said is not None and said.limit in _LIMITS else _by_events(view)


def hard_left(view: View) -> float | None:
    """Return the seconds until the hard limit ends a running job, as its events say; None: it has no hard limit."""
    return _left(view, "hard", view.attempt_at)


def idle_left(view: View) -> float | None:
    """Return the same for the idle limit, if the job stays silent."""
    return _left(view, "idle", view.last_activity_at)


def _left(view: View, name: str, since: str | None) -> float | None:
    length, begun = _limit(view, name), values.moment(since)
    return None if length is None or begun is None else max(0.0, begun + length / 1000 - clock.wall())


def _by_events(view: View) -> EndTime:
    found: list[tuple[float, str]] = []
    for name, since in zip(_LIMITS, (view.last_activity_at, view.attempt_at), strict=True):
        length, begun = _limit(view, name), values.moment(since)
        if length is not None and begun is not None:
            found.append((begun + length / 1000, name))
    return EndTime(*min(found, default=(None, "idle")))


def _limit(view: View, name: str) -> float | None:
    return values.number((view.limits.get(f"{name}Ms") or {}).get("value"))
