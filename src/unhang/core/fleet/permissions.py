"""What each kind of user may do at the server, as the server's configuration has it: the server refuses the rest.

A worker and a viewer each have an account of their own, which reaches the team's account through what is listed here
and through nothing else. A NATS server asks whether a user may publish a question, and not whether it may publish where
it wants the answer. In an account of its own every answer, wherever it is wanted, stays in that account.

The permissions of a user say the same once more: what an account does not import would only stay without an answer, and
what is not permitted is refused in words.
"""

from __future__ import annotations

from unhang.core.fleet import subjects
from unhang.core.fleet.subjects import NAME_RULE, is_machine
from unhang.core.record import Record
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

WORKER, VIEWER, OPERATOR = ROLES = ("worker", "viewer", "operator")
# The questions to the server about streams: in the team's account, and where the other accounts import them to. The
# server answers its own name in every account by itself, if only to say that the account has no streams.
API, IMPORTED_API = "$JS.API", "unhang.js"
_BUCKETS = tuple(f"KV_{name}" for name in (subjects.ROWS, subjects.PRESENCE, subjects.MACHINES, subjects.WORKERS))
_OPERATORS = f"KV_{subjects.OPERATORS}"
_WORK = (subjects.QUEUE, subjects.HOLDS, f"KV_{subjects.WORKERS}", _BUCKETS[0])
# A command's output may be followed for a day; then its reader asks again.
_ANSWERS = {"max": -1, "expires": "24h"}


class SharedSubjects(Record):
    """What the account of a worker or a viewer shares with that of its team.

    `asks`: subjects of the team that it may publish on, to be answered. `hears`: what the server tells. `serves`:
    subjects on which it is asked. A viewer asks machines, too: each in its own account, and not through the team's,
    since a server does not forget where an answer goes that has passed two accounts.
    """

    asks: list[str]
    hears: list[str]
    serves: list[str]


def user_name(role: str, name: str) -> str:
    """Return what a user is called: by its kind and its name, which is the machine's of a worker."""
    if role not in ROLES:
        raise UsageError(f"not a kind of user: {role!r} (worker, viewer or operator)")
    if not is_machine(name):
        raise UsageError(f"not a name for a user: {name!r} ({NAME_RULE})")
    return f"{role}-{name}"


def inbox_of(user: str) -> str:
    """Return the prefix of the subjects on which a user is answered."""
    return f"_INBOX.{user}"


def imported(subject: str) -> str:
    """Return what a subject of the team is called in the account of a worker or a viewer."""
    return IMPORTED_API + subject.removeprefix(API) if subject.startswith(f"{API}.") else subject


def is_answered_by_many(subject: str) -> bool:
    """Return whether a question on this subject of the team may be answered by more than one message."""
    read = subject.removeprefix(f"{API}.DIRECT.GET.")
    return read != subject and "." not in read


def access(role: str, name: str, queues: Sequence[str] = ()) -> SharedSubjects | None:
    """Return what a user's account shares with its team's; None: it is in that account itself.

    `queues`: those that a worker may take jobs of.
    """
    if queues and role != WORKER:
        raise UsageError("--queue: only a worker takes jobs")
    for queue in queues:
        if not is_machine(queue):
            raise UsageError(f"not a name for a queue: {queue!r}")
    if role == OPERATOR:
        return None
    return _worker(name, queues) if role == WORKER else _viewer()


def permissions(role: str, name: str, queues: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a user may publish and subscribe to, in its own account."""
    user, shared = user_name(role, name), access(role, name, queues)
    if shared is None:
        publish, subscribe = _operator(), list(_viewer().hears)
    else:
        publish, subscribe = [*map(imported, shared.asks)], [*shared.serves, *shared.hears]
        publish += [subjects.questions_of("*")] if role == VIEWER else []
    return {
        "publish": {"allow": publish},
        "subscribe": {"allow": [f"{inbox_of(user)}.>", *subscribe]},
        "allow_responses": dict(_ANSWERS),
    }


def _worker(machine: str, queues: Sequence[str]) -> SharedSubjects:
    streams = [subjects.EVENTS, *_BUCKETS[1:3], *(_WORK if queues else ())]
    asks = [
        *_reading(*streams),
        # `join` asks whether the bucket is there; without a queue it need not read the rows themselves
        f"{API}.STREAM.INFO.{_BUCKETS[0]}",
        subjects.events_of(machine, ">"),
        f"$KV.{subjects.ROWS}.{machine}.>",
        f"$KV.{subjects.PRESENCE}.{machine}",
        f"$KV.{subjects.MACHINES}.{machine}",
    ]
    if queues:
        asks += [f"{API}.STREAM.INFO.{subjects.TASKS}", f"{API}.STREAM.INFO.{_OPERATORS}"]
        asks.append(f"{API}.STREAM.MSG.GET.{_OPERATORS}")
    for queue in queues:
        asks += [each(queue, "*") for each in (subjects.queued_of, subjects.task_of, subjects.hold_of)]
        asks.append(subjects.patch_of(queue, "*", "*", "*"))
        asks.append(f"$KV.{subjects.WORKERS}.{queue}.{machine}.>")
        # one task at a time, and of its queues alone
        asks.append(f"{API}.DIRECT.GET.{subjects.TASKS}.{subjects.task_of(queue, '*')}")
    return SharedSubjects(
        list(dict.fromkeys(asks)),
        [subjects.queue_live(queue) for queue in queues],
        [subjects.requests_of(machine), subjects.questions_of(machine)],
    )


def _viewer() -> SharedSubjects:
    # the holds say as what a job of a queue runs on its machine
    streams = (subjects.EVENTS, subjects.QUEUE, subjects.HOLDS, subjects.PATCHES, *_BUCKETS)
    return SharedSubjects(
        _reading(*streams),
        [subjects.ALL_LIVE, subjects.ROWS_LIVE, subjects.ALL_QUEUES_LIVE],
        [],
    )


def _operator() -> list[str]:
    """All but to speak for a machine."""
    publish = [f"{API}.>", subjects.questions_of("*"), subjects.requests_of("*")]
    publish += [subjects.ALL_QUEUES, subjects.ALL_TASKS]
    return publish + [f"${bucket.replace('_', '.', 1)}.>" for bucket in (*_BUCKETS, _OPERATORS)]


def _reading(*streams: str) -> list[str]:
    calls = ("STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET")
    return [f"{API}.{call}.{stream}" for stream in streams for call in calls]
