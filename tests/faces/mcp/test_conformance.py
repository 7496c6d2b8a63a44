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

HERE = Path(__file__).resolve().parent / "conformance"
RUNS = {
    "0.1.16": (programs.CONFORMANCE, []),
    "2025-11-25": (programs.CONFORMANCE_NEXT, ["--requirements", "2025-11-25"]),
    "2026-07-28": (programs.CONFORMANCE_NEXT, ["--requirements", "2026-07-28"]),
}
TASKS = ("lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers",
         "dispatch-and-envelope", "required-task-error", "mrtr-composition")  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[int, str]]]:
    """(exit code, text). The one with the tasks runs alone: its scenario of a task's life watches the clock."""
    programs.need(programs.NODE, programs.CONFORMANCE, programs.CONFORMANCE_NEXT)
    folder = tmp_path_factory.mktemp("conformance")
    engine = Engine(folder)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.faces.mcp.conformance.server"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=engine.env,
        cwd=ROOT,
    )
    assert server.stdout is not None
    try:
        url = read_line(server.stdout.fileno()).decode().strip()
        found: dict[str, tuple[int, str]] = {}
        for names in (("0.1.16", "2025-11-25"), ("2026-07-28",)):
            running = {name: _suite(name, url, folder) for name in names}
            for name, process in running.items():
                out, _ = process.communicate(timeout=110)
                found[name] = (process.returncode, out.decode("utf-8", "replace"))
        yield found
    finally:
        server.terminate()
        server.wait(10)
        server.stdout.close()
        for place in engine.jobs():
            from unhang.jobs.handle import Job

            Job(place).cancel(force=True)
        left = engine.left_over()
        assert not left, left


def _suite(name: str, url: str, folder: Path) -> subprocess.Popen[bytes]:
    program, options = RUNS[name]
    words = [str(programs.NODE), str(program), "server", "--url", url, *options]
    words += ["--expected-failures", str(HERE / f"expected-{name}.yml")]
    env = os.environ | {"NO_COLOR": "1"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=env)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_nothing_that_applies_fails(reports: dict[str, tuple[int, str]], name: str) -> None:
    code, text = reports[name]
    assert code == 0, text[-3000:]
    assert re.search(r"Total: \d+ passed", text)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_tasks_extension_passes(reports: dict[str, tuple[int, str]], name: str) -> None:
    _, text = reports["2026-07-28"]
    found = re.search(rf"✓ tasks-{name}: (\d+) passed, 0 failed", text)
    assert found, text[-3000:]
    assert int(found[1]) > 0
