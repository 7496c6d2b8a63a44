"""What of a job needs a person now: why, since when, and the command that answers it.

`ps`, `needs` and every other face that shows several jobs ask here, so that all of them call the same jobs urgent.
"""

from __future__ import annotations

from unhang.core import mask, plain_text, values
from unhang.core.limits import LIMIT_OF_REASON, named
from unhang.core.notices import audience
from unhang.core.record import Record
from unhang.core.spec import INHERIT, PIPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from unhang.core import events as ev
    from unhang.core.view import View

# in the order in which a person should look at them
APPROVAL, INPUT, WARNING, STUCK, FAILED, LOST = KINDS = ("approval", "input", "warning", "stuck", "failed", "lost")
MORE_TIME = "10m"  # what an answer to a warning suggests; `unhang extend` takes any duration
# what may be answered to an approval; an agent's own options follow
YES_OR_NO, OR_ONE_OF = "yes|no", ", or one of: "
# Of jobs that ended badly and were not looked at a list shows the newest, and says how many more there are.
MOST_BAD_ENDS = 20
_LONGEST = 200
_BAD_ENDS = {"failed": FAILED, "timed_out": FAILED, "lost": LOST}


class Attention(Record):
    """One thing that waits for a person. `command` is for a shell; `ends_at` is a time in seconds since 1970.

    `answers`: what may stand in the place of ANSWER in the command; empty where it holds no such word.
    """

    kind: str
    why: str
    since: str
    command: str
    ends_at: float | None = None
    answers: str = ""

    @property
    def to_paste(self) -> list[str]:
        """Return the lines for people (see `to_paste`)."""
        return to_paste(self.command, self.answers)

    def to_json(self) -> dict[str, Any]:
        """Return the value as every face prints it."""
        from datetime import UTC, datetime  # on the way of `unhang run` it would cost time

        ends = None if self.ends_at is None else datetime.fromtimestamp(self.ends_at, UTC)
        return {
            "kind": self.kind,
            "why": self.why,
            "since": self.since or None,
            "endsAt": None if ends is None else ends.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "command": self.command,
            "answers": self.answers or None,
        }


def to_paste(command: str, answers: str | None) -> list[str]:
    """Return lines for a shell, one for each answer: pasted as one word, `yes|no` would be a yes and a pipe."""
    plain, _, others = (answers or "").partition(OR_ONE_OF)
    if plain != YES_OR_NO:
        return [command.replace("ANSWER", plain) if plain else command]
    lines = [command.replace("ANSWER", word) for word in YES_OR_NO.split("|")]
    return [*lines, f"# other answers: {others}"] if others else lines


def attention_of(view: View, job: dict[str, Any], called: str, now: float | None = None) -> Attention | None:
    """Return what a job needs a person for; None if it needs none.

    `job`: its record. `called`: what the command names it by, its name or its id. `now`: when it is read, in seconds
    since 1970; None: at any time, so that no time which passes stands in the text.
    """
    if view.ended or view.phase == "stopping":
        return None
    return (
        _asked_by_agent(view, called)
        or _prompt(view, job, called)
        or _near_limit(view, called, now)
        or _stuck(view, called, now)
    )


def unseen_end(last: ev.Event, job: dict[str, Any], job_id: str) -> Attention | None:
    """Return what there is to look at of a job that ended badly, and whose end was not looked at so far.

    `last`: its last event. None: it ended well or by request, or it ran in the foreground, where its caller was told.
    The command names it by its id: its name may be that of a newer job.
    """
    phase = last.get("phase")
    if job.get("foreground", True) or phase not in _BAD_ENDS:
        return None
    why, since = str(last.get("message") or phase), str(last.get("ts") or "")
    return Attention(_BAD_ENDS[phase], mask.one_line(why, _LONGEST), since, f"unhang status {job_id}")


def urgency(found: Attention | None) -> int:
    """Return a number to sort by: what should be looked at first has the smallest."""
    return len(KINDS) if found is None else KINDS.index(found.kind)


def older_bad_ends(needs: Iterable[tuple[str | None, str]]) -> set[int]:
    """Return the places in a list, given by kind and since, of the bad ends that it does not show."""
    ends = sorted((since, at) for at, (kind, since) in enumerate(needs) if kind in (FAILED, LOST))
    return {at for _, at in ends[:-MOST_BAD_ENDS]}


def limit_of(warning: ev.Event) -> str:
    """Return which limit a warning is about: `idle` or `hard`."""
    return LIMIT_OF_REASON.get(str(warning.get("reason")), "idle")


def _asked_by_agent(view: View, called: str) -> Attention | None:
    event = view.agent
    if event is None or event.get("phase") != view.phase or not audience(event).needs_person:
        return None
    waits = view.needs_input or {}
    asked = values.text(event.get("request")) or waits.get("prompt") or str(event.get("message", ""))
    since = str(waits.get("since") or event.get("ts", ""))
    if event.get("phase") == "needs_approval":
        answers = mask.one_line(values.text(event.get("answers")) or YES_OR_NO, _LONGEST)
        return Attention(
            APPROVAL, mask.one_line(asked, _LONGEST), since, f"unhang send {called} ANSWER", answers=answers
        )
    return Attention(INPUT, mask.one_line(asked, _LONGEST), since, f"unhang send {called} ANSWER", answers="TEXT")


def _prompt(view: View, job: dict[str, Any], called: str) -> Attention | None:
    waits = view.needs_input
    if waits is None:
        return None
    prompt = str(waits.get("prompt") or "")
    why = f"waits for input: {plain_text.quoted(prompt, 100)}" if prompt else "waits for input"
    since = str(waits.get("since") or "")
    if not (job.get("pty") or job.get("stdin") == PIPE):
        at_terminal = job.get("foreground") and job.get("stdin") == INHERIT
        where = "; type the answer where it runs" if at_terminal else "; it has no stdin that an answer could reach"
        return Attention(INPUT, mask.one_line(why + where, _LONGEST), since, f"unhang cancel {called}")
    if waits.get("password"):  # not as a word of a command, which a shell's history keeps
        return Attention(
            INPUT,
            mask.one_line(why, _LONGEST),
            since,
            f"unhang send {called} - < FILE",
            answers="the password, in a file",
        )
    return Attention(INPUT, mask.one_line(why, _LONGEST), since, f"unhang send {called} ANSWER", answers="TEXT")


def _near_limit(view: View, called: str, now: float | None) -> Attention | None:
    warning = view.warning
    if warning is None:
        return None
    limit = limit_of(warning)
    what = "no sign of life" if limit == "idle" else "still running"
    name = named(limit, values.text_of(warning, "budget", "name"))
    because = view.reason_at(now)
    at, left = values.moment(warning.get("ts")), values.number(warning.get("willAbortInMs"))
    return Attention(
        WARNING,
        mask.one_line(f"{what}: its {name} limit is near" + (f"; {because}" if because else ""), _LONGEST),
        str(warning.get("since") or warning.get("ts") or ""),
        f"unhang extend {called} --{limit} {MORE_TIME}",
        ends_at=None if at is None or left is None else at + left / 1000,
    )


def _stuck(view: View, called: str, now: float | None) -> Attention | None:
    if view.phase != "stuck":
        return None
    return Attention(
        STUCK,
        mask.one_line(view.reason_at(now) or "no output and no progress", _LONGEST),
        view.last_activity_at or "",
        f"unhang diagnose {called}",
    )
