"""What a caller asks for → a checked job, before anything is created or spawned. Every mistake is found here."""

from __future__ import annotations

import os

from unhang.core.limit_request import LimitRequest
from unhang.core.policy.resolve import resolve, waits_for_no_person, with_stall_notice
from unhang.core.record import Record
from unhang.core.spec import (
    AGENT,
    COMMAND,
    INHERIT,
    LARGEST_BUDGET,
    NULL,
    PIPE,
    JobSpec,
    agent_record,
    claude_session,
    codex_thread,
    history_name,
)
from unhang.errors import EXIT_FAILED, SpawnError, StateError, UsageError
from unhang.jobs.policy import find_policy
from unhang.procs.spawn import SHELL
from unhang.store.home import locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from unhang.core.policy.learn import Profile
    from unhang.core.policy.model import Category, Policy, Resolution

    # a shell line, or the words of a command
    Command = str | Sequence[str | bytes | os.PathLike[str]]

STDIN_WORDS = (INHERIT, NULL, PIPE)
_LABEL_LENGTH = 200
_MOST_RETRIES = 10


class Prepared(Record):
    """A checked job, ready to be launched: its specification, its environment, and how its limits were resolved."""

    spec: JobSpec
    env: dict[str, str]
    resolution: Resolution


class AgentTask(Record):
    """What a driver is to do: which protocol it speaks, its agent's name, the mode, the task in words, and its plan."""

    protocol: str
    name: str
    mode: str
    task: str
    plan: dict[str, Any]
    category: str = ""  # whose limits hold if the caller asks for no other; empty: that of its driver's words

    def own_category(self, policy: Policy) -> Category | None:
        """Return what the policy gives to such a task by itself: a driver says what moves."""
        found = policy.categories.get(self.category)
        return None if found is None else found.replace(liveness="agent")

    def to_record(self, env: Mapping[str, str]) -> dict[str, Any]:
        """Return it as job.json holds it; the words for people are without the secrets of this environment."""
        from unhang.core import mask

        secrets = mask.secrets_in(self.task, env)
        return agent_record(self.protocol, self.name, self.mode, self.task, self.plan, secrets)


def prepare(
    command: Command,
    *,
    shell: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = INHERIT,
    pty: bool = False,
    size: tuple[int, int] | None = None,
    attended: bool = False,
    in_front: bool = True,
    keep: bool = False,
    foreground: bool = True,
    labels: Mapping[str, str] | None = None,
    policy: Policy | str | None = None,
    asked: LimitRequest | None = None,
    retry: int | None = None,
    budget: int | None = None,
    agent: AgentTask | None = None,
) -> Prepared:
    """Check a request and make a job of it; `policy`: one that is at hand, a file, or None for the one that holds in
    this directory. `agent`: what the command, a driver, is to do.
    """
    argv, line = _command(command, shell)
    folder = _folder(cwd)
    given = dict(os.environ) | {str(k): str(v) for k, v in (env or {}).items()}
    _check_environment(given)
    if stdin not in STDIN_WORDS:
        raise UsageError(f"stdin must be one of {', '.join(STDIN_WORDS)}: {stdin!r}")
    if pty and not foreground and stdin == NULL:
        stdin = PIPE  # a terminal can always be typed at; its end of file would be the first thing it reads
    if budget is not None and budget < 4096:
        raise UsageError(f"the output budget must be at least 4096 bytes: {budget}")
    if budget is not None and budget > LARGEST_BUDGET:
        raise UsageError(f"the output budget must be at most {LARGEST_BUDGET} bytes: {budget}")
    if policy is None or isinstance(policy, str):
        policy = find_policy(policy, folder)
    what = line if line is not None else argv
    shown = _shown(line, argv, given)
    record = None if agent is None else agent.to_record(given)
    known_as = history_name({"shown": shown, "agent": record, "shell": line, "argv": argv}) or argv
    by_itself = None if agent is None else agent.own_category(policy)
    troubles: list[str] = []
    resolution = resolve(what, policy, asked, lambda: past_runs(known_as, folder, policy, troubles.append), by_itself)
    reached = pty or attended or stdin == PIPE or (asked is not None and asked.category is not None)
    if not reached and waits_for_no_person(resolution, policy):
        unknown = (asked or LimitRequest()).replace(category=policy.default)
        resolution = resolve(what, policy, unknown, lambda: past_runs(known_as, folder, policy, troubles.append))
    if foreground and not attended and (asked is None or (asked.stall is None and asked.category is None)):
        resolution = with_stall_notice(resolution, policy)
    retries, note = _retries(known_as, folder, resolution.retry if retry is None else retry, troubles.append)
    if not pty:  # on a terminal a person may want a pager
        given = {k: v for k, v in resolution.env.items() if k not in given} | given
    spec = JobSpec(
        argv=argv,
        shell=line,
        cwd=folder,
        limits=resolution.limits,
        sources=resolution.limits_json(),
        stdin=stdin,
        pty=pty,
        size=size,
        attended=attended,
        in_front=in_front,
        keep=keep,
        foreground=foreground,
        terminal=_terminal() if foreground else None,
        labels=_labels(labels or {}),
        kind=COMMAND if agent is None else AGENT,
        agent=record,
        claude=claude_session(given),
        codex_thread=codex_thread(given),
        category=resolution.category,
        shown=shown,
        env_names=sorted(str(name) for name in env or {}),
        argued=resolution.argued,
        retry=retries,
        most_idle=resolution.bounds.idle_max,
        most_hard=resolution.bounds.hard_max,
        note=note or next(iter(troubles), ""),
    )
    if budget is not None:
        spec = spec.replace(budget=budget)
    return Prepared(spec, given, resolution)


