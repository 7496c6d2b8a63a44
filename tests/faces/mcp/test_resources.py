"""Jobs as resources: which of them are looked at for those who listen."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError

import unhang
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.resources import MOST_SUBSCRIPTIONS, Updates
from unhang.faces.mcp.sdk import SdkThreads, build
from unhang.faces.mcp.server import Server
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


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_subscriptions_of_the_handshake_era_end_with_their_session_and_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path / "home"))

    async def work() -> None:
        server = Server(Backend(Settings(), SdkThreads()))
        with anyio.fail_after(60):
            async with Client(build(server), mode="legacy") as client:
                for number in range(MOST_SUBSCRIPTIONS):
                    await client.subscribe_resource(f"unhang://jobs/{number}")
                with pytest.raises(MCPError):
                    await client.subscribe_resource("unhang://jobs/more")
                await client.unsubscribe_resource("unhang://jobs/1")
                assert len(server.updates._listeners) == MOST_SUBSCRIPTIONS - 1
        assert not server.updates._listeners

    anyio.run(work)
