"""Results of threads, handed to the one loop of a proxy; and a look at an agent that is silent, in such a thread."""

from __future__ import annotations

import os
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.core.diagnosis.verdict import Diagnosis


class ThreadResults:
    """Results of threads, for one loop. `fd` is readable when there are some."""

    def __init__(self) -> None:
        self.fd, self._poke = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._done: deque[Callable[[], None]] = deque()

    def give(self, work: Callable[[], None]) -> None:
        """Hand over a function to be called in the proxy's loop; safe to call from any thread."""
        self._done.append(work)
        try:
            os.write(self._poke, b"x")
        except OSError:
            pass  # full: it is awake

    def take(self) -> None:
        """Run the results that threads have given; call it in the loop when `fd` is readable."""
        try:
            os.read(self.fd, 1 << 16)
        except BlockingIOError:
            pass
        while self._done:
            self._done.popleft()()


def look_at(job: str, results: ThreadResults, told: Callable[[Diagnosis | None], None], *, busy: float | None) -> None:
    """Find out in a thread why the agent is silent, and call `told` with the diagnosis; None: unknown.

    `busy`: for so many seconds a tool of the agent may have been in flight; None: none is.
    """

    import threading  # here, so that a start without a stall does not pay for it

    def look() -> None:
        from unhang.core.diagnosis.agents import of_silent_turn
        from unhang.core.diagnosis.part import diagnose_part
        from unhang.core.diagnosis.rules import diagnose
        from unhang.jobs.diagnose import look_twice
        from unhang.jobs.handle import attach
        from unhang.jobs.home import state_home
        from unhang.procs import clock

        found: Diagnosis | None = None
        try:
            began = None if busy is None else clock.monotonic() - busy
            before, after = look_twice(attach(state_home(), job), window=1.0)
            tool = None if began is None else diagnose_part(before, after, began)
            found = of_silent_turn(diagnose(before, after), busy=busy is not None, tool=tool)
        except Exception:
            pass  # as where it has just ended: why is not known, and that it is silent is told all the same
        results.give(lambda: told(found))

    threading.Thread(target=look, name="unhang-acp-look", daemon=True).start()
