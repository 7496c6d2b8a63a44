"""An ACP agent as a child, and the line to it.

Not on the SDK's connection: its import costs a second of every job, its schema refuses what is newer than itself, its
spawner leaves stderr unread and knows one process only. Messages are plain objects here; the tests hold what we send
against the SDK's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unhang.agents.base import jsonrpc_message
from unhang.agents.base.child import Child, Line, started
from unhang.agents.base.jsonrpc import Message, Peer, Recorder


class RawRecorder(Recorder):
    """Every line as it was on the wire, both ways: such a recording can be played to either side again."""

    def message(self, who: str, message: Message) -> None:
        """Only lines are kept."""

    def line(self, who: str, line: bytes) -> None:
        self._write(who, {"raw": line.decode("utf-8", "replace").rstrip("\r\n")})


class Agent(Child):
    def __init__(
        self,
        line: Line,
        heard: Callable[[Message], None],
        recorder: Recorder,
        trouble: Callable[[str, str], None],
        noise: Callable[[str], None],
    ) -> None:
        self.peer = Peer(line.writer, recorder, heard, jsonrpc_message.VERSION)
        self._noise = noise
        super().__init__(line, recorder, trouble)

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        heard: Callable[[Message], None],
        recorder: Recorder,
        trouble: Callable[[str, str], None],
        noise: Callable[[str], None],
    ) -> Agent:
        """Raises OSError if it cannot be started."""
        return cls(await started(argv), heard, recorder, trouble, noise)

    def _take(self, message: Message) -> None:
        self.peer.take(message)

    def _print(self, text: str) -> None:
        self._noise(text)

    def _leave(self, why: str) -> None:
        self.peer.leave(why)
