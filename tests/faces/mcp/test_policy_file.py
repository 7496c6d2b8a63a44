"""The policy that a server is started with."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.engine import Engine


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_a_server_does_not_start_with_a_policy_that_cannot_be_used(engine: Engine, how: str) -> None:
    missing = str(engine.folder / "missing.toml")
    argv = engine.command("mcp", *(("--policy", missing) if how == "argument" else ()))
    env = engine.env | ({"UNHANG_POLICY": missing} if how == "variable" else {})
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert b"missing.toml" in done.stderr
    assert done.stdout == b""
