"""A keeper that is stopped: a terminal of an ACP client ends all the same."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from unhang.acp import Terminals
from unhang.store import files
from unhang.store.layout import JobDir
from unhang.testing.liveness import Process


def test_a_terminal_is_ended_though_its_keeper_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path / "home"))

    async def play() -> str:
        terminals = Terminals()
        made = await terminals.create_terminal("session", "sleep", args=["1000"], cwd=str(tmp_path))
        place = JobDir(str(tmp_path / "home"), made.terminal_id)
        record = files.read_json(place.job)
        assert record is not None
        keeper, guard = Process(record["keeper"]["pid"]), Process(record["keeper"]["guard"])
        assert keeper.send(signal.SIGSTOP)
        await asyncio.wait_for(terminals.kill_terminal("session", made.terminal_id), 60)
        assert guard.wait_gone()
        assert keeper.wait_gone()
        await terminals.release_terminal("session", made.terminal_id)
        return str(place.path)

    assert os.path.isdir(asyncio.run(play()))
