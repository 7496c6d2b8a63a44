"""How many steps an hour may have, for one session and for the machine: recovery can never become the outage."""

from __future__ import annotations

HOUR = 3600.0


class Budget:
    def __init__(self, most: int) -> None:
        self.most = most
        self._spent: list[float] = []

    def _forget(self, now: float) -> None:
        self._spent = [at for at in self._spent if at > now - HOUR]

    def left(self, now: float) -> int:
        self._forget(now)
        return max(0, self.most - len(self._spent))

    def spend(self, now: float) -> None:
        self._spent.append(now)

    def again_at(self, now: float) -> float:
        """When there is something left again."""
        if self.left(now):
            return now
        if not self.most:
            return now + HOUR
        return sorted(self._spent)[-self.most] + HOUR
