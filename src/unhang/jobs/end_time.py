"""When a running job is ended by its limits, as far as can be told now."""

from __future__ import annotations

from unhang.core import values
from unhang.errors import UnhangError
from unhang.jobs import control_client
from unhang.procs import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.view import View
    from unhang.store.layout import JobDir

# How long a keeper may take to say how long its job has been silent, before the caller goes on without it.
_PATIENCE = 0.5


def ends_at(place: JobDir, view: View, *, always_ask: bool = False) -> float | None:
    """When the nearer of a job's limits ends it, in seconds since 1970; None if none will, or it has ended.

    The idle limit of a job that talks moves on with it: it is only counted while the job is silent (`always_ask`: also
    else), and then its keeper is asked: it knows of limits that stand still, and of a longer one for a question.
    """
    if view.ended:
        return None
    hard, idle = (values.number((view.limits.get(name) or {}).get("value")) for name in ("hardMs", "idleMs"))
    begun = values.moment(view.attempt_at)
    found = [begun + hard / 1000] if hard is not None and begun is not None else []
    if idle is not None and (view.silent or always_ask):
        try:
            said = control_client.ask(place, do="ping", patience=_PATIENCE)
            if "endsInMs" in said:  # a keeper of an earlier version only says how long the job has been silent
                left = values.number(said["endsInMs"])
                return None if left is None else clock.wall() + left / 1000
            found.append(clock.wall() + max(0.0, (idle - said["idleMs"]) / 1000))
        except (UnhangError, OSError, KeyError):
            pass  # its keeper does not answer: `unhang doctor` says so
    return min(found, default=None)
