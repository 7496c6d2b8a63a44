"""A row that changes while an older one of the same job is on its way to the server is published after it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unhang.fleet import note
from unhang.fleet.connection import ServerAway
from unhang.fleet.publisher import Publisher

JOB = "k3v9x2m4q8"


class Slow:
    """A connection whose put lasts until the job has changed; `fails`: and then the server is away."""

    def __init__(self, publisher: Publisher, *, fails: bool = False) -> None:
        self.publisher = publisher
        self.fails = fails
        self.put: list[dict[str, Any]] = []

    async def put_row(self, _machine: str, job: str, row: dict[str, Any]) -> None:
        if self.fails:
            raise ServerAway("no server")
        self.put.append(row)
        self.publisher._mark(job)


@pytest.fixture
def publisher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    place = note.take_place(str(tmp_path))
    assert place is not None
    found = Publisher(str(tmp_path), "home", "alpha", "nats://127.0.0.1:1", lambda _: None, place)
    found._rows_wake = asyncio.Event()
    monkeypatch.setattr(found, "_row", lambda _: {"status": "running"})
    yield found
    os.close(place)


def test_a_change_during_the_put_leaves_the_row_due(publisher: Publisher) -> None:
    slow = Slow(publisher)
    assert asyncio.run(publisher._publish_row(slow, JOB)) is False  # type: ignore[arg-type]
    assert slow.put == [{"status": "running"}]
    assert publisher._row_due == {JOB}


def test_a_row_that_did_not_arrive_stays_due(publisher: Publisher) -> None:
    with pytest.raises(ServerAway):
        asyncio.run(publisher._publish_row(Slow(publisher, fails=True), JOB))  # type: ignore[arg-type]
    assert publisher._row_due == {JOB}


def test_a_disk_that_takes_no_note_ends_no_publisher(publisher: Publisher) -> None:
    publisher._wake = asyncio.Event()
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        publisher._place = full
        publisher._changed(False)
    finally:
        os.close(full)
    assert publisher._wake.is_set()
