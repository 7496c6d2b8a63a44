"""Cut the bytes of one direction into whole lines; together they are exactly what came in.

A line is held until it is whole, because only then can it be read, and its reader could not use the half of one anyway.
A line beyond every measure is not held: its parts are handed on as they come, unread.
"""

from __future__ import annotations

# A picture in a prompt has a few MB. A longer line holds no request that unhang would have to answer.
MOST_HELD = 16 << 20


class Lines:
    """Collects the chunks of one direction and gives back whole lines."""

    def __init__(self, most_held: int = MOST_HELD) -> None:
        self._most = most_held
        self._held = bytearray()
        self.streaming = False  # in the middle of a line whose beginning has gone through already

    def feed(self, chunk: bytes) -> tuple[bytes, list[bytes]]:
        """Return the rest of an over-long line, to be passed on unread, and the whole lines with their newlines.

        The last of the lines may have no newline: the beginning of an over-long one.
        """
        rest = b""
        if self.streaming:
            end = chunk.find(b"\n") + 1
            if not end:
                return chunk, []
            rest, chunk = chunk[:end], chunk[end:]
            self.streaming = False
        end = chunk.rfind(b"\n") + 1
        if not end:
            return rest + self._hold(chunk), []
        whole = self.flush() + chunk[:end]
        lines = [line + b"\n" for line in whole.split(b"\n")]
        lines.pop()
        late = self._hold(chunk[end:])
        if late:  # it must not overtake the lines before it
            lines.append(late)
        return rest, lines

    def _hold(self, part: bytes) -> bytes:
        """What cannot be held any more."""
        self._held += part
        if len(self._held) <= self._most:
            return b""
        self.streaming = True
        return self.flush()

    def flush(self) -> bytes:
        """Return what is held of a line that will not be finished."""
        rest = bytes(self._held)
        self._held.clear()
        return rest
