"""What an answer tells of is on the disk when it is sent, and a call that waits for its job pays for that once."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import programs
from tests.support.mcp.harness import Servers
from tests.support.mcp.raw import Raw, call

# With -y the path of a descriptor stands behind its number.
_SYNC = re.compile(r"(?:fsync|fdatasync)\(\d+<([^>]*)>")


class Traced:
    """A server whose syncs and answers are noted in the order in which they are made."""

    def __init__(self, servers: Servers) -> None:
        self._trace = servers.engine.folder / "trace"
        words = ["strace", "-f", "-y", "-qq", "-s", "2000", "-e", "trace=fsync,fdatasync,write", "-o", str(self._trace)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            [*words, *servers.command()], env=servers.engine.env, cwd=servers.engine.folder, **pipes
        )
        servers.engine._started.append(process)
        self.raw = Raw(process)
        self.raw.shake_hands()

    def answer(self, number: int, tool: str, **arguments: Any) -> dict[str, Any]:
        self.raw.send(call(number, tool, **arguments))
        found = self.raw.answer(number)["result"]["structuredContent"]
        assert isinstance(found, dict)
        return found

    def synced_before_the_answer(self, number: int, job: str) -> list[tuple[str, str]]:
        """The files of a job that were synced before the answer with this number was written, and by which thread."""
        lines = self._trace.read_text(errors="replace").splitlines()
        sent = next(at for at, line in enumerate(lines) if " write(" in line and f'\\"id\\":{number},\\"result' in line)
        found = [(line.split()[0], Path(synced[1])) for line in lines[:sent] if (synced := _SYNC.search(line))]
        return [(thread, path.name) for thread, path in found if job in path.parts]

    def recorder(self) -> str:
        """The thread that has recorded the start of the only job."""
        lines = self._trace.read_text(errors="replace").splitlines()
        return next(line.split()[0] for line in lines if " write(" in line and "job/started" in line)


@pytest.fixture
def traced(servers: Servers) -> Traced:
    programs.need_command("strace")
    return Traced(servers)


def test_the_job_of_a_run_is_on_the_disk_with_its_answer_and_was_brought_there_once(traced: Traced) -> None:
    found = traced.answer(2, "run", command="echo hi")
    assert found["status"] == "success"
    synced = traced.synced_before_the_answer(2, found["jobId"])
    assert {"events.ndjson", "job.json", found["jobId"]} <= {name for _, name in synced}
    # by its keeper itself; on a starved machine the thread for what may wait some seconds may have come before
    assert synced.count((traced.recorder(), "events.ndjson")) == 1


def test_a_job_that_is_told_of_while_it_runs_is_on_the_disk_before(traced: Traced) -> None:
    for number, tool, more in ((2, "start", {}), (3, "run", {"wait_sec": 1})):
        found = traced.answer(number, tool, command="sleep 600", **more)
        assert found["status"] == "running"
        synced = {name for _, name in traced.synced_before_the_answer(number, found["jobId"])}
        assert {"events.ndjson", "job.json", found["jobId"]} <= synced
        assert traced.answer(number + 10, "cancel", job_id=found["jobId"], force=True)["status"] == "cancelled"
