"""Jobs as resources: which of them are looked at for those who listen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import unhang
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.resources import Updates
from unhang.faces.mcp.settings import Settings


def test_a_job_that_has_ended_is_told_of_once_and_looked_at_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path / "home"))
    job = unhang.start([sys.executable, "-c", ""])
    job.wait(60)
    updates = Updates(Backend(Settings()))
    told = updates._look({job.id: -1, "removed": 3})
    assert told == {job.id: job.last_seq()}
    assert updates._look(told) == {}
