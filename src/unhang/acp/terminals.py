"""`Terminals`: the five `terminal/*` methods for any client that is written with the official Python SDK."""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from unhang.acp.host import Host
from unhang.acp.protocol import META, Refused
from unhang.agents.base.jsonrpc_message import INVALID_PARAMS
from unhang.core.extras import Extra

if TYPE_CHECKING:
    from acp.schema import (
        CreateTerminalResponse,
        EnvVariable,
        KillTerminalResponse,
        ReleaseTerminalResponse,
        TerminalOutputResponse,
        WaitForTerminalExitResponse,
    )

_Client = TypeVar("_Client")
_T = TypeVar("_T")
_MOUNTED = ("create_terminal", "terminal_output", "wait_for_terminal_exit", "kill_terminal", "release_terminal")


class Terminals(Host):
    """For `async with`: what dead clients have left is ended at the beginning, what is left of ours at the end.

    `mount(client)` makes the five methods the client's.
    """

    async def __aenter__(self) -> Self:
        await self.recover()
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.close()

    def mount(self, client: _Client) -> _Client:
        """Return the same client, with terminals. Say so to the agent: `ClientCapabilities(terminal=True)`."""
        _schema()  # now, and not in the middle of a turn
        for name in _MOUNTED:
            setattr(client, name, getattr(self, name))
        return client

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **kwargs: Any,
    ) -> CreateTerminalResponse:
        """Start a command; `kwargs` is the request's `_meta`: `{"unhang": {"hard": "2m"}}` limits this one command."""
        given = {
            "sessionId": session_id,
            "command": command,
            "args": args,
            "env": [{"name": entry.name, "value": entry.value} for entry in env or []],
            "cwd": cwd,
            "outputByteLimit": output_byte_limit,
            "_meta": _meta(kwargs),
        }
        answer = await _answered(self.handle("terminal/create", given))
        return _schema().CreateTerminalResponse.model_validate(answer)  # type: ignore[no-any-return]

    async def terminal_output(self, session_id: str, terminal_id: str, **_kwargs: Any) -> TerminalOutputResponse:
        """Answer `terminal/output`: the end of the output and, once it has ended, the exit status."""
        answer = await _answered(self.output(session_id, terminal_id))
        return _schema().TerminalOutputResponse.model_validate(answer)  # type: ignore[no-any-return]

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> WaitForTerminalExitResponse:
        """Answer `terminal/wait_for_exit` when the command has ended, or after `{"unhang": {"timeout": "30s"}}`."""
        answer = await _answered(self.handle("terminal/wait_for_exit", _named(session_id, terminal_id, kwargs)))
        return _schema().WaitForTerminalExitResponse.model_validate(answer)  # type: ignore[no-any-return]

    async def kill_terminal(self, session_id: str, terminal_id: str, **kwargs: Any) -> KillTerminalResponse | None:
        """Answer `terminal/kill` when nothing of the command is left; its output can still be read.

        `{"unhang": {"signal": "SIGINT"}}` in the request's `_meta` says which signal comes first.
        """
        await _answered(self.handle("terminal/kill", _named(session_id, terminal_id, kwargs)))
        return _schema().KillTerminalResponse()  # type: ignore[no-any-return]

    async def release_terminal(
        self, session_id: str, terminal_id: str, **_kwargs: Any
    ) -> ReleaseTerminalResponse | None:
        """Answer `terminal/release` when nothing of the command is left; the id is then unknown."""
        await _answered(self.release(session_id, terminal_id))
        return _schema().ReleaseTerminalResponse()  # type: ignore[no-any-return]


def _named(session_id: str, terminal_id: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return a request about a terminal as it came over the wire, as far as we read it."""
    return {"sessionId": session_id, "terminalId": terminal_id, "_meta": _meta(kwargs)}


def _meta(kwargs: dict[str, Any]) -> dict[str, Any] | None:
    return {META: kwargs[META]} if META in kwargs else None


def _schema() -> Any:
    """Import the SDK late: it takes most of a second, and a client that uses it has imported it already."""
    with Extra("ACP terminals need the official SDK", "acp"):
        from acp import schema
    return schema


async def _answered(work: Awaitable[_T]) -> _T:
    """Our refusals as the SDK's errors; `data` says why, as it does in the SDK itself."""
    try:
        return await work
    except Refused as refused:
        from acp import RequestError

        message = "Invalid params" if refused.code == INVALID_PARAMS else "Internal error"
        raise RequestError(refused.code, message, {"details": refused.reason}) from None
