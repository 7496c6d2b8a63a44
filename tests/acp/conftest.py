"""Every test has a state directory of its own, and must leave no process behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.conftest import jobs, nothing_is_left, roll
from tests.support.acp.editor import Editor, Open
from tests.support.jobs import Jobs
from tests.support.places import SUPPORT

__all__ = ["editors", "jobs", "nothing_is_left", "roll"]

PUPPET = SUPPORT / "acp" / "puppet_agent.py"


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
