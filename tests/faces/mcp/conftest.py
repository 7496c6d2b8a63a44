"""Every test here gets a state directory of its own, and must leave no process behind."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.engine import Engine
from tests.support.mcp.harness import Servers
from tests.support.mcp.typescript import begin
from unhang.testing.liveness import RollCall


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(tmp_path)
    yield engine
    engine.leave_nothing()


@pytest.fixture
def servers(engine: Engine) -> Servers:
    return Servers(engine)


@pytest.fixture(params=["legacy", "auto"], ids=["handshake-era", "modern-era"])
def era(request: pytest.FixtureRequest) -> str:
    """What the official client is asked to speak."""
    value = request.param
    assert isinstance(value, str)
    return value


@pytest.fixture
def roll(engine: Engine) -> Iterator[RollCall]:
    with engine.roll() as roll:
        yield roll


@pytest.fixture(scope="session")
def ninety(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes] | None]:
    """Begun with the first test of this session and asked for by the last: nobody has to wait for it."""
    if not (programs.NODE.exists() and programs.SDK.exists()):
        yield None
        return
    engine = Engine(tmp_path_factory.mktemp("ninety"))
    line = "echo begun; sleep 90; echo over"
    process = begin(engine, "default", "run", command=line, idleTimeoutMs=200_000)
    yield process
    process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    left = engine.left_over()
    assert not left, left


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes 90 s of waiting goes last, after it was begun first."""
    last = [item for item in items if "ninety" in item.name]
    if last:
        items[:] = [item for item in items if item not in last] + last


@pytest.fixture(scope="session", autouse=True)
def begun_early(request: pytest.FixtureRequest) -> None:
    if any("ninety" in item.name for item in request.session.items):
        request.getfixturevalue("ninety")
