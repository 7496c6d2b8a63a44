"""Every test has servers and machines of its own, and leaves none of them behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.fleet import Machine, Server
from tests.support.fleet_faults import Wire


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path, "n0").start().wait()
    yield made
    made.kill()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Machine]]:
    """Makes machines: `machine(name, url)`; nothing of them is left after the test."""
    for name in [name for name in os.environ if name.startswith("UNHANG_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    made: list[Machine] = []

    def make(name: str, url: str) -> Machine:
        made.append(Machine(tmp_path / name, name, url))
        return made[-1]

    yield make
    for each in made:
        each.close()
        each.end_everything()
    left = {each.name: found for each in made if (found := each.left_over())}
    assert not left, f"still running after the test: {left}"


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.close()
