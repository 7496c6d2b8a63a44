"""What a job of a queue is to run, as its submitter gave it: the message that the worker which takes it reads.

The worker resolves limits and policy on its own machine. The environment is that of the worker, with what was added by
name; the directory is meant there.
"""

from __future__ import annotations

import json

from unhang.core import values
from unhang.core.fleet.checkout import read_checkout
from unhang.core.limit_request import LIMIT_NAMES
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A message of a server holds 1 MB at most.
LARGEST = 768 << 10


class Task(Record):
    """A command, or the task of an agent. `limits`: as the options said it, by name.

    `checkout`: of a Git repository, in which it runs (core/fleet/checkout.py); `cwd` then only says what it is, and is
    no directory anywhere, so that a worker which knows no checkouts refuses it.
    `agent`: which agent, and its plan as agents/base/plan.py has it; `argv` then only says what it is.
    """

    argv: list[str]
    shell: str | None
    cwd: str
    env: dict[str, str]
    labels: dict[str, str]
    limits: dict[str, str]
    retry: int | None = None
    pty: bool = False
    keep: bool = False
    stdin: str = "null"
    agent: dict[str, Any] | None = None
    checkout: dict[str, str] | None = None

    def to_bytes(self) -> bytes:
        """Return the task as a message; bytes of a word that are no UTF-8 stay what they are."""
        return json.dumps(self.to_dict(), separators=(",", ":")).encode()


def to_sign(queue: str, job: str, data: bytes) -> bytes:
    """Return what an operator signs of a task: with the job's place, so that it is no other job's task."""
    return b"\n".join([b"unhang task", queue.encode(), job.encode(), data])


def read_task(data: bytes) -> Task | None:
    """Read a task; None if it is none, or not whole: a command with a word left out would be another command."""
    value = values.parse_object(data)
    if value is None:
        return None
    argv, env, labels = value.get("argv"), _texts(value.get("env")), _texts(value.get("labels"))
    limits = _texts(value.get("limits"))
    shell, cwd = value.get("shell"), values.text(value.get("cwd"))
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        return None
    if env is None or labels is None or limits is None or not cwd or not isinstance(shell, str | None):
        return None
    if set(limits) - set(LIMIT_NAMES):
        return None
    stdin = values.one_of("null", "pipe")(value.get("stdin")) or "null"
    flags = {name: values.flag(value.get(name)) or False for name in ("pty", "keep")}
    agent = value.get("agent")
    if agent is not None and not (values.text_of(agent, "protocol") and isinstance(values.dig(agent, "plan"), dict)):
        return None
    checkout = value.get("checkout")
    if checkout is not None and read_checkout(checkout) is None:
        return None
    retry = values.whole(value.get("retry"))
    return Task(
        list(argv), shell, cwd, env, labels, limits, retry, stdin=stdin, agent=agent, checkout=checkout, **flags
    )


def _texts(value: Any) -> dict[str, str] | None:
    """All of the pairs, or None."""
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        return None
    return dict(value)
