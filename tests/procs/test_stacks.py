"""Stack traces are taken only with tools that cannot harm the process."""

from __future__ import annotations

import os
import signal

from tests.support.diagnosis.actors import actor, until_blocked
from unhang.procs.linux.stacks import choose, stacks

READS = "import os; print('READY'); os.read(0, 1)"


def test_a_tool_that_could_harm_the_process_is_not_chosen() -> None:
    tools = [tool for tool, _ in choose("java", 1, ["java", "-Xrs", "Main"], [])]
    assert "jstack" not in tools, "with -Xrs the JVM dies of the signal that jstack sends"
    assert "jstack" not in [tool for tool, _ in choose("java", 1, ["java"], ["JAVA_TOOL_OPTIONS=-Xrs"])]
    assert "py-spy" not in [tool for tool, _ in choose("sleep", 1, ["sleep"], [])]


def test_a_stopped_process_is_left_alone_and_a_live_one_lives_on() -> None:
    with actor(READS) as job:
        until_blocked(job.pid, "read")
        [found] = stacks([job.pid])
        assert found.pid == job.pid
        assert found.text
        assert job.poll() is None
        os.kill(job.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, job.pid, os.WSTOPPED | os.WNOWAIT)
        [found] = stacks([job.pid])
        assert found.tool == ""
        assert "stopped" in found.text
