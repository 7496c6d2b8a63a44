"""What a tool knows of the call that it answers, whichever way the call came in (stdio_session.py, sdk.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from unhang.core.record import Record


class McpClient(Protocol):
    """The client of a call, which can be told something between calls, too."""

    @property
    def key(self) -> object:
        """Return whose news it is: the connection's; in the modern era, which has none, a client's of this name."""

    async def log(self, level: str, data: dict[str, Any]) -> None:
        """Send a log message between calls, if the client wants its level and its era has such messages."""


class McpCall(Protocol):
    """One call of a tool."""

    @property
    def client(self) -> McpClient:
        """Return the client that calls."""

    @property
    def client_name(self) -> str:
        """Return what the client calls itself; empty if it does not say."""

    @property
    def extensions(self) -> Mapping[str, Any]:
        """Return the extensions of the protocol that the client declares."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """Return what the client says beside the parameters, such as its trace."""

    @property
    def named(self) -> str | None:
        """Return what the call is about by its HTTP header; None where there is none."""

    @property
    def gone(self) -> asyncio.Event | None:
        """Return the event that is set when the client has left without cancelling this call; None where that is not
        seen.
        """

    async def progress(self, value: float, total: float | None, message: str) -> None:
        """Report progress, if the client has asked for it."""

    async def log(self, level: str, data: Any) -> None:
        """Send a log message of this call, if the client wants its level."""


class ToolResult(Record):
    """What a tool answers: contents for a model, a structure for programs."""

    content: list[dict[str, Any]]
    structured: dict[str, Any] | None = None
    is_error: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the result as the protocol has it."""
        found: dict[str, Any] = {"content": self.content, "isError": self.is_error}
        return found if self.structured is None else found | {"structuredContent": self.structured}
