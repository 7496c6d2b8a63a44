"""Every test here gets a state directory of its own, and must leave no process behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import MARK, Engine
from tests.support.fork_servers import end_fork_server
from unhang.jobs import start
from unhang.testing.liveness import RollCall


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(tmp_path)


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[list[Engine]]:
    """Many at once, each with a state directory of its own."""
    found: list[Engine] = []
    for number in range(20):
        (tmp_path / str(number)).mkdir()
        found.append(Engine(tmp_path / str(number)))
    yield found
    for engine in found:
        engine.close()
    left = [words for engine in found for words in engine.left_over()]
    assert not left, f"still running after the test: {left}"


@pytest.fixture(autouse=True)
def nothing_is_left(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The Python face runs in this process, with a fork server of the test's own."""
    for name in [name for name in os.environ if name.startswith("UNHANG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UNHANG_HOME", str(engine.home))
    monkeypatch.setenv("XDG_CONFIG_HOME", engine.env["XDG_CONFIG_HOME"])
    monkeypatch.setenv(MARK, engine.mark)
    start.default_launcher.cache_clear()
    yield
    engine.close()
    end_fork_server()
    left = engine.left_over()
    assert not left, f"still running after the test: {left}"


@pytest.fixture
def roll(engine: Engine) -> Iterator[RollCall]:
    with engine.roll() as roll:
        yield roll
