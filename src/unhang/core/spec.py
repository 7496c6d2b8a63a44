"""What was asked for: one job, as it is written to job.json and handed to its keeper."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import mask, plain_text, values
from unhang.core.limits import Limits
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# The label that holds the name of a job: `--name web` is `--label name=web`.
NAME = "name"
# The label that names the targets of one job's alerts: `--notify phone` is `--label notify=phone`.
NOTIFY = "notify"
INHERIT, NULL, PIPE = "inherit", "null", "pipe"
# how many bytes of input may wait to be taken by the job
INPUT_LIMIT = 1 << 20
# The most bytes of a stream that a job may keep on disk.
LARGEST_BUDGET = 256 << 20
COMMAND, AGENT = "command", "agent"
CODEX_THREAD = "CODEX_THREAD_ID"


class JobSpec(Record):
    """One job as it was asked for, complete and checked."""

    argv: list[str]  # what is executed; for a shell line: ["/bin/sh", "-c", line]
    shell: str | None  # the line as the caller wrote it, if it was one
    cwd: str
    limits: Limits
    sources: dict[str, Any]  # idleMs, hardMs … → {"value", "source"[, "asked"]}
    stdin: str = INHERIT
    pty: bool = False
    size: tuple[int, int] | None = None  # rows, columns of the terminal
    attended: bool = False  # a person sits at the terminal that it is started from, and sees what it asks
    in_front: bool = True  # of an attended job: not started in the background of the person's shell
    keep: bool = False  # what the leader leaves running is still the job
    foreground: bool = True
    labels: dict[str, str] = {}  # noqa: RUF012 - a Record is frozen; no code writes to it
    budget: int = 8 << 20  # bytes on disk a stream
    kind: str = COMMAND  # AGENT: its leader is a driver that speaks an agent's protocol
    category: str | None = None
    argued: bool = False  # the caller took more time than the policy gives: such a run teaches nothing
    retry: int = 0  # further attempts after a timeout, where the diagnosis says that it may help
    most_idle: float | None = None  # how far a retry may raise the limits
    most_hard: float | None = None
    note: str = ""  # something to say at the start: an open circuit breaker, a history that cannot be read
    terminal: str | None = None  # of the person who started it in the foreground
    shown: str | None = None  # the command for people, where its secrets are known by the environment only
    env_names: list[str] = []  # noqa: RUF012 - as labels; the variables that the caller added, without their values
    agent: dict[str, Any] | None = None  # of an agent's job: see `agent_record`
    claude: dict[str, Any] | None = None  # the session of Claude Code that it was started in: see `claude_session`
    codex_thread: str | None = None  # the thread of Codex that it was started in: see `codex_thread`

    @property
    def command(self) -> str:
        """Return one line for people, without its secrets."""
        return command_line(self.to_dict())

    def to_json(self) -> dict[str, Any]:
        """Return the value that job.json and the keeper's request hold; `from_json` reads it back."""
        value = self.to_dict()
        value["limits"] = dict(self.limits.to_dict())
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> JobSpec:
        """Read a spec; unknown keys (a newer writer's) are passed over, missing ones get their default."""
        known = {name: value[name] for name in cls.__match_args__ if name in value}
        known["limits"] = Limits(**{n: v for n, v in value["limits"].items() if n in Limits.__match_args__})
        if known.get("size") is not None:
            known["size"] = tuple(known["size"])
        return cls(**known)


