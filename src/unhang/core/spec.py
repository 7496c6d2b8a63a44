"""What was asked for: one job, as it is written to job.json and handed to its keeper."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import mask, values
from unhang.core.limits import Limits
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

INHERIT, NULL, PIPE = "inherit", "null", "pipe"
COMMAND, AGENT = "command", "agent"


class JobSpec(Record):
    argv: list[str]  # what is executed; for a shell line: ["/bin/sh", "-c", line]
    shell: str | None  # the line as the caller wrote it, if it was one
    cwd: str
    limits: Limits
    sources: dict[str, Any]  # idleMs, hardMs … → {"value", "source"[, "asked"]}
    stdin: str = INHERIT
    pty: bool = False
    size: tuple[int, int] | None = None  # rows, columns of the terminal
    keep: bool = False  # what the leader leaves running is still the job
    foreground: bool = True
    labels: dict[str, str] = {}  # noqa: RUF012 - a Record is frozen; nobody writes to it
    budget: int = 8 << 20  # bytes on disk a stream
    kind: str = COMMAND  # AGENT: its leader is a driver that speaks an agent's protocol
    category: str | None = None
    argued: bool = False  # the caller took more time than the policy gives: such a run teaches nothing
    retry: int = 0  # further attempts after a timeout, where the diagnosis says that it may help
    most_idle: float | None = None  # how far a retry may raise the limits
    most_hard: float | None = None
    note: str = ""  # something to say at the start: an open circuit breaker
    shown: str | None = None  # the command for people, where its secrets are known by the environment only

    @property
    def command(self) -> str:
        """One line for people, without its secrets."""
        return self.shown if self.shown is not None else masked(self.shell, self.argv)

    def to_json(self) -> dict[str, Any]:
        value = self.to_dict()
        value["limits"] = dict(self.limits.to_dict())
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> JobSpec:
        """Unknown keys (a newer writer's) are passed over, missing ones get their default."""
        known = {name: value[name] for name in cls.__match_args__ if name in value}
        known["limits"] = Limits(**{n: v for n, v in value["limits"].items() if n in Limits.__match_args__})
        if known.get("size") is not None:
            known["size"] = tuple(known["size"])
        return cls(**known)


def _argv(value: Any) -> list[str] | None:
    """All of the words or none: a command with a word left out would be another command."""
    found = values.texts(value)
    return found if found and len(found) == len(value) else None


def _tag(value: Any) -> int | None:
    """The number by which a sweep finds the processes of a job to end them: anything but a number of a job's (say,
    the word that the kernel has for a process without one) would find all processes of this user."""
    return values.whole(value, 1, (1 << 63) - 1)


# what the rest of the code relies on in job.json, whoever wrote it
_JOB: dict[str, values.Reading] = {
    "id": values.text,
    "createdAt": values.text,
    "argv": _argv,
    "shell": values.text,
    "shown": values.text,
    "cwd": values.text,
    "sources": ev.LIMITS,
    "limits": values.mapping,
    "stdin": values.text,
    "pty": values.flag,
    "labels": values.table_of(values.text),
    "budget": values.whole,
    "kind": values.text,
    "category": values.text,
    "argued": values.flag,
    "keeper": values.object_of(
        {
            "pid": values.pid,
            "start": values.text,
            "guard": values.pid,
            "guardStart": values.text,
            "boot": values.text,
            "pidNamespace": values.text,
            "host": values.text,
            "machine": values.text,
            "tag": _tag,
            "parents": values.text,
            "nested": values.flag,
        }
    ),
}


def job_record(value: dict[str, Any]) -> dict[str, Any]:
    """job.json with every field that we know of its type; one that is not is left out."""
    return values.with_types(value, _JOB)


def command_line(job: dict[str, Any]) -> str:
    """What a job (its record) is called in lists: the shell line, the words, or an agent's name and its task.

    Without its secrets; what is executed is in the record itself.
    """
    shown, shell, argv = job.get("shown"), job.get("shell"), job.get("argv") or []
    if shown is not None:
        return str(shown)
    if shell is None and not argv:
        return "?"
    return (shell is None and _task(job, argv)) or masked(shell, argv)


def masked(shell: str | None, argv: Sequence[str], secrets: Sequence[str] = ()) -> str:
    """A shell line or the words of a command as one line for people. `secrets`: values that are to be masked, too."""
    if shell is not None:
        return mask.line(shell, secrets)
    # what has more words than this is a list of files
    more = " …" if len(argv) > _MOST_WORDS else ""
    words = mask.words(argv[:_MOST_WORDS], secrets)
    return " ".join(word if mask.MASK in word and _is_plain(word) else quote(word) for word in words) + more


def _is_plain(word: str) -> bool:
    return not set(word.replace(mask.MASK, "")) - _PLAIN


_TASK = "--task="
_MOST_WORDS = 1000


def _task(job: dict[str, Any], argv: list[str]) -> str:
    """ "": it has none."""
    tasks = [word[len(_TASK) :] for word in argv if word.startswith(_TASK)]
    if job.get("kind") != AGENT or not tasks:
        return ""
    task = "(a long task)" if tasks[0] == "-" else " ".join(tasks[0].split())
    return f"{(job.get('labels') or {}).get('agent', 'agent')}: {mask.line(task)}"


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")


def quote(word: str) -> str:
    """As a shell would need it. (shlex does the same, and costs an import of `re`'s size.)"""
    if word and not set(word) - _PLAIN:
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
