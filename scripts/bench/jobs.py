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
from unhang.store.eventlog import EventLog
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
    """Seconds of CPU that these processes have used."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _private(pid: int) -> float:
    """MiB that only this process has."""
    total = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            if line.startswith(("Private_Clean", "Private_Dirty")):
                total += int(line.split()[1])
    return total / 1024


def quiet_jobs(_home: str, count: int = 1000, seconds: float = 45.0) -> list[Row]:
    """A thousand jobs that print nothing, under the default limits, long after their start."""
    jobs = [unhang.start(["sleep", "600"]) for _ in range(count)]
    try:
        ours = [int(job.spec["keeper"][who]) for job in jobs for who in ("pid", "guard")]
        time.sleep(35)  # past the first looks; what follows has one look each, which is more than the steady state
        before, at = _cpu(ours), time.monotonic()
        time.sleep(seconds)
        share = 100 * (_cpu(ours) - before) / (time.monotonic() - at)
        keepers, guards = ours[0::2], ours[1::2]
        memory = [_private(k) + _private(g) for k, g in zip(keepers, guards, strict=True)]
    finally:
        threads = [threading.Thread(target=job.cancel, kwargs={"force": True}) for job in jobs]
        for start in range(0, count, 50):
            for thread in threads[start : start + 50]:
                thread.start()
            for thread in threads[start : start + 50]:
                thread.join()
    note = f"{count} jobs, keeper and guard together"
    return [
        Row("CPU of 1000 quiet jobs", share, None, 1.0, "%", note=note),
        Row("private memory of a quiet job", statistics.median(memory), None, 6.0, "MiB", note=note),
    ]
