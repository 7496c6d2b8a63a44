"""What a driver says right before it ends is recorded: it is how its turn went."""

from __future__ import annotations

import json
import os
import sys

from tests.support.acp_agents.harness import Bench
from unhang.core.limit_request import LimitRequest
from unhang.core.spec import NULL
from unhang.jobs.handle import Job
from unhang.jobs.launcher import CallerStreams, ForkingLauncher
from unhang.jobs.request import AgentTask, prepare
from unhang.jobs.start import input_descriptor
from unhang.keeper.agent_channel import DESCRIPTOR

# Its keeper is woken by the output, and is at work while the rest happens: the order in which it looks decides.
DRIVER = f"""
import os
for number in range(40):
    os.write(1, b"x" * 2000)
os.write({DESCRIPTOR}, b'{{"phase": "completed", "message": "the last word", "pad": "' + b"y" * 2000 + b'"}}\\n')
os._exit(0)
"""


def test_the_last_words_of_a_driver_are_recorded(bench: Bench) -> None:
    for _ in range(25):
        words = [sys.executable, "-S", "-c", DRIVER]
        prepared = prepare(
            words,
            stdin=NULL,
            agent=AgentTask("acp", "none", "run", "talk", {}),
            asked=LimitRequest(liveness="agent"),
            policy="built-in",
        )
        launcher = ForkingLauncher()
        connection = launcher.launch(str(bench.home), prepared, CallerStreams(input_descriptor(prepared, None)))
        job = Job(connection.place)
        job.wait(30)
        connection.close()
        launcher.close()
        if connection.guard is not None:
            os.waitpid(connection.guard, 0)
        told = [event["message"] for event in job.events() if event["type"] == "agent"]
        assert told == ["the last word"], json.dumps(job.events())
