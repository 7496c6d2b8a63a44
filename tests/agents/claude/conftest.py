"""Every test has a Claude home, a state directory and a model of its own, and must leave no process behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.claude.harness import Bench
from tests.support.fakes.anthropic_messages import FakeAnthropic


@pytest.fixture
def fake() -> Iterator[FakeAnthropic]:
    with FakeAnthropic() as fake:
        yield fake


@pytest.fixture
def bench(tmp_path: Path, fake: FakeAnthropic) -> Iterator[Bench]:
    programs.need(programs.CLAUDE)
    bench = Bench(tmp_path, fake)
    yield bench
    bench.leave_nothing()
