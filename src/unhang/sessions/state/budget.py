"""How many steps may be taken in an hour, for one session and for the machine: recovery must not become the outage."""

from __future__ import annotations

HOUR = 3600.0


class Budget:
    """At most `most` steps in any hour."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._spent: list[float] = []

    def _forget(self, now: float) -> None:
        self._spent = [at for at in self._spent if at > now - HOUR]

    def left(self, now: float) -> int:
        """Return how many steps are left in this hour."""
        self._forget(now)
        return max(0, self.most - len(self._spent))

    def spend(self, now: float) -> None:
        """Count one step."""
        self._spent.append(now)

    def again_at(self, now: float) -> float:
        """Return when the next step is allowed."""
        if self.left(now):
            return now
        if not self.most:
            return now + HOUR
        return sorted(self._spent)[-self.most] + HOUR
