"""Every test has a Codex home, a state directory and a model of its own, and must leave no process behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.codex.harness import Bench
from tests.support.fakes.openai_responses import FakeOpenAI


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def bench(tmp_path: Path, fake: FakeOpenAI) -> Iterator[Bench]:
    bench = Bench(tmp_path, fake, programs.path_of(programs.CODEX))
    yield bench
    bench.leave_nothing()
