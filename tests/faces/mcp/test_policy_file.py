"""The policy that a server is started with."""

from __future__ import annotations

import subprocess

from tests.support.engine import Engine


def test_a_server_does_not_start_with_a_policy_that_cannot_be_used(engine: Engine) -> None:
    argv = engine.command("mcp", "--policy", str(engine.folder / "missing.toml"))
    done = subprocess.run(argv, env=engine.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert b"missing.toml" in done.stderr
    assert done.stdout == b""
