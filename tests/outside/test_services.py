"""What runs beside the jobs imports nothing of its folder or its PYTHONPATH, and keeps what it writes to this user.

Each is started in a project full of traps, which PYTHONPATH names as well, with a umask that protects nothing.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.test_private import open_to_others
from tests.support.alerts import Receiver, deliverers, end_deliverers, rules
from tests.support.engine import wait_until
from tests.support.fleet import PATIENCE, Server
from tests.support.jobs import Jobs
from tests.support.outside.trap import Trap
from tests.support.telemetry.receiver import OtlpReceiver
from tests.support.web.server import WebServer
from unhang.procs import executable

UNHANG = executable.command()


class Trapped(Jobs):
    """Whatever is called, is called in the trap."""

    def __init__(self, folder: Path, trap: Trap, umask: int) -> None:
        super().__init__(folder)
        self._trap = trap
        self._umask = umask
        self.env |= {"PYTHONPATH": str(trap.project), "HOME": str(folder)}

    def command(self, *words: object) -> list[str]:
        return [*UNHANG, *map(str, words)]

    def popen_program(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        return super().popen_program(*words, **({"cwd": self._trap.project, "umask": self._umask} | options))

    def check(self, *files: str) -> None:
        """Nothing was imported; these files are there, and all there are for this user alone."""
        assert self._trap.run_from_here() == {}
        for file in files:
            assert (self.home / file).exists(), file
        assert open_to_others(self.home) == {}


@pytest.fixture(params=[0o000, 0o022], ids=oct)
def trapped(tmp_path: Path, trap: Trap, request: pytest.FixtureRequest) -> Iterator[Trapped]:
    assert trap.works()
    trap.spare("re, sys")  # before the first line of unhang's
    made = Trapped(tmp_path, trap, request.param)
    yield made
    made.close()
    end_deliverers(made.home)
    made.end_everything()
    assert not (left := made.left_over()), f"still running after the test: {left}"


def test_the_page_imports_nothing_from_outside_and_writes_for_this_user_alone(trapped: Trapped) -> None:
    assert trapped.call("run", "--", "true").code == 0
    web = WebServer(trapped)
    assert b"<html" in web.get("/").body.lower()
    assert web.get("/api/overview").status == 200
    assert web.get("/metrics").status == 200
    web.end()
    trapped.check("metrics/token")


def test_top_imports_nothing_from_outside_and_writes_for_this_user_alone(trapped: Trapped) -> None:
    assert trapped.call("run", "--name", "seen", "--", "true").code == 0
    ours, theirs = pty.openpty()
    top = trapped.popen("top", stdin=theirs, stdout=theirs, stderr=theirs, env=trapped.env | {"TERM": "xterm"})
    os.close(theirs)
    shown = bytearray()

    def read() -> None:
        try:
            while data := os.read(ours, 1 << 16):
                shown.extend(data)
        except OSError:
            return  # it has ended

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: b"seen" in shown or top.poll() is not None, "it shows the job", PATIENCE)
    os.write(ours, b"q")
    assert top.wait(60) == 0, bytes(shown)
    reader.join()
    os.close(ours)
    trapped.check()


def test_the_deliverer_of_alerts_imports_nothing_from_outside_and_writes_for_this_user_alone(trapped: Trapped) -> None:
    receiver = Receiver()
    settings = trapped.folder / "alerts.toml"
    settings.write_text(rules(receiver.url, "failed"))
    trapped.env["UNHANG_ALERTS"] = str(settings)
    assert trapped.call("run", "--", "false").code == 1
    wait_until(lambda: receiver.kinds() == [["failed"]], "it is told")
    wait_until(lambda: not deliverers(trapped.home), "nothing is left to deliver")
    receiver.close()
    trapped.check("alerts/state.json")


def test_the_exporter_of_spans_imports_nothing_from_outside_and_writes_for_this_user_alone(trapped: Trapped) -> None:
    receiver = OtlpReceiver()
    assert trapped.call("run", "--", "true").code == 0
    done = trapped.call("otel", "--endpoint", receiver.url, "--once", "--all")
    assert (done.code, done.err) == (0, b"")
    assert len(receiver.named("true")) == 1
    receiver.close()
    trapped.check("otel/state.json")


@pytest.mark.timeout(300)
def test_publisher_and_worker_import_nothing_from_outside_and_write_for_this_user_alone(
    trapped: Trapped, tmp_path: Path
) -> None:
    server = Server(tmp_path, "n0").start().wait()
    trapped.env["UNHANG_NATS"] = server.url
    said = trapped.folder / "said"
    try:
        with open(said, "wb") as log:
            publisher = trapped.popen("fleet", "join", "--machine", "alpha", stderr=log)
            wait_until(lambda: b"joined" in said.read_bytes() or publisher.poll() is not None, "joined", PATIENCE)
            worker = trapped.popen("worker", "--queue", "q", stderr=log)
            wait_until(lambda: b"takes jobs" in said.read_bytes() or worker.poll() is not None, "it begins", PATIENCE)
        done = trapped.call("start", "--fleet", "q", "--wait", "--", "true", timeout=PATIENCE)
        assert done.code == 0, (done.err, said.read_bytes())
        for process in (worker, publisher):
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0, said.read_bytes()
    finally:
        server.kill()
    trapped.check("fleet")


def test_the_server_to_try_a_fleet_with_imports_nothing_from_outside_and_writes_for_this_user_alone(
    trapped: Trapped,
) -> None:
    done = trapped.call("fleet", "try", "--background")
    assert done.code == 0, done.err
    log = trapped.home / "fleet" / "try" / "server.log"
    wait_until(lambda: log.exists() and b"Server is ready" in log.read_bytes(), "the server runs", PATIENCE)
    try:
        trapped.check("fleet/note.json", "fleet/try/server.json", "fleet/try/store")
    finally:
        assert trapped.call("fleet", "try", "--stop").code == 0
