"""How things are measured: in turns, by their median."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One line of the table. `at_least`: the budget is a lower bound (throughput), else an upper one. None: no budget,
    only to be known."""

    name: str
    measured: float
    reference: float | None
    budget: float | None
    unit: str
    at_least: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.measured if self.reference is None else self.measured / self.reference

    @property
    def met(self) -> bool:
        if self.budget is None:
            return True
        return self.ratio >= self.budget if self.at_least else self.ratio <= self.budget

    def shown(self, value: float | None) -> str:
        return "-" if value is None else f"{value:,.2f} {self.unit}"

    def ratio_text(self) -> str:
        return "-" if self.reference is None else f"{self.ratio:.2f}x"

    def budget_text(self) -> str:
        if self.budget is None:
            return "-"
        sign = ">=" if self.at_least else "<="
        return f"{sign} {self.budget:g}" + ("x" if self.reference is not None else "")

    def verdict(self) -> str:
        if self.budget is None:
            return ""
        return "met" if self.met else "NOT MET"

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "ratio": round(self.ratio, 3), "met": self.met}


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def in_turns(rounds: int, *actions: Callable[[], object]) -> list[float]:
    """The median seconds of each action; a first, unmeasured round warms everything up."""
    taken: list[list[float]] = [[] for _ in actions]
    for turn in range(rounds + 1):
        for action, times in zip(actions, taken, strict=True):
            seconds = timed(action)
            if turn:
                times.append(seconds)
    return [statistics.median(times) for times in taken]


def quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]
