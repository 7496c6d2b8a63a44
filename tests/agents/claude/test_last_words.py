"""What a driver says before it ends is how its task went: the keeper hears it to the last line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.jobs import Jobs

# More than a pipe holds: the last of it is written a moment before the driver is gone.
DRIVER = """
import json, os
fd = int(os.environ["UNHANG_AGENT_FD"])
for number in range(400):
    line = json.dumps({"phase": "thinking", "message": str(number), "alive": True, "more": "x" * 600}).encode() + b"\\n"
    while line:
        line = line[os.write(fd, line):]
"""
START = """
import sys
from unhang.core.limit_request import LimitRequest
from unhang.faces.cli import agent_job
from unhang.jobs.request import AgentTask, prepare
words = [sys.executable, "-S", "-c", sys.argv[1]]
task = AgentTask("claude", "none", "run", "talk", {})
prepared = prepare(words, agent=task, foreground=False, asked=LimitRequest(liveness="agent"))
sys.exit(agent_job.start_in_background(prepared, as_json=False, add_report=lambda job, result: result))
"""


@pytest.mark.parametrize("_again", range(4))
def test_every_line_of_a_driver_is_recorded_though_it_ends_at_once(tmp_path: Path, _again: int) -> None:
    jobs = Jobs(tmp_path)
    done = jobs.finish(jobs.popen_program(sys.executable, "-c", START, DRIVER))
    assert done.code == 0, done.err
    job = jobs.handle(done.out.decode().strip())
    job.wait(60)
    assert job.result().ok, job.result().stderr
    said = [event["message"] for event in job.events() if event["type"] == "agent"]
    assert said == [str(number) for number in range(400)]
    assert jobs.left_over() == []
