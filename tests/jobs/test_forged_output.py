"""A job puts a huge file, all of it a hole, in the place of what is kept of its output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.jobs import Jobs, check_log
from unhang.core.spec import LARGEST_BUDGET
from unhang.errors import UsageError
from unhang.jobs.request import prepare

# It prints more than the first part holds, waits for the ring, replaces a file, and then does what it was told.
_FORGES = r"""
import os, signal, sys
name, then, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
folder = f"{os.environ['UNHANG_HOME']}/jobs/{os.environ['UNHANG_JOB']}"
os.write(1, b"first\n" + b"x" * (5 << 20))
while not os.path.exists(f"{folder}/stdout.tail"):
    os.sched_yield()
os.unlink(f"{folder}/{name}")
fd = os.open(f"{folder}/{name}", os.O_CREAT | os.O_RDWR, 0o600)
if name == "stdout.tail":
    os.pwrite(fd, bytes(8) + size.to_bytes(8, "little") * 2, 0)
os.ftruncate(fd, size)
keeper = os.getppid()
with open(f"/proc/{keeper}/stat") as file:
    guard = int(file.read().rpartition(")")[2].split()[1])
for each in {"exit": [], "keeper": [keeper], "both": [guard, keeper]}[then]:
    os.kill(each, signal.SIGKILL)
while then != "exit":
    signal.pause()
"""


@pytest.mark.parametrize("size", [200 << 20, 1 << 42])
@pytest.mark.parametrize("then", ["exit", "keeper", "both"])
@pytest.mark.parametrize("name", ["stdout", "stdout.tail", "stderr"])
def test_a_forged_output_costs_the_job_its_output_and_no_command_its_memory(
    jobs: Jobs, name: str, then: str, size: int
) -> None:
    job = jobs.begin("--", sys.executable, "-c", _FORGES, name, then, size)
    code = 0 if then == "exit" else 125
    assert jobs.call("wait", job.id).code == code
    assert check_log(job.place)[-1]["phase"] == ("completed" if then == "exit" else "lost")
    assert Path(job.place.stream("stdout")).stat().st_blocks * 512 < 16 << 20
    assert job.id in {row["jobId"] for row in jobs.said("ps", "--all")}
    for words in (("status", job.id), ("events", job.id), ("logs", job.id, "--tail", "1")):
        assert jobs.call(*words).code == 0, words
    result = jobs.call("result", job.id)
    assert result.code == code
    assert len(result.out) + len(result.err) < 16 << 20


@pytest.mark.parametrize("budget", [4095, LARGEST_BUDGET + 1])
def test_a_budget_that_could_not_be_told_from_a_forged_one_is_refused(budget: int) -> None:
    with pytest.raises(UsageError):
        prepare(["true"], budget=budget)
