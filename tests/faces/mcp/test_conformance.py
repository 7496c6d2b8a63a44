"""The official conformance suite against this server; what does not apply is listed, with its reason, beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.engine import Engine, read_line
from tests.support.places import ROOT
from unhang.testing.liveness import PATIENCE

HERE = Path(__file__).resolve().parent / "conformance"
RUNS = {
    "0.1.16": (programs.CONFORMANCE, []),
    "2025-11-25": (programs.CONFORMANCE_NEXT, ["--requirements", "2025-11-25"]),
    "2026-07-28": (programs.CONFORMANCE_NEXT, ["--requirements", "2026-07-28"]),
}
TASKS = ("lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers",
         "dispatch-and-envelope", "required-task-error", "mrtr-composition")  # fmt: skip


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A server of this test's own: the suites share nothing, and none has to wait for another one."""
    programs.need(programs.NODE, programs.CONFORMANCE, programs.CONFORMANCE_NEXT)
    engine = Engine(tmp_path)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.faces.mcp.conformance.server"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=engine.env,
        cwd=ROOT,
    )
    assert server.stdout is not None
    try:
        yield read_line(server.stdout.fileno()).decode().strip()
    finally:
        server.terminate()
        server.wait(PATIENCE)
        server.stdout.close()
        for place in engine.jobs():
            from unhang.jobs.handle import Job

            Job(place).cancel(force=True)
        left = engine.left_over()
        assert not left, left


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_nothing_that_applies_fails(url: str, tmp_path: Path, name: str) -> None:
    program, options = RUNS[name]
    words = [str(programs.NODE), str(program), "server", "--url", url, *options]
    words += ["--expected-failures", str(HERE / f"expected-{name}.yml")]
    env = os.environ | {"NO_COLOR": "1"}
    done = subprocess.run(words, capture_output=True, cwd=tmp_path, env=env, check=False)
    text = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, (text + done.stderr.decode("utf-8", "replace"))[-3000:]
    assert re.search(r"Total: \d+ passed", text)
    if name == "2026-07-28":
        passed = re.findall(r"✓ tasks-([a-z-]+): [1-9]\d* passed, 0 failed", text)
        assert set(TASKS) <= set(passed), text
