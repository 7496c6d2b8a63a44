"""What a message says: a title, a few lines, the command to paste, the buttons; and the same as JSON."""

from __future__ import annotations

from unhang.core import plain_text
from unhang.core.alerts.answers import LABELS
from unhang.core.alerts.kinds import SEVERITIES
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unhang.core.alerts.ledger import Delivery
    from unhang.core.alerts.occasions import Occasion

WORDS = {
    "needs_approval": "needs your approval",
    "needs_input": "needs input",
    "gave_up": "needs you: nothing more can be done",
    "warning": "will be ended soon",
    "lost": "was lost",
    "timeout": "was ended by its limit",
    "stuck": "is stuck",
    "failed": "failed",
    "recovered": "goes on",
    "finished": "has finished",
}
# The same of several jobs, where it differs.
_OF_SEVERAL = {
    "needs_approval": "need your approval",
    "needs_input": "need input",
    "gave_up": "need you: nothing more can be done",
    "lost": "were lost",
    "timeout": "were ended by their limits",
    "stuck": "are stuck",
    "recovered": "go on",
    "finished": "have finished",
}
_MOST_LINES = 10
_LONGEST_COMMAND = 300  # of a job's command line: one of a hundred thousand characters fits into no notification


class Button(Record):
    """A link that does one thing about an alert: `act` is of core/alerts/answers.py, `label` is for people."""

    act: str
    label: str
    url: str


class Message(Record):
    """One message. `severity` is that of its most urgent part.

    `command` is for a shell. It is empty, and there are no `buttons`, if the message tells of several things; each of
    them has its own in `value`.
    """

    key: str
    title: str
    body: str
    severity: str
    command: str
    value: dict[str, Any]
    buttons: tuple[Button, ...] = ()


def message_of(delivery: Delivery, link: Callable[[Occasion, str], str] | None = None) -> Message:
    """Return the message that tells of all occasions of a delivery, the most urgent first.

    `link` makes the address that does one of the things that an occasion offers; None: no page can be reached.
    """
    parts = delivery.occasions
    severity = min((each.severity for each in parts), key=SEVERITIES.index)
    if len(parts) == 1:
        (only,) = parts
        title = f"{only.subject.name} {WORDS[only.kind]}"
        body, command = _block(only), only.command
    else:
        title, command = _title(parts), ""
        shown = [_line(each) for each in parts[:_MOST_LINES]]
        if len(parts) > _MOST_LINES:
            shown.append(f"and {len(parts) - _MOST_LINES} more: unhang ps")
        body = "\n".join(shown)
    value = {
        "v": 1,
        "key": delivery.key,
        "severity": severity,
        "title": title,
        "alerts": [_json(each, _buttons(each, link)) for each in parts],
    }
    buttons = _buttons(parts[0], link) if len(parts) == 1 else ()
    return Message(delivery.key, title, body, severity, command, value, buttons)


def _buttons(each: Occasion, link: Callable[[Occasion, str], str] | None) -> tuple[Button, ...]:
    if link is None:
        return ()
    return tuple(Button(act, LABELS[act], link(each, act)) for act in each.offers if act in LABELS)


def _title(parts: tuple[Occasion, ...]) -> str:
    names = {each.subject.id for each in parts}
    kinds = {each.kind for each in parts}
    if len(names) == 1:
        return f"{parts[0].subject.name}: {', '.join(dict.fromkeys(WORDS[each.kind] for each in parts))}"
    first = parts[0]
    if len(kinds) == 1:
        return f"{len(names)} jobs {_OF_SEVERAL.get(first.kind, WORDS[first.kind])}"
    return f"{len(names)} jobs: {first.subject.name} {WORDS[first.kind]} and more"


def _block(each: Occasion) -> str:
    command = plain_text.one_line(each.subject.command, _LONGEST_COMMAND)
    lines = [each.what, command if command != each.subject.name else "", each.command]
    return "\n".join(line for line in lines if line)


def _line(each: Occasion) -> str:
    return f"{each.subject.name} {WORDS[each.kind]}: {each.what} ({each.command})"


def _json(each: Occasion, buttons: tuple[Button, ...]) -> dict[str, Any]:
    subject = each.subject
    return {
        "key": each.key,
        "kind": each.kind,
        "severity": each.severity,
        "sessionId" if subject.session else "jobId": subject.id,
        "seq": each.seq,
        "at": each.at,
        "name": subject.name,
        "command": subject.command,
        "directory": subject.directory,
        "agent": subject.agent or None,
        "labels": subject.labels,
        "what": each.what,
        "paste": each.command,
        "actions": [dict(button.to_dict()) for button in buttons],
    }
