"""What a look costs: cheap and full, for 1, 20 and 200 processes, in milliseconds. Prints one JSON object.

Each number is a median. `ms` is CPU time, which is what the sampler asks for; `wallMs` holds what else the machine did
meanwhile, too. `ratio` is against reading /proc/PID/stat of the same processes once, so that a slow machine does not
look like a slow sampler. Budgets: cheap 0.2 ms for one process and 15 ms for 200, full 150 ms for 200.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from unhang.core.diagnosis.prompt import waits_for_input
from unhang.core.diagnosis.rules import diagnose
from unhang.procs.linux.procfs import read
from unhang.procs.sampler.cheap import cheap
from unhang.procs.sampler.full import full

BUDGETS = {("cheap", 1): 0.2, ("cheap", 200): 15.0, ("full", 200): 150.0}


class Cost(NamedTuple):
    """Milliseconds of one look: of CPU, and by the clock."""

    cpu: float
    wall: float


def median(work: Callable[[], object], times: int) -> Cost:
    taken = []
    for _ in range(times):
        began = time.thread_time(), time.perf_counter()
        work()
        taken.append(Cost(1000 * (time.thread_time() - began[0]), 1000 * (time.perf_counter() - began[1])))
    return Cost(statistics.median(each.cpu for each in taken), statistics.median(each.wall for each in taken))


def measure(count: int, times: int) -> dict[str, object]:
    root = os.getpid()
    children = [subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL) for _ in range(count)]
    try:
        plain = median(lambda: [read(f"/proc/{child.pid}/stat") for child in children], times)
        before, after = full(root), full(root)
        costs = {
            "cheap": median(lambda: cheap(root), times),
            "full": median(lambda: full(root), times),
            "light": median(lambda: full(root, network=False), times),
            "prompt": median(lambda: waits_for_input(after), times),
            "diagnose": median(lambda: diagnose(before, after), times),
        }
    finally:
        for child in children:
            child.kill()
            child.wait()
    shown: dict[str, object] = {"processes": count, "statMs": round(plain.cpu, 3)}
    for name, cost in costs.items():
        budget = BUDGETS.get((name, count))
        shown[name] = {
            "ms": round(cost.cpu, 3),
            "wallMs": round(cost.wall, 3),
            "ratio": round(cost.cpu / plain.cpu, 1),
            "budgetMs": budget,
        }
        if budget is not None and cost.cpu > budget:
            shown["over"] = [*list(shown.get("over", ())), name]  # type: ignore[call-overload]
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=15, help="looks for each number")
    times = parser.parse_args().times
    found = [measure(count, times) for count in (1, 20, 200)]
    print(json.dumps({"bench": "diagnosis", "results": found}, indent=1))
    return 1 if any("over" in each for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