def claude_session(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the session of Claude Code that an environment is of: the pid of its process, its id; None: of none."""
    pid, session = environ.get("CLAUDE_PID", ""), environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not pid.isdecimal() or len(pid) > 9 or len(session) > 100:
        return None
    return {"pid": int(pid), "session": session}


def codex_thread(environ: Mapping[str, str]) -> str | None:
    """Return the thread of Codex that an environment is of: Codex gives it to the commands that it runs.

    None: of none.
    """
    thread = environ.get(CODEX_THREAD, "")
    return thread if 0 < len(thread) <= 100 else None


def _argv(value: Any) -> list[str] | None:
    """All of the words or none: a command with a word left out would be another command."""
    found = values.texts(value)
    return found if found and len(found) == len(value) else None


def _tag(value: Any) -> int | None:
    """The number by which a sweep finds the processes of a job to end them: anything but a number of a job's (say,
    the word that the kernel has for a process without one) would find all processes of this user."""
    return values.whole(value, 1, (1 << 63) - 1)


# the types that the rest of the code relies on in job.json, whichever version wrote it
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
    "attended": values.flag,
    "in_front": values.flag,
    "labels": values.table_of(values.text),
    "budget": values.whole,
    "kind": values.text,
    "category": values.text,
    "argued": values.flag,
    "env_names": values.texts,
    "claude": values.object_of({"pid": values.pid, "session": values.text}),
    "codex_thread": values.text,
    "agent": values.object_of(
        {
            "name": values.text,
            "protocol": values.text,
            "mode": values.text,
            "task": values.text,
            "plan": values.mapping,
        }
    ),
    "trace": values.mapping,
    "keeper": values.object_of(
        {
            "pid": values.pid,
            "start": values.text,
            "guard": values.pid,
            "guardStart": values.text,
            "boot": values.text,
            "pidNamespace": values.text,
            "timeNamespace": values.text,
            "host": values.text,
            "machine": values.text,
            "tag": _tag,
            "parents": values.text,
            "nested": values.flag,
        }
    ),
}


def job_record(value: dict[str, Any]) -> dict[str, Any]:
    """Return job.json with every field that we know of its type; one that is not is left out."""
    job = values.with_types(value, _JOB)
    if job.get("kind") == AGENT and job.get("agent") is None:
        found = _agent_of_an_older_record(job)
        if found is not None:
            return job | {"agent": found}
    return job


def command_line(job: dict[str, Any]) -> str:
    """Return what a job (its record) is called in lists: the shell line, the words, or an agent's name and its task.

    Without its secrets; what is executed is in the record itself.
    """
    shown, shell, argv = job.get("shown"), job.get("shell"), job.get("argv") or []
    if shown is not None:
        return str(shown)
    title = _title(job)
    if title is not None:
        return " ".join(title)
    return masked(shell, argv) if shell is not None or argv else "?"


def name_of(labels: dict[str, str] | None) -> str:
    """Return the name that a job with these labels was given; empty if it was given none, or one that is no name."""
    name = (labels or {}).get(NAME, "")
    return name if is_name(name) else ""


def short_name(spec: JobSpec) -> str:
    """Return what a job is called in a line about it: its name, or the program that it runs, harmless on a terminal."""
    words = (spec.shell or "").split() if spec.shell is not None else spec.argv
    program = next((word for word in words if "=" not in word), "job")
    return name_of(spec.labels) or plain_text.one_line(program.rstrip("/").rpartition("/")[2], _SHORT) or "job"


_SHORT = 30


# How the name of a job is made, for people.
JOB_NAME_RULE = "letters, digits and .-_, at most 40, a letter first"


def is_name(text: str) -> bool:
    """Return whether a text may name a job: a word of letters, digits and `.-_` that begins with a letter."""
    return 0 < len(text) <= 40 and text[0].isascii() and text[0].isalpha() and not set(text) - _NAME


def history_name(job: dict[str, Any]) -> str | list[str] | None:
    """Return what the history knows the runs of this job (its record) by: a shell line, or words.

    An agent is known by its name and what kind of work it does: hardly a task is ever given twice.
    """
    return _work_of(job) or job.get("shown") or job.get("shell") or job.get("argv")


# --- an agent's job -------------------------------------------------------------------------------------------

# of the task, in lists and events (whose lines are short); the whole of it is in the plan
_TITLE = 120
# of the task, to be looked through for secrets: the title is the beginning of it
_LOOKED_THROUGH = 10_000


def agent_record(
    protocol: str, name: str, mode: str, task: str, plan: dict[str, Any], secrets: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the record of an agent's job: the protocol that drives it, its name, what it does, its task in one line,
    and the plan that its driver reads. The line is for people, and without secrets; the plan holds everything as it was
    given.
    """
    begins = task
    if len(task) > _LOOKED_THROUGH:  # up to a blank: half of a secret would not be known as one
        begins = task[:_LOOKED_THROUGH].rpartition(" ")[0]
    line = " ".join(mask.line(begins, secrets).split())
    line = line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"
    return {"protocol": protocol, "name": name, "mode": mode, "task": line, "plan": plan}


def agent_summary(agent: dict[str, Any]) -> dict[str, Any]:
    """Return the record of an agent's job without its plan: for events."""
    return {name: agent.get(name) for name in ("name", "protocol", "mode", "task")}


def _title(job: dict[str, Any]) -> list[str] | None:
    """ "codex: fix the failing test" as words; None: this is no agent's job, or it has no task."""
    agent = job.get("agent") or {}
    task = agent.get("task")
    return [f"{agent.get('name') or 'agent'}:", *task.split()] if task else None


def _work_of(job: dict[str, Any]) -> list[str] | None:
    """ "codex review" as words; None: this is no agent's job."""
    agent = job.get("agent") or {}
    return [agent["name"], agent.get("mode") or "run"] if agent.get("name") else None


_TASK = "--task="
_DRIVERS = "unhang.drivers."


def _agent_of_an_older_record(job: dict[str, Any]) -> dict[str, Any] | None:
    """In records of earlier versions the plan is the words of the driver's command line."""
    argv: list[str] = job.get("argv") or []
    protocols = [word[len(_DRIVERS) :] for word in argv if word.startswith(_DRIVERS)]
    if not protocols:
        return None
    tasks = [word[len(_TASK) :] for word in argv if word.startswith(_TASK)]
    task = "(a long task)" if tasks[:1] == ["-"] else " ".join(tasks[0].split()) if tasks else ""
    name = (job.get("labels") or {}).get("agent", "agent")
    return {"protocol": protocols[0], "name": name, "mode": "", "task": mask.line(task)}


# --- a command for people -------------------------------------------------------------------------------------


def masked(shell: str | None, argv: Sequence[str], secrets: Sequence[str] = ()) -> str:
    """Return a shell line or the words of a command as one line for people.

    `secrets`: values that are to be masked, too.
    """
    if shell is not None:
        return mask.line(shell, secrets)
    # what has more words than this is a list of files
    more = " …" if len(argv) > _MOST_WORDS else ""
    words = mask.arguments(argv[:_MOST_WORDS], secrets)
    return " ".join(word if mask.MASK in word and _is_plain(word) else quote(word) for word in words) + more


def _is_plain(word: str) -> bool:
    return not set(word.replace(mask.MASK, "")) - _PLAIN


_MOST_WORDS = 1000
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")


def quote(word: str) -> str:
    """Return the word as it must be written for a shell. `shlex` does the same; its import costs as much as `re`."""
    if word and not set(word) - _PLAIN:
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
