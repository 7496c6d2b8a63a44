"""The arguments of the tools: their types with what a model is told about them, and what becomes of them.

Texts are plain `str` with "" for "not given": where a list or a number may stand, a text that is JSON is read as one.
"""

from __future__ import annotations

import os
from typing import Annotated, NamedTuple

from unhang.core.limit_request import LimitRequest, read_duration, read_limits
from unhang.core.policy.builtin import DEFAULT
from unhang.core.policy.model import Resolution
from unhang.errors import UsageError
from unhang.faces.mcp.schema import Arg
from unhang.faces.mcp.settings import Settings

# The kernel's own bound on one word (MAX_ARG_STRLEN); checked here it is a sentence and not a failed job.
LONGEST_WORD = (128 << 10) - 1

# A prompt waits at least so long for its answer: a model, or the person behind it, may have to think.
TO_ANSWER = 300.0

JobId = Annotated[str, Arg(description='A jobId, a unique prefix of one, or "@last".')]
WaitSec = Annotated[
    float | None, Arg(description="Answer after this many seconds at the latest, ended or not; default 45.", ge=0)
]
Command = Annotated[str, Arg(description="A shell line, as for sh -c. Give this or argv.")]
Argv = Annotated[list[str] | None, Arg(description="The words of a command, run without a shell.")]
Cwd = Annotated[str, Arg(description="Directory to run in; the server's own unless given.")]
Env = Annotated[dict[str, str] | None, Arg(description="Variables added to the environment.")]
TimeoutSec = Annotated[
    float | None,
    Arg(description="End it after this many seconds in all, whatever it does.", gt=0),
]
IdleMs = Annotated[int | None, Arg(description="End it after this long without a sign of life, in ms.", ge=0)]
HardMs = Annotated[int | None, Arg(description="End it after this long whatever it does, in ms.", ge=0)]
Category = Annotated[str, Arg(description="A policy category to take the limits from (see explain_policy).")]
Stdin = Annotated[str, Arg(description="Text for its stdin, then end of file. Without it: end of file.")]
Interactive = Annotated[bool, Arg(description="Keep its stdin open so that `send` can answer prompts.")]
Pty = Annotated[bool, Arg(description="Give it a terminal of its own.")]


class CommandCall(NamedTuple):
    """The arguments of `run` and `start`, checked."""

    command: str | list[str]
    cwd: str
    env: dict[str, str] | None
    limits: LimitRequest
    stdin: bytes | None
    interactive: bool
    pty: bool

    @property
    def typed(self) -> bool:
        """Return whether the caller will type into the job: its stdin stays open."""
        return self.interactive or self.pty

    @property
    def bounded(self) -> bool:
        """Return whether the caller gave a limit that ends the job."""
        return any(limit is not None for limit in (self.limits.timeout_sec, self.limits.hard, self.limits.idle))

    def _rules_by_one_number(self, resolution: Resolution) -> bool:
        """Whether the policy derives the idle limit from `timeout_sec`: a file that stands by itself does."""
        return self.limits.timeout_sec is not None and resolution.sourced["idleMs"].source == "argument:timeout_sec"

    def with_room(self, resolution: Resolution, *, stays: bool) -> CommandCall:
        """Return the call with the limits that its purpose needs; itself where the caller has said which, or needs
        none.

        What is to stay (`start`) may be silent for as long as it likes, and has no hard limit if the policy does not
        know it: it may be a server. What is to be talked to waits for its caller, who needs time to think.
        """
        if self.limits.category is not None or resolution.never_ending:
            return self
        idle = resolution.limits.idle
        if stays and self.limits.idle is None and not self._rules_by_one_number(resolution):
            endless = resolution.category == DEFAULT and not self.bounded
            return self._replace(limits=self.limits.replace(idle=0.0, hard=0.0 if endless else self.limits.hard))
        if self.bounded:
            return self
        if self.typed and idle is not None and idle < TO_ANSWER:
            return self._replace(limits=self.limits.replace(idle=TO_ANSWER))
        return self


def command_call(
    command: str,
    argv: list[str] | None,
    cwd: str,
    env: dict[str, str] | None,
    timeout_sec: float | None,
    idleTimeoutMs: int | None,  # noqa: N803 - the names that delegating servers have always used
    hardTimeoutMs: int | None,  # noqa: N803
    category: str,
    stdin: str,
    interactive: bool,
    pty: bool,
) -> CommandCall:
    """Check the arguments of `run` and `start` as they were given. UsageError names the one that is wrong."""
    limits = read_limits(
        {
            "idleTimeoutMs": idleTimeoutMs,
            "hardTimeoutMs": hardTimeoutMs,
            "category": category,
            "timeout_sec": timeout_sec,
        }
    )
    data = stdin.encode("utf-8", "surrogatepass") if stdin else None
    return CommandCall(command_of(command, argv), cwd, env, limits, data, interactive, pty)


def command_of(command: str, argv: list[str] | None) -> str | list[str]:
    """Return the one of the two that was given."""
    if bool(command) == (argv is not None):
        raise UsageError("give either command (a shell line) or argv (a list of words)")
    if any(len(word) > LONGEST_WORD for word in argv or [command]):
        raise UsageError("one word of a command may have 128 KiB: put it into a file, or give it as stdin")
    return command if argv is None else argv


def folder_of(cwd: str) -> str:
    """Return the directory that a call names; the server's own if it names none."""
    if "\0" in cwd:
        raise UsageError("cwd holds a NUL byte")
    return os.path.abspath(os.path.expanduser(cwd)) if cwd else os.getcwd()


def seconds_to_wait(settings: Settings, wait_sec: float | None) -> float:
    """Return how long a call may take: what was asked for, but no longer than its client waits."""
    if wait_sec is None:
        return min(settings.wait, settings.longest_wait)
    return min(read_duration("wait_sec", wait_sec) or 0.0, settings.longest_wait)
