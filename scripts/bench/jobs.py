"""Jobs: how soon a follower knows, what a long log costs, what a thousand quiet jobs cost."""

from __future__ import annotations

import os
import statistics
import threading
import time

import unhang
from bench.measure import Row, in_turns, quantile
from unhang.core import events as ev
from unhang.procs import clock
from unhang.store.event_log import EventLog
from unhang.store.reader import EventReader


def follower(_home: str) -> list[Row]:
    """From the writing of an event (its own time stamp is too coarse: the writer notes it) to its arrival."""
    job = unhang.start(["sleep", "600"], idle="1h", hard="1h")
    asked: list[float] = []
    seen: list[float] = []

    def follow() -> None:
        for event in job.watch():
            if event["type"] == ev.WATCHDOG and event["phase"] == "extended":
                seen.append(time.perf_counter())
                if len(seen) == 200:
                    return

    thread = threading.Thread(target=follow)
    thread.start()
    for turn in range(200):
        asked.append(time.perf_counter())
        job.extend(hard=1)
        while len(seen) <= turn:
            time.sleep(0.0005)
    thread.join()
    job.cancel()
    delays = [b - a for a, b in zip(asked, seen, strict=True)]
    note = "includes the request that causes the event"
    return [Row("a follower sees an event (p99)", quantile(delays, 0.99) * 1e3, None, 20.0, "ms", note=note)]


def _log(path: str, count: int) -> str:
    log = EventLog(path, clock.now)
    line = ev.output("stdout", 10, 0)
    for _ in range(count):
        log.append(line)
    log.close()
    return path


def _last_ten(path: str, count: int) -> None:
    with EventReader(path, after_seq=count - 10) as reader:
        assert len(reader.read_new()) == 10


def end_of_a_long_log(home: str) -> list[Row]:
    short, long = _log(f"{home}/short.ndjson", 1_000), _log(f"{home}/long.ndjson", 1_000_000)
    subject, reference = in_turns(200, lambda: _last_ten(long, 1_000_000), lambda: _last_ten(short, 1_000))
    os.unlink(long)
    return [Row("events at the end of 1,000,000", subject * 1e6, reference * 1e6, 1.5, "us")]


def _cpu(pids: list[int]) -> float:
    """Seconds of CPU that these processes have used.

    From `schedstat`, in nanoseconds: `stat` counts whole ticks of 10 ms, as much as a quiet job uses in its whole life.
    """
    used = 0
    for pid in pids:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            used += int(file.read().split()[0])
    return used / 1e9


def _private(pid: int) -> float:
    """MiB that only this process has."""
    total = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            if line.startswith(("Private_Clean", "Private_Dirty")):
                total += int(line.split()[1])
    return total / 1024


def quiet_jobs(_home: str, count: int = 1000) -> list[Row]:
    """A thousand jobs that print nothing, under the default limits, through the whole of their quiet life.

    That is from their 55th second (before the first stall notice at 60) to the 265th (the idle limit of 300 warns at
    270): every look and every stall notice with its diagnosis falls into it. The note has the worst 45 seconds.
    """
    first = time.monotonic()
    jobs = [unhang.start(["sleep", "600"]) for _ in range(count)]
    try:
        ours = [int(job.spec["keeper"][who]) for job in jobs for who in ("pid", "guard")]
        used: list[tuple[float, float]] = []
        for second in range(55, 266, 15):
            time.sleep(max(0.0, first + second - time.monotonic()))
            used.append((time.monotonic(), _cpu(ours)))
        keepers, guards = ours[0::2], ours[1::2]
        memory = [_private(k) + _private(g) for k, g in zip(keepers, guards, strict=True)]
    finally:
        threads = [threading.Thread(target=job.cancel, kwargs={"force": True}) for job in jobs]
        for start in range(0, count, 50):
            for thread in threads[start : start + 50]:
                thread.start()
            for thread in threads[start : start + 50]:
                thread.join()
    worst = max(_share(a, b) for a, b in zip(used, used[3:], strict=False))
    note = f"{count} jobs, keeper and guard together"
    return [
        Row(
            "CPU of 1000 quiet jobs",
            _share(used[0], used[-1]),
            None,
            1.0,
            "%",
            note=f"{note}; worst 45 s {worst:.1f} %",
        ),
        Row("private memory of a quiet job", statistics.median(memory), None, 6.0, "MiB", note=note),
    ]


def _share(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Per cent of a core between two readings."""
    return 100 * (other[1] - one[1]) / (other[0] - one[0])
