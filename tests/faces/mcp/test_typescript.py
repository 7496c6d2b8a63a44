"""The official TypeScript client, which gives up on a call after 60 s, and the inspector's command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.support import programs
from tests.support.engine import Engine, actor
from tests.support.mcp.harness import Servers
from tests.support.mcp.typescript import begin, connected, finish
from unhang.testing.liveness import RollCall


def call(servers: Servers, timeout: str, tool: str, **arguments: Any) -> dict[str, Any]:
    programs.need(programs.NODE, programs.SDK)
    return finish(begin(servers.engine, timeout, tool, **arguments))


def test_results_fit_their_output_schemas(servers: Servers) -> None:
    """That client checks every structured result, errors included."""
    found = call(servers, "default", "run", command="sleep 600", idleTimeoutMs=1000)["first"]
    assert found["isError"] is True
    assert found["structuredContent"]["status"] == "timeout"


def test_a_command_that_outlasts_the_clients_patience_does_not_fail(servers: Servers) -> None:
    """The same as below in short: 9 s of work, 8 s of patience, 1 s of waiting."""
    found = call(servers, "8000", "run", command="echo begun; sleep 9; echo over", wait_sec=1)
    assert found["first"]["structuredContent"]["status"] == "running"
    assert found["last"]["structuredContent"]["jobs"][0]["stdout"] == "begun\nover\n"


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_command_of_ninety_seconds_ends_well_under_a_default_of_sixty(ninety: subprocess.Popen[bytes] | None) -> None:
    programs.need(programs.NODE, programs.SDK)
    assert ninety is not None
    found = finish(ninety)
    assert found["first"]["structuredContent"]["status"] == "running"
    assert found["last"]["structuredContent"]["jobs"][0]["stdout"] == "begun\nover\n"
    assert len(found["progress"]) >= 3


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_no_fault(servers: Servers, engine: Engine, tmp_path: Path, era: str) -> None:
    programs.need(programs.NODE, programs.INSPECTOR)
    assert shutil.which("node") or programs.NODE.exists()
    env = engine.env | {"HOME": str(tmp_path)}

    def inspect(*words: str) -> subprocess.CompletedProcess[bytes]:
        start = [str(programs.NODE), str(programs.INSPECTOR), "--cli", *servers.command()]
        # how soon it starts is for the benchmark, and the machine may be busy
        words = (*words, "--format", "json", "--protocol-era", era, "--connect-timeout", "60000")
        return subprocess.run([*start, *words], env=env, capture_output=True, timeout=100, check=False)

    listed = inspect("--method", "tools/list", "--strict")
    assert listed.returncode == 0, listed.stderr
    tools = json.loads(listed.stdout)["result"]["tools"]
    assert {
        "run", "start", "wait", "events", "output", "send", "extend", "cancel", "list", "diagnose", "explain_policy",
    } <= {tool["name"] for tool in tools}  # fmt: skip
    assert all(tool["outputSchema"] and tool["annotations"] and tool["description"] for tool in tools)
    called = inspect("--method", "tools/call", "--tool-name", "run", "--tool-arg", "command=echo inspected")
    assert called.returncode == 0, called.stderr
    assert b"inspected" in called.stdout
    failed = inspect("--method", "tools/call", "--tool-name", "run", "--tool-arg", "command=exit 3")
    assert failed.returncode == 5


@pytest.mark.parametrize("how", ["cancelled", "killed"])
def test_a_call_that_is_cancelled_and_a_server_that_is_killed_take_the_job_with_them(
    servers: Servers, roll: RollCall, how: str
) -> None:
    """The tree ignores SIGTERM and has sessions of its own."""

    async def main() -> None:
        async with connected(servers) as caller:
            server = await caller.server()
            number = await caller.begin("run", argv=actor("setsid_child", roll.path))
            for role in ("leader", "member"):
                await anyio.to_thread.run_sync(roll.wait_for, role)
            if how == "cancelled":
                await caller.abort(number)
            else:
                os.kill(server, signal.SIGKILL)
            assert await caller.failure(number)
            assert await anyio.to_thread.run_sync(roll.wait_empty)
            if how == "cancelled":  # the server goes on
                assert (await caller.call("run", command="echo on")).data["stdout"] == "on\n"

    anyio.run(main)
