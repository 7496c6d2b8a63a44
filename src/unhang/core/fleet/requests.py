"""A command for the machine that owns a job: which may be asked for, and the form of the question.

A request is a JSON object: `do` (a command of unhang's, or `page` for a part of a page), `jobs`, `options` (words, each
a long option of `ALLOWED` with its value), `data` (base64, for the input of `send`), and `nonce` where the command
changes something. The answers are pieces of what it prints, then its exit code.
"""

from __future__ import annotations

import binascii

from unhang.core import values
from unhang.core.record import Record
from unhang.errors import UsageError

NONCE, PAGE = "nonce", "page"
# The options of each command that may be asked for; those of the second table change something.
_READING = {
    "status": ("--json", "--utc"),
    "result": ("--json", "--raw"),
    "logs": (
        "--follow",
        "--stream",
        "--tail",
        "--timestamps",
        "--since",
        "--grep",
        "--raw",
        "--utc",
    ),
    "diagnose": ("--json", "--watch", "--deep"),
    # what a page shows of one job, read by the publisher itself: `look`, `rows`, `search` or `piece`
    PAGE: ("--what", "--stream", "--first", "--count", "--at", "--text"),
}
_CHANGING = {
    "cancel": ("--force", "--no-wait", "--json"),
    "extend": ("--idle", "--hard"),
    "send": ("--eof",),
}
ALLOWED = _READING | _CHANGING
# The headers of an answer: what it is, and the exit code of `end` and `refused`.
KIND, CODE = "Unhang-Kind", "Unhang-Code"
STDOUT, STDERR, ALIVE, END, REFUSED = "stdout", "stderr", "alive", "end", "refused"
# How often a command that prints nothing says that it runs.
ALIVE_EVERY = 5.0
_MOST_JOBS, _MOST_OPTIONS, _LONGEST = 100, 20, 2000
# Of the input of `send`: as much as a message can hold.
MOST_DATA = 512 << 10


class Request(Record):
    """A command, checked."""

    do: str
    jobs: list[str]
    options: list[str]
    data: bytes = b""
    nonce: str = ""

    @property
    def changes(self) -> bool:
        """Return whether it changes something."""
        return self.do in _CHANGING

    def option(self, name: str) -> str | None:
        """Return the value of an option that was given as --name=value."""
        return next((each.partition("=")[2] for each in self.options if each.startswith(f"{name}=")), None)

    @property
    def words(self) -> list[str]:
        """Return the words of the command line; the input of `send` comes from stdin."""
        return [*self.options, *self.jobs, *(["-"] if self.do == "send" and self.data else [])]

    def to_bytes(self) -> bytes:
        """Return the request as a message."""
        value = {"do": self.do, "jobs": self.jobs, "options": self.options, "nonce": self.nonce}
        data = binascii.b2a_base64(self.data, newline=False).decode()
        return values.dump(value | {"data": data}, compact=True).encode()


def read_request(message: bytes) -> Request:
    """Read a request. Raises UsageError for anything that may not be asked for."""
    value = values.parse_object(message)
    if value is None:
        raise UsageError("refused: not a request")
    do = values.text(value.get("do")) or ""
    if do == NONCE:
        return Request(NONCE, [], [])
    if do not in ALLOWED:
        raise UsageError(f"refused: {do[:40]!r} cannot be asked for from another machine")
    jobs, options = (_words(value.get(name)) for name in ("jobs", "options"))
    if not jobs or len(jobs) > _MOST_JOBS or any(job.startswith("-") for job in jobs):
        raise UsageError("refused: name the jobs")
    for option in options[:_MOST_OPTIONS]:
        if option.partition("=")[0] not in ALLOWED[do]:
            raise UsageError(f"refused: {option.partition('=')[0][:40]!r} cannot be asked for from another machine")
    if len(options) > _MOST_OPTIONS:
        raise UsageError("refused: too many options")
    return Request(do, jobs, options, _data(value.get("data")), values.text(value.get("nonce")) or "")


def _words(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise UsageError("refused: not a request")
    if any("\0" in word or len(word) > _LONGEST for word in value):
        raise UsageError("refused: a word of it is too long")
    return list(value)


def _data(value: object) -> bytes:
    try:
        data = binascii.a2b_base64(value, strict_mode=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        raise UsageError("refused: not a request") from None
    if len(data) > MOST_DATA:
        raise UsageError(f"refused: more than {MOST_DATA >> 10} KiB of input")
    return data
