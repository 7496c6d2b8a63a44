"""Answers a client from the first moment, while what serves it is still being loaded.

A client that starts a server waits for two answers: to its greeting, and the list of tools. Neither needs an event
loop, nor the tools themselves. So they are given here, between one import and the next, out of the same conversation
(protocol.py) that the session goes on with (stdio_session.py). The first request that needs more ends the greeting:
it and all that follows are left for the session.
"""

from __future__ import annotations

from unhang.faces.mcp import protocol
from unhang.faces.mcp.identity import IDENTITY
from unhang.faces.mcp.protocol import McpConversation, Serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unhang.faces.mcp.stdio_ends import ReadEnd, WriteEnd


class Greeter:
    """Holds the beginning of a conversation with a client."""

    def __init__(self, heard: ReadEnd, said: WriteEnd, list_tools: Callable[[], dict[str, Any] | None]) -> None:
        """`list_tools`: returns the result of `tools/list`, or None if it is not known without the tools."""
        self.conversation = McpConversation(IDENTITY)
        self._heard = heard
        self._said = said
        self._list_tools = list_tools
        self._over = False

    def answer(self) -> None:
        """Answer what has come meanwhile, as far as that can be done now; never waits."""
        while not self._over and (self._heard.lines or self._heard.readable()):
            if not self._heard.lines:
                self._heard.read()
            while self._heard.lines and not self._over:
                self._answer_next()

    @property
    def client_left(self) -> bool:
        """Return whether the client has gone away, and nothing that it has asked for is left to be done."""
        return self._heard.ended and not self._heard.lines and not self._said.size

    def _answer_next(self) -> None:
        """Answer the next line, or end the greeting and leave it for the session."""
        line = self._heard.lines[0]
        # a client that does not read is not answered further: the session knows how much may wait for it
        found = None if line is None or self._said.size else self._answer_to(line)
        if found is None:
            self._over = True
            return
        self._heard.lines.popleft()
        if found:
            self._say(found)

    def _answer_to(self, line: bytes) -> dict[str, Any] | None:
        """The message that answers a line, empty where it wants none; None: more is needed for that."""
        found = self.conversation.hear(line)
        if found is None or isinstance(found, dict):
            return found or {}
        if isinstance(found, Serve) and found.request.method == "tools/list":
            tools = self._list_tools()
            return None if tools is None else self.conversation.answer(found, tools)
        return None

    def _say(self, message: dict[str, Any]) -> None:
        self._said.add(protocol.encode(message))
        try:
            self._said.write()
        except OSError:  # the client hears nothing any more, so it has left
            self._said.drop()
            self._heard.stop()
