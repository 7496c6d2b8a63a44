"""The side of a viewer: sends a command to the machine that owns a job, and passes on what it prints there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from unhang.core.fleet.requests import ALIVE_EVERY, CODE, END, KIND, NONCE, REFUSED, STDERR, STDOUT, Request
from unhang.core.fleet.subjects import questions_of, requests_of
from unhang.errors import EXIT_FAILED, EXIT_SIGNAL_BASE, ControlError, UnhangError
from unhang.fleet.connection import NoCommandServer, ServerAway

if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.fleet.connection import Connection

# A command that says nothing for so long does not run any more, or its machine cannot be reached.
_PATIENCE = 4 * ALIVE_EVERY
# The longest time from a request to its first answer: a Python is started.
_FIRST = 20.0


class Offline(ControlError):
    """The machine that owns the job does not answer."""


async def ask(connection: Connection, machine: str, request: Request, show: Callable[[str, bytes], None]) -> int:
    """Have a command run on another machine; return its exit code. `show` gets the stream and a piece of it."""
    if request.changes:
        try:
            number = await connection.request(requests_of(machine), Request(NONCE, [], []).to_bytes())
        except NoCommandServer:
            raise Offline(f"machine {machine} is offline") from None
        except ServerAway as error:
            raise Offline(f"machine {machine} does not answer ({error})") from None
        request = request.replace(nonce=number.decode("ascii", "replace"))
    subject = requests_of(machine) if request.changes else questions_of(machine)
    replies = await connection.ask(subject, request.to_bytes())
    try:
        patience = _FIRST
        while True:
            message = await replies.next(patience)
            if message is None:
                raise Offline(f"machine {machine} does not answer any more; what it did is not known")
            headers = dict(message.headers or {})
            if headers.get("Status") == "503":
                raise Offline(f"machine {machine} is offline")
            patience = _PATIENCE
            kind = headers.get(KIND)
            if kind in (STDOUT, STDERR):
                show(kind, message.data)
            if message.reply:
                await message.respond(b"")
            if kind == REFUSED:
                raise _refusal(machine, message.data.decode("utf-8", "replace"), headers.get(CODE, ""))
            if kind == END:
                await asyncio.sleep(0)  # the answer to it goes first
                return _code(headers.get(CODE, ""))
    finally:
        await replies.close()


def _refusal(machine: str, text: str, code: str) -> UnhangError:
    error = ControlError(f"{machine}: {text}")
    error.exit_code = _code(code)
    return error


def _code(text: str) -> int:
    code = int(text) if text.lstrip("-").isdigit() and len(text) < 9 else EXIT_FAILED
    return EXIT_SIGNAL_BASE - code if code < 0 else code % 256