def past_runs(command: str | list[str], folder: str, policy: Policy, tell: Callable[[str], object]) -> Profile | None:
    """Return what the history of this user says of a command in a directory; None where it cannot be read: `tell` why.

    A history is a help, and no condition: without one the limits of the policy hold.
    """
    from unhang.jobs.history import profile_of

    try:
        return profile_of(locate(os.environ), command, folder, policy)
    except (StateError, OSError) as error:
        tell(_unread(error))
        return None


def _unread(error: Exception) -> str:
    return f"nothing is learnt from earlier runs, so the policy's own limits hold: {error}"


def _retries(command: str | list[str], cwd: str, asked: int, tell: Callable[[str], object]) -> tuple[int, str]:
    if not 0 <= asked <= _MOST_RETRIES:
        raise UsageError(f"retry must be between 0 and {_MOST_RETRIES}: {asked}")
    if asked == 0:
        return 0, ""
    from unhang.jobs.history import open_breaker

    try:
        breaker = open_breaker(locate(os.environ), command, cwd)
    except (StateError, OSError) as error:
        tell(_unread(error))
        return asked, ""
    return (asked, "") if breaker is None else (0, f"{breaker}; this attempt is the only one")


def _terminal() -> str | None:
    try:
        return os.ttyname(2)
    except OSError:
        return None


def _command(command: Command, shell: bool) -> tuple[list[str], str | None]:
    if isinstance(command, str):
        if not shell:
            raise UsageError("the command is one text: pass a list of words, or shell=True for a shell line")
        if not command.strip():
            raise UsageError("the shell line is empty")
        argv, line = [SHELL, "-c", command], command
    else:
        if shell:
            raise UsageError("a shell line is one text, not a list of words")
        try:
            argv, line = [os.fsdecode(word) for word in command], None
        except TypeError as error:
            raise UsageError(f"a command is a list of words: {error}") from None
        if not argv or not argv[0]:
            raise UsageError("no command given")
    if any("\0" in word for word in argv):
        raise UsageError("the command holds a NUL byte")
    return argv, line


def _shown(line: str | None, argv: list[str], env: Mapping[str, str]) -> str | None:
    """The command for people where a secret of its environment stands in it; None: it can be told from itself."""
    from unhang.core import mask
    from unhang.core.spec import masked

    text = line if line is not None else "\n".join(argv)
    secrets = mask.secrets_in(text, env)
    return masked(line, argv, secrets) if secrets else None


def _folder(cwd: str | os.PathLike[str] | None) -> str:
    if cwd is not None and not os.fspath(cwd):
        raise UsageError("the directory to run in is empty")
    try:
        folder = os.path.abspath(os.getcwd() if cwd is None else os.fspath(cwd))
    except FileNotFoundError:
        raise SpawnError("the current directory does not exist any more", EXIT_FAILED) from None
    if not os.path.isdir(folder):
        what = "not a directory" if os.path.exists(folder) else "no such directory"
        raise SpawnError(f"cannot enter {folder}: {what}", EXIT_FAILED)
    if not os.access(folder, os.X_OK):
        raise SpawnError(f"cannot enter {folder}: permission denied", EXIT_FAILED)
    return folder


def _check_environment(env: dict[str, str]) -> None:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise UsageError(f"not an environment variable: {name!r}")


def _labels(labels: Mapping[str, str]) -> dict[str, str]:
    for name, value in labels.items():
        if not name or len(name) > _LABEL_LENGTH or len(str(value)) > _LABEL_LENGTH:
            raise UsageError(f"a label is a short name=value: {name!r}")
    return {str(k): str(v) for k, v in labels.items()}


def split_pairs(what: str, pairs: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE … as given on a command line by name."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise UsageError(f"{what}: expected NAME=VALUE, not {pair!r}")
        found[name] = value
    return found
