"""Every test has a state directory of its own, and must leave no process behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.editor import Editor, Open
from tests.engine.conftest import end_fork_server
from tests.engine.harness import MARK
from tests.jobs.harness import Jobs
from unhang.jobs import foreground
from unhang.testing.liveness import RollCall

PUPPET = Path(__file__).with_name("puppet_agent.py")


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


@pytest.fixture(autouse=True)
def nothing_is_left(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library runs in this process, with a fork server of the test's own."""
    for name in [name for name in os.environ if name.startswith("UNHANG_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.setenv("UNHANG_HOME", str(jobs.home))
    monkeypatch.setenv(MARK, jobs.mark)
    foreground.default_launcher.cache_clear()
    yield
    jobs.close()
    jobs.end_everything()
    end_fork_server()
    left = jobs.left_over()
    assert not left, f"still running after the test: {left}"


@pytest.fixture
def roll(jobs: Jobs) -> Iterator[RollCall]:
    with jobs.roll() as roll:
        yield roll


@pytest.fixture
def editors(jobs: Jobs, tmp_path: Path) -> Iterator[Open]:
    found: list[Editor] = []

    def begun(*options: str, agent: tuple[str, ...] = (), begin: bool = True, **more: Any) -> Editor:
        words = [sys.executable, str(PUPPET), str(tmp_path / "heard"), *agent]
        argv = jobs.command("acp", "proxy", *options, "--", *words)
        editor = Editor(argv, jobs.env, tmp_path, **more)
        found.append(editor)
        if begin:
            editor.begin()
        return editor

    yield begun
    for editor in found:
        editor.drop()
        try:
            editor.process.wait(30)
        finally:
            editor.process.kill()
            editor.process.wait()
            if editor.process.stderr is not None:
                editor.process.stderr.close()
