"""A look that takes long, made by a thread now and then: the thread that follows the jobs must not wait.

One look of a kind at a time. Between two of them there is a rest, so long that looking takes at most a quarter of a
percent of a processor, however much there is to see. What counts is the processor's time: a look that waits for an
answer costs nothing.
"""

from __future__ import annotations

from unhang.errors import UnhangError
from unhang.procs import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Thread
    from typing import Any

_SHARE = 400


class SlowLook:
    """Begun when it is due, taken when it is done. All but the look itself is done by one thread."""

    def __init__(self) -> None:
        self._next = 0.0
        self._thread: Thread | None = None
        self._found: Any = None
        self._took = 0.0

    @property
    def under_way(self) -> bool:
        """Return whether it has been begun and not been taken."""
        return self._thread is not None

    @property
    def due(self) -> bool:
        """Return whether it is time to begin the next one."""
        return self._thread is None and clock.monotonic() >= self._next

    def begin(self, look: Callable[[], Any]) -> None:
        """Look, in a thread."""
        from threading import Thread  # a list that is made once has no use for it

        self._thread = Thread(target=self._run, args=(look,), name="look", daemon=True)
        self._thread.start()

    def take(self, rest: float) -> Any:
        """Return what was found, once; None: nothing, so far. The next one is due after so many seconds."""
        if self._thread is None or self._thread.is_alive():
            return None
        found, self._found, self._thread = self._found, None, None
        self._next = clock.monotonic() + max(rest, _SHARE * self._took)
        return found

    def _run(self, look: Callable[[], Any]) -> None:
        begin = clock.of_this_thread()
        try:
            self._found = look()
        except (UnhangError, OSError):
            self._found = None
        self._took = clock.of_this_thread() - begin
