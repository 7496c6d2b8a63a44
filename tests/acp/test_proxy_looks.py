"""A silent agent is told of, whatever becomes of the look at its processes."""

from __future__ import annotations

import select
from pathlib import Path

import pytest

from unhang.acp.proxy.thread_results import ThreadResults, look_at
from unhang.core.diagnosis.verdict import Diagnosis
from unhang.jobs import diagnose, handle


def test_a_look_that_fails_in_any_way_tells_that_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path))
    monkeypatch.setattr(handle, "attach", lambda *_: None)

    def fails(*_: object, **__: object) -> None:
        raise KeyError("a process that ended between two looks")

    monkeypatch.setattr(diagnose, "look_twice", fails)
    results, told = ThreadResults(), list[Diagnosis | None]()
    look_at("k3v9x2m4q8", results, told.append, busy=None)
    assert select.select([results.fd], [], [], 60)[0]
    results.take()
    assert told == [None]
