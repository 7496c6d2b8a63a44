"""What the jobs of all agents have in common: which program, which policy and limits, and how a plan becomes a job."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from unhang.core.limit_request import LimitRequest
from unhang.core.limits import Limits
from unhang.core.policy import builtin
from unhang.core.policy.model import Policy
from unhang.core.policy.resolve import resolve
from unhang.core.spec import AGENT, NULL, PIPE
from unhang.errors import SpawnError, UsageError
from unhang.jobs import executable
from unhang.jobs.request import Prepared, prepare
from unhang.procs.spawn import find_program
from unhang.store import policy_file

READ_ONLY, WRITE, CLOUD = "agent-read-only", "agent-write", "agent-cloud"
# Why nothing moves is said after a minute at the latest.
STALL = 60.0


# --- the program ----------------------------------------------------------------------------------------------


def find(name: str, hint: str) -> str:
    """Where it is. Raises SpawnError with what to do."""
    try:
        return os.path.abspath(find_program(name, os.environ.get("PATH", os.defpath)))
    except SpawnError as error:
        raise SpawnError(f"{error}: {hint}", error.exit_code) from None


class Known(NamedTuple):
    """Of a program's versions."""

    word: int  # of what `--version` prints, the one that is the number
    oldest: tuple[int, ...]
    works: str
    attempt: str  # what to try with one whose number says nothing


def version_of(program: str, known: Known) -> tuple[str | None, str]:
    """What it says of itself, and what of this works with it."""
    import subprocess

    try:
        words = [program, "--version"]
        said = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None, ""
    printed = said.stdout.decode("utf-8", "replace").split()
    if said.returncode != 0 or not printed:
        return None, ""
    version = printed[known.word]
    try:
        number = tuple(int(part) for part in version.split("-")[0].split("."))
    except ValueError:
        return version, f"an unknown version; try `{known.attempt}`"
    if number < known.oldest:
        return version, f"older than {'.'.join(map(str, known.oldest))}, with which nobody has tried this"
    return version, known.works


# --- the job --------------------------------------------------------------------------------------------------


def policy_for(category: str, cwd: str, file: str | None = None, *, bounded: bool) -> Policy:
    """The policy that holds in this directory, and knows the category. `bounded`: what is asked for is held to it.

    A person's own numbers are taken as they are; the bounds are for those who call us in a model's name.
    """
    policy = policy_file.find(file, cwd, os.environ)
    known = policy.categories.get(category) or builtin.categories()[category]
    if not bounded and known.bounds == builtin.AGENT_BOUNDS:
        known = known.replace(bounds=None)
    return policy.replace(categories=policy.categories | {category: known})


class Wanted(NamedTuple):
    """By whoever starts it, whatever the agent is."""

    cwd: str | None = None
    policy: str | None = None
    bounded: bool = False
    foreground: bool = False
    retry: int | None = None
    labels: Mapping[str, str] | None = None


class Terms(NamedTuple):
    """On which an agent's job runs."""

    folder: str
    rules: Policy
    asked: LimitRequest
    limits: Limits
    driver: tuple[str, ...]  # how it is started
    wanted: Wanted

    def stall(self, *budgets: float | None) -> float:
        """Said before the shortest of them warns."""
        shortest = min(one for one in (self.limits.idle, *budgets, 2 * STALL) if one is not None)
        return min(self.limits.stall or STALL, shortest / 2)

    def job(self, name: str, words: Sequence[str], *, asks: bool) -> Prepared:
        """`asks`: it may want an answer from a person."""
        return prepare(
            [*self.driver, *words],
            cwd=self.folder,
            stdin=PIPE if asks else NULL,
            foreground=self.wanted.foreground,
            labels={"agent": name} | dict(self.wanted.labels or {}),
            policy=self.rules,
            asked=self.asked,
            retry=self.wanted.retry,
            kind=AGENT,
        )


def terms(module: str, asked: LimitRequest, category: str, wanted: Wanted) -> Terms:
    """`module` is the driver; `category` is what it is if nobody asked for another."""
    folder = os.path.abspath(os.path.expanduser(wanted.cwd)) if wanted.cwd else os.getcwd()
    category = asked.category or category
    rules = policy_for(category, folder, wanted.policy, bounded=wanted.bounded)
    asked = asked.replace(category=category, liveness=asked.liveness or "agent")
    driver = tuple(executable.module(module))
    return Terms(folder, rules, asked, resolve(list(driver), rules, asked).limits, driver, wanted)


def check_task(*tasks: str) -> None:
    if not tasks or not all(task.strip() for task in tasks):
        raise UsageError("the task is empty")


def refuse_long(option: str) -> UsageError:
    return UsageError(f"a task of more than 120 KB cannot be combined with {option} ask: put it into a file")
