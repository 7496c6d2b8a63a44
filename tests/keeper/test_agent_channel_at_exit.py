"""What a driver reports right before it exits is recorded: it says how the task went."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.support.engine import Engine
from tests.support.jobs import Jobs
from unhang.core.limit_request import LimitRequest
from unhang.core.spec import NULL
from unhang.jobs.handle import Job
from unhang.jobs.launcher import CallerStreams, ForkingLauncher
from unhang.jobs.request import AgentTask, prepare
from unhang.jobs.start import input_descriptor
from unhang.keeper.agent_channel import DESCRIPTOR

# The output wakes the keeper, which is at work while the rest happens: the order in which it reads decides.
WRITES_OUTPUT = f"""
import os
for number in range(40):
    os.write(1, b"x" * 2000)
os.write({DESCRIPTOR}, b'{{"phase": "completed", "message": "the last word", "pad": "' + b"y" * 2000 + b'"}}\\n')
os._exit(0)
"""
# More than a pipe holds: the last of it is written a moment before the driver exits.
WRITES_UPDATES = """
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


def test_an_update_sent_right_before_the_exit_is_recorded(engine: Engine) -> None:
    for _ in range(25):
        words = [sys.executable, "-S", "-c", WRITES_OUTPUT]
        prepared = prepare(
            words,
            stdin=NULL,
            agent=AgentTask("acp", "none", "run", "talk", {}),
            asked=LimitRequest(liveness="agent"),
            policy="built-in",
        )
        launcher = ForkingLauncher()
        connection = launcher.launch(str(engine.home), prepared, CallerStreams(input_descriptor(prepared, None)))
        job = Job(connection.place)
        job.wait(30)
        connection.close()
        launcher.close()
        if connection.guard is not None:
            os.waitpid(connection.guard, 0)
        told = [event["message"] for event in job.events() if event["type"] == "agent"]
        assert told == ["the last word"], json.dumps(job.events())


@pytest.mark.parametrize("_again", range(4))
def test_every_update_is_recorded_when_the_driver_exits_after_the_last(engine: Engine, _again: int) -> None:
    jobs = Jobs(engine.folder)
    done = jobs.finish(jobs.popen_program(sys.executable, "-c", START, WRITES_UPDATES))
    assert done.code == 0, done.err
    job = jobs.handle(done.out.decode().strip())
    job.wait(60)
    assert job.result().ok, job.result().stderr
    said = [event["message"] for event in job.events() if event["type"] == "agent"]
    assert said == [str(number) for number in range(400)]
    assert jobs.left_over() == []
