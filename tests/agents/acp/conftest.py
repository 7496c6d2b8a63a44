"""Every test has a home, a state directory and a model of its own, and must leave no process behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.acp_agents.harness import Bench
from tests.support.fakes.acp_models import FakeModels


@pytest.fixture
def fake() -> Iterator[FakeModels]:
    with FakeModels() as fake:
        yield fake


@pytest.fixture
def bench(tmp_path: Path, fake: FakeModels) -> Iterator[Bench]:
    bench = Bench(tmp_path, fake)
    yield bench
    bench.leave_nothing()
