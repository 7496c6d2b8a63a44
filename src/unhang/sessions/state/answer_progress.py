"""Is an answer being written? The counter on the screen and the bytes on the wire tell, from two looks."""

from __future__ import annotations

from unhang.sessions.state import facts, traffic

WRITES, AGAIN, SILENT = "writes", "again", "silent"
# Where too little came to tell, another look is taken, so often at most.
MOST_LOOKS = 3


class AnswerProgress:
    """What earlier looks showed; `look` compares the next one with it."""

    def __init__(self, earlier: facts.Pane | None = None) -> None:
        self._tokens = "" if earlier is None else earlier.screen.tokens
        self._wire = None if earlier is None else earlier.wire
        self._looks = 0

    def look(self, seen: facts.Pane) -> str:
        """Return whether an answer is being written, or another look is needed to tell."""
        tokens, before = seen.screen.tokens, self._wire
        counts = bool(tokens and self._tokens) and tokens != self._tokens
        if counts or (before is not None and traffic.writes(before, seen.wire)):
            return WRITES
        first = before is None or (bool(tokens) and not self._tokens)
        again = first or (traffic.may_write(before or {}, seen.wire) and self._looks < MOST_LOOKS)
        self._tokens = tokens or self._tokens
        self._wire = seen.wire if before is None else before
        self._looks += 1
        return AGAIN if again else SILENT
