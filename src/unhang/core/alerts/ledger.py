"""What is sent now, what is held back, what is tried again. Pure: times come from the caller, state is plain JSON.

- A silence is told once to each target, and once more if it becomes more urgent.
- Alerts of one kind about one job keep a distance, by severity, unless the one before was answered; those that come
  too soon wait, and are dropped if they are resolved in the meantime. Quiet hours hold an alert back in the same way.
- What comes within seconds, or while a message waits, goes to a target as one; messages to one target keep a distance.
- "Recovered" follows only what was sent. What is resolved before it was sent is not sent at all.
- A message that could not be delivered is tried again, ever more rarely, for a day; then it is listed as failed.
- All of it is bounded: what exceeds a bound is listed as failed, not forgotten.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.alerts.kinds import ENDS, KINDS, SEVERITIES
from unhang.core.alerts.occasions import AlertSubject, Occasion
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from unhang.core.alerts.settings import AlertSettings

WINDOW = 3.0  # what comes within it is one message
SPACING = 10.0  # between two messages to one target
BACKOFF = (5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
LIFE = 86_400.0
MOST_HELD = 200  # a target
MOST_PENDING = 50  # a target
_MOST_TOLD = 2000
_TOLD_FOR = 7 * 86_400.0
# What the state of an earlier ledger may hold: a job can write into the file that it is kept in.
_TOLD: dict[str, values.Reading] = {
    "stall": values.text,
    "rank": values.whole,
    "at": values.number,
    "resolved": values.flag,
    "kinds": values.table_of(values.number),
}
_SUBJECT: dict[str, values.Reading] = {
    **dict.fromkeys(("id", "name", "command", "directory", "agent"), values.text),
    "labels": values.table_of(values.text),
    "notify": values.texts,
    "session": values.flag,
}
_OCCASION: dict[str, values.Reading] = {
    **dict.fromkeys(("stall", "what", "command"), values.text),
    "kind": values.one_of(*KINDS),
    "seq": values.whole,
    "at": values.number,
    "lasted": values.number,
    "offers": values.texts,
    "answered": values.flag,
}
_DELIVERY: dict[str, values.Reading] = {
    **dict.fromkeys(("key", "target"), values.text),
    "attempts": values.whole,
    "born": values.number,
    "next_at": values.number,
}


class Delivery(Record):
    """One message to one target, with the occasions that it tells of. `key` is the same at every attempt."""

    key: str
    target: str
    occasions: tuple[Occasion, ...]
    attempts: int = 0
    born: float = 0.0
    next_at: float = 0.0


class Outcome(Record):
    """What became of a message, for the log of deliveries."""

    delivery: Delivery
    state: str  # sent, retry, failed
    reason: str = ""


class Ledger:
    """Decides for all targets of a home. `minute_of_day` turns a time into minutes after local midnight."""

    def __init__(self, settings: AlertSettings, state: dict[str, Any], minute_of_day: Callable[[float], float]) -> None:
        self._settings = settings
        self._minute = minute_of_day
        self._told: dict[str, dict[str, Any]] = _told_of(state.get("told"))
        self._last: dict[str, float] = values.table_of(values.number)(state.get("last")) or {}
        # what is for a target that is not there stays: a file that is just being edited may be half of itself
        self._held = _held_of(state.get("held"))
        pending = [_delivery_of(each) for each in _list(state.get("pending"))]
        self._pending = {each.key: each for each in pending if each is not None}
        self.failures: list[Outcome] = []  # what was given up since the caller last looked

    def to_json(self) -> dict[str, Any]:
        """Return the state, for the next ledger."""
        return {
            "told": self._told,
            "last": self._last,
            "held": [[target, at, _occasion_json(each)] for target, at, each in self._held],
            "pending": [_delivery_json(each) for each in self._pending.values()],
        }

    def take(self, occasion: Occasion, now: float) -> None:
        """Take notice of an occasion that has just been recorded."""
        for target in self._resolved_targets(occasion) if occasion.kind == "recovered" else self._wanted(occasion):
            self._hold(target, occasion, now)
        if occasion.kind in ENDS:
            self.settle(occasion.subject.id)
        elif occasion.kind == "recovered":
            self._settle(occasion.subject.id, ENDS | {"recovered"}, answered=occasion.answered)

    def settle(self, subject: str, *, answered: bool = False) -> None:
        """Forget all that was to be told of this subject, except its end: it is over.

        `answered`: by a person's decision.
        """
        self._settle(subject, ENDS, answered=answered)

    def _wanted(self, occasion: Occasion) -> list[str]:
        wanted = self._settings.targets_of(occasion)
        if occasion.kind in ENDS:
            return wanted
        rank = SEVERITIES.index(occasion.severity)
        found = []
        for target in wanted:
            told = self._told.get(_about(target, occasion.subject.id))
            if told and told["stall"] == occasion.stall and not told["resolved"] and told["rank"] <= rank:
                continue
            found.append(target)
        return found

    def _resolved_targets(self, occasion: Occasion) -> list[str]:
        """Those that were really sent something about this subject that is resolved now, and that want to know."""
        wanted = self._settings.targets_of(occasion)
        held = {target for target, _, each in self._held if each.subject.id == occasion.subject.id}
        found = []
        for target in wanted:
            told = self._told.get(_about(target, occasion.subject.id))
            if told and not told["resolved"] and target not in held:
                found.append(target)
        return found

    def _settle(self, name: str, stays: frozenset[str], *, answered: bool) -> None:
        """What was held about this subject is over: it is told no more, but for the kinds that stay."""
        self._held = [item for item in self._held if item[2].subject.id != name or item[2].kind in stays]
        for target in self._settings.targets:
            told = self._told.get(_about(target, name))
            if told:
                told["resolved"] = True
                if answered:
                    told["kinds"] = {}  # who has answered is waited for by the next question, too

    def _hold(self, target: str, occasion: Occasion, now: float) -> None:
        waiting = [when for name, when, _ in self._held if name == target]
        # goes with what is about to be sent: after that message it would have to keep a distance, too
        at = min([now + WINDOW, *waiting])
        told = self._told.get(_about(target, occasion.subject.id))
        if told and occasion.kind not in ENDS and occasion.kind != "recovered":
            before = min(told["kinds"].get(occasion.kind, float("-inf")), now)
            at = max(at, before + self._settings.cooldown[occasion.severity])
        left = self._settings.quiet.left(occasion.severity, self._minute(now)) if self._settings.quiet else 0.0
        if left:
            at = max(at, round(now + left))  # the same for all that the night holds back: one message in the morning
        if len(waiting) >= MOST_HELD:
            self._give_up(Delivery(occasion.key, target, (occasion,), born=now), "too many alerts at once")
            return
        if occasion.kind != "recovered":
            self._remember(target, occasion, now)
        # what was held about the same silence is less urgent, and says the same
        same = (target, occasion.subject.id, occasion.stall)
        self._held = [
            item
            for item in self._held
            if (item[0], item[2].subject.id, item[2].stall) != same
            or item[2].kind in ENDS
            or item[2].kind == "recovered"
        ]
        self._held.append((target, at, occasion))

    def _remember(self, target: str, occasion: Occasion, now: float) -> None:
        about = _about(target, occasion.subject.id)
        before = self._told.pop(about, None)
        kinds = dict(before["kinds"]) if before else {}
        rank = SEVERITIES.index(occasion.severity)
        self._told[about] = {
            "stall": occasion.stall,
            "rank": rank,
            "at": now,
            "resolved": False,
            "kinds": kinds | {occasion.kind: now},
        }
        while len(self._told) > _MOST_TOLD:
            del self._told[next(iter(self._told))]

    def ready(self, now: float) -> list[Delivery]:
        """Return the messages that are to be sent now.

        Each is the caller's until `sent` or `failed` is called for it.
        """
        for target in self._settings.targets:
            if (
                0 <= now - self._last.get(target, float("-inf")) < SPACING
            ):  # a clock that was ahead holds no message back
                continue
            due = [each for name, at, each in self._held if name == target and at <= now]
            if not due:
                continue
            self._held = [item for item in self._held if item[0] != target or item[1] > now]
            due.sort(key=lambda each: (KINDS.index(each.kind), each.at))
            self._last[target] = now
            made = Delivery(f"{due[0].key}@{target}", target, tuple(due), born=now, next_at=now)
            waiting = [each for each in self._pending.values() if each.target == target]
            if len(waiting) >= MOST_PENDING:
                self._give_up(made, "too many undelivered messages")
                continue
            self._pending[made.key] = made
        return [each for each in self._known() if each.next_at <= now]

    def _known(self) -> list[Delivery]:
        """The messages whose target is in the file."""
        return [each for each in self._pending.values() if each.target in self._settings.targets]

    def sent(self, key: str) -> Outcome | None:
        """Note that a message has arrived."""
        found = self._pending.pop(key, None)
        return None if found is None else Outcome(found.replace(attempts=found.attempts + 1), "sent")

    def failed(self, key: str, reason: str, now: float, *, for_good: bool = False) -> Outcome | None:
        """Note that a message could not be delivered. `for_good`: trying again cannot help."""
        found = self._pending.pop(key, None)
        if found is None:
            return None
        attempts = found.attempts + 1
        wait = BACKOFF[min(attempts, len(BACKOFF)) - 1]
        again = found.replace(attempts=attempts, next_at=now + wait)
        if for_good or now + wait > found.born + LIFE:
            return Outcome(again, "failed", reason)
        self._pending[key] = again
        return Outcome(again, "retry", reason)

    def next_due(self, besides: Collection[str] = ()) -> float | None:
        """Return when `ready` may have something new; None: never, unless there is another occasion.

        `besides`: the keys of messages that are on their way, and are not to be sent again meanwhile.
        """
        times = [each.next_at for each in self._known() if each.key not in besides]
        held = [(target, at) for target, at, _ in self._held if target in self._settings.targets]
        times += [max(at, self._last.get(target, float("-inf")) + SPACING) for target, at in held]
        return min(times, default=None)

    def forget(self, now: float) -> None:
        """Let go of what was told long ago, and of what is for a target that has long been gone."""
        self._told = {about: told for about, told in self._told.items() if told["at"] > now - _TOLD_FOR}
        gone = [each for each in self._pending.values() if each not in self._known() and each.born < now - LIFE]
        for each in gone:
            del self._pending[each.key]
        left = []
        for item in self._held:
            target, at, occasion = item
            if target in self._settings.targets or at >= now - LIFE:
                left.append(item)
            else:
                gone.append(Delivery(occasion.key, target, (occasion,), born=at))
        self._held = left
        for each in gone:
            self._give_up(each, "there is no such target any more")

    def _give_up(self, delivery: Delivery, reason: str) -> None:
        self.failures.append(Outcome(delivery, "failed", reason))


def _about(target: str, subject: str) -> str:
    return f"{target}\n{subject}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _told_of(value: Any) -> dict[str, dict[str, Any]]:
    """What was told about each subject, without what another program has made of it."""
    found = {}
    for about, told in (values.mapping(value) or {}).items():
        try:
            typed = _typed(told, _TOLD)
        except TypeError:
            continue
        if typed.keys() >= _TOLD.keys():
            found[about] = typed
    return found


def _held_of(value: Any) -> list[tuple[str, float, Occasion]]:
    found = []
    for item in _list(value):
        if isinstance(item, list) and len(item) == 3 and isinstance(item[0], str):
            occasion = _occasion_of(item[2])
            at = values.number(item[1])
            if occasion is not None and at is not None:
                found.append((item[0], at, occasion))
    return found


def _occasion_json(occasion: Occasion) -> dict[str, Any]:
    subject = occasion.subject.to_dict() | {"notify": list(occasion.subject.notify)}
    return dict(occasion.to_dict()) | {"subject": dict(subject), "offers": list(occasion.offers)}


def _occasion_of(value: Any) -> Occasion | None:
    try:
        given = _typed(value["subject"], _SUBJECT)
        subject = AlertSubject(**(given | {"notify": tuple(given["notify"])}))
        given = _typed(value | {"offers": value.get("offers", [])}, _OCCASION)
        return Occasion(**(given | {"subject": subject, "offers": tuple(given["offers"])}))
    except (KeyError, TypeError, AttributeError):
        return None  # of another version: told once too little rather than never starting again


def _delivery_json(delivery: Delivery) -> dict[str, Any]:
    return dict(delivery.to_dict()) | {"occasions": [_occasion_json(each) for each in delivery.occasions]}


def _delivery_of(value: Any) -> Delivery | None:
    try:
        occasions = tuple(_occasion_of(each) for each in value["occasions"])
        known = tuple(each for each in occasions if each is not None)
        return Delivery(**(_typed(value, _DELIVERY) | {"occasions": known})) if known else None
    except (KeyError, TypeError, AttributeError):
        return None


def _typed(value: dict[str, Any], fields: dict[str, values.Reading]) -> dict[str, Any]:
    """The value with these fields read. Raises TypeError where one has another type."""
    found = {name: read(value[name]) for name, read in fields.items() if name in value}
    if None in found.values():
        raise TypeError("a field of another type")
    return value | found
