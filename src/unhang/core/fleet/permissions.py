"""What each kind of user may do at the server, as the server's configuration has it: the server refuses the rest.

Every user has an inbox of its own, so that none hears what another is answered; and may answer what it was asked.
"""

from __future__ import annotations

from unhang.core.fleet import subjects
from unhang.core.fleet.subjects import is_machine
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

WORKER, VIEWER, OPERATOR = ROLES = ("worker", "viewer", "operator")
_BUCKETS = tuple(f"KV_{name}" for name in (subjects.ROWS, subjects.PRESENCE, subjects.MACHINES, subjects.WORKERS))
_WORK = (subjects.QUEUE, subjects.TASKS, subjects.HOLDS, f"KV_{subjects.WORKERS}")
# A command's output may be followed for a day; then its reader asks again.
_ANSWERS = {"max": -1, "expires": "24h"}


def user_name(role: str, name: str) -> str:
    """Return what a user is called: by its kind and its name, which is the machine's of a worker."""
    if role not in ROLES:
        raise UsageError(f"not a kind of user: {role!r} (worker, viewer or operator)")
    if not is_machine(name):
        raise UsageError(f"not a name for a user: {name!r} (letters, digits, - and _, at most 63)")
    return f"{role}-{name}"


def inbox_of(user: str) -> str:
    """Return the prefix of the subjects on which a user is answered."""
    return f"_INBOX.{user}"


def permissions(role: str, name: str, queues: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a user may publish and subscribe to. `queues`: those that a worker may take jobs of."""
    user = user_name(role, name)
    if queues and role != WORKER:
        raise UsageError("--queue: only a worker takes jobs")
    for queue in queues:
        if not is_machine(queue):
            raise UsageError(f"not a name for a queue: {queue!r}")
    publish, subscribe = _MADE[role](name, queues)
    return {
        "publish": {"allow": publish},
        "subscribe": {"allow": [f"{inbox_of(user)}.>", *subscribe]},
        "allow_responses": dict(_ANSWERS),
    }


def _worker(machine: str, queues: Sequence[str]) -> tuple[list[str], list[str]]:
    publish = [
        *_reading(subjects.EVENTS, *_BUCKETS[1:3]),
        # `join` asks whether the bucket is there; the rows themselves it need not read
        f"$JS.API.STREAM.INFO.KV_{subjects.ROWS}",
        subjects.events_of(machine, ">"),
        f"$KV.{subjects.ROWS}.{machine}.>",
        f"$KV.{subjects.PRESENCE}.{machine}",
        f"$KV.{subjects.MACHINES}.{machine}",
    ]
    subscribe = [subjects.requests_of(machine), subjects.questions_of(machine)]
    if queues:
        # the rows, too: whether a job whose worker is gone has ended on its machine
        publish += _reading(*_WORK, _BUCKETS[0])
    for queue in queues:
        publish += [each(queue, "*") for each in (subjects.queued_of, subjects.task_of, subjects.hold_of)]
        publish.append(f"$KV.{subjects.WORKERS}.{queue}.{machine}.>")
        subscribe.append(subjects.queue_live(queue))
    return publish, subscribe


def _viewer(_: str, __: Sequence[str]) -> tuple[list[str], list[str]]:
    # the holds say as what a job of a queue runs on its machine
    publish = [*_reading(subjects.EVENTS, subjects.QUEUE, subjects.HOLDS, *_BUCKETS), subjects.questions_of("*")]
    return publish, [subjects.ALL_LIVE, subjects.ROWS_LIVE, subjects.ALL_QUEUES_LIVE]


def _operator(name: str, queues: Sequence[str]) -> tuple[list[str], list[str]]:
    """All but to speak for a machine."""
    _, subscribe = _viewer(name, queues)
    publish = ["$JS.API.>", subjects.questions_of("*"), subjects.requests_of("*")]
    publish += [subjects.ALL_QUEUES, subjects.ALL_TASKS, *(f"${bucket.replace('_', '.', 1)}.>" for bucket in _BUCKETS)]
    return publish, subscribe


_MADE = {WORKER: _worker, VIEWER: _viewer, OPERATOR: _operator}


def _reading(*streams: str) -> list[str]:
    calls = ("STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET")
    return [f"$JS.API.{call}.{stream}" for stream in streams for call in calls]
