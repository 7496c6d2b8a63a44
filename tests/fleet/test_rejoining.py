"""A worker whose machine is not published any more, and cannot be for now: its jobs go on."""

from __future__ import annotations

import asyncio
import errno
import itertools
from pathlib import Path

import pytest

from unhang.core.fleet.queue import Worker
from unhang.errors import UnhangError
from unhang.fleet import note, worker, worker_place
from unhang.procs import clock

_MINUTE = 60.0


class _Hour:
    """A server that is there for an hour, which is over at once: each sleep moves the clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(clock, "monotonic", lambda: self.now)
        monkeypatch.setattr(asyncio, "sleep", self._sleep)

    @property
    def closed(self) -> bool:
        return self.now >= 60 * _MINUTE

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("problem", [UnhangError("taken"), OSError(errno.EAGAIN, "no process can be made")])
def test_a_worker_that_cannot_join_again_goes_on_says_so_once_and_tries_ever_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    hour, tries, said = _Hour(monkeypatch), list[float](), list[str]()

    def join(_home: str, _address: str) -> str:
        tries.append(hour.now)
        raise problem

    monkeypatch.setattr(worker_place, "machine_of", join)
    offer = Worker("q", "alpha", "w1")
    found = worker.QueueWorker(str(tmp_path), "nats://127.0.0.1:1", offer, said.append)
    asyncio.run(found._stay_in_the_fleet(hour))  # type: ignore[arg-type]
    assert len(said) == 1
    pauses = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert pauses == sorted(pauses)
    assert 3 <= len(tries) <= 20


def test_a_worker_joins_again_whenever_its_publisher_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hour, tries, said = _Hour(monkeypatch), list[float](), list[str]()
    there = False

    def join(_home: str, _address: str) -> str:
        nonlocal there
        tries.append(hour.now)
        there = True
        return "alpha"

    def publisher(_home: str) -> int | None:
        nonlocal there
        there = there and hour.now < tries[-1] + 10 * _MINUTE
        return 1 if there else None

    monkeypatch.setattr(worker_place, "machine_of", join)
    monkeypatch.setattr(note, "publisher", publisher)
    found = worker.QueueWorker(str(tmp_path), "nats://127.0.0.1:1", Worker("q", "alpha", "w1"), said.append)
    asyncio.run(found._stay_in_the_fleet(hour))  # type: ignore[arg-type]
    assert len(tries) == len(said) == 6
    assert tries[0] <= _MINUTE
