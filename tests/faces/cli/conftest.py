"""A state directory for each test, and a terminal with a person at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cli.hooks import Hooks
from tests.support.desk import Desk
from tests.support.engine import Engine
from tests.support.jobs import Jobs


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    hooks = Hooks(tmp_path)
    yield hooks
    hooks.leave_nothing()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(tmp_path)
    yield engine
    engine.close()
    assert engine.left_over() == []


@pytest.fixture
def desk_of(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Makes a person's terminal with a state directory of its own (see Desk); both are gone after the test."""
    desks: list[Desk] = []

    def make(**options: object) -> Desk:
        desks.append(Desk(Engine(tmp_path / f"desk{len(desks)}"), **options))  # type: ignore[arg-type]
        return desks[-1].wait_for_shell()

    yield make
    for desk in desks:
        desk.close()
    assert [left for desk in desks for left in desk.engine.left_over()] == []


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    jobs = Jobs(tmp_path)
    yield jobs
    jobs.leave_nothing()
