"""Drives the real `unhang run` in a state directory of its own. No pytest in here: the unprivileged run has none."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.places import ACTORS
from unhang.procs import command_line, identity, markers
from unhang.store import files, reader
from unhang.store.layout import JobDir
from unhang.testing.liveness import Process, RollCall

MARK = "UNHANG_TEST_MARK"


def actor(name: str, *words: object) -> list[str]:
    return [sys.executable, str(ACTORS / f"{name}.py"), *map(str, words)]


# A line may be the first of a server whose imports take seconds, on a machine where it gets a twentieth of a core.
LINE_PATIENCE = 100.0
# A file may be written by a process that has yet to be started, such as the deliverer of alerts, by another.
FILE_PATIENCE = 60.0


def wait_until(condition: Callable[[], Any], what: str, timeout: float = FILE_PATIENCE) -> Any:
    """For what only a file shows; what the kernel can tell is waited for by descriptor."""
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout} s: {what}")
        time.sleep(0.005)


class Done(NamedTuple):
    code: int
    out: bytes
    err: bytes

    @property
    def result(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


class Engine:
    """One state directory and one mark that everything started here carries in its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.mark = uuid.uuid4().hex
        keep = {k: v for k, v in os.environ.items() if not k.startswith("UNHANG_")}
        # the person who runs the tests may have a policy, alerts and a watch file of their own
        config = {"XDG_CONFIG_HOME": str(folder / "config")}
        self.env = keep | config | {"UNHANG_HOME": str(self.home), MARK: self.mark}
        self._started: list[subprocess.Popen[bytes]] = []

    # --- starting -------------------------------------------------------------------------------------------

    def command(self, *words: object) -> list[str]:
        return [sys.executable, "-m", "unhang", *map(str, words)]

    def start(self, *words: object, **options: Any) -> subprocess.Popen[bytes]:
        """`unhang run WORDS…`; stdout and stderr are pipes unless said otherwise."""
        given: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "env": self.env,
        }
        process: subprocess.Popen[bytes] = subprocess.Popen(self.command("run", *words), **(given | options))
        self._started.append(process)
        return process

    def run(self, *words: object, timeout: float = 60, **options: Any) -> Done:
        return self.finish(self.start(*words, **options), timeout)

    def unhang(self, *words: object, **options: Any) -> Done:
        """Any command of `unhang`, to its end."""
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "env": self.env, "timeout": 60}
        done = subprocess.run(self.command(*words), check=False, **(given | options))
        return Done(done.returncode, done.stdout, done.stderr)

    def finish(self, process: subprocess.Popen[bytes], timeout: float = 60) -> Done:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return Done(process.returncode, out or b"", err or b"")

    def json(self, *words: object, **options: Any) -> dict[str, Any]:
        return self.run("--json", *words, **options).result

    def roll(self) -> RollCall:
        return RollCall(self.folder / f"roll-{uuid.uuid4().hex[:8]}")

    # --- looking --------------------------------------------------------------------------------------------

    def jobs(self) -> list[JobDir]:
        folder = self.home / "jobs"
        return [JobDir(str(self.home), entry.name) for entry in folder.iterdir()] if folder.is_dir() else []

    def job(self) -> JobDir:
        """The one job there is (waits for its record)."""

        def recorded() -> JobDir | None:
            found = self.jobs()
            return found[0] if found and os.path.exists(found[0].job) else None

        place = wait_until(recorded, "a job is recorded")
        assert isinstance(place, JobDir)
        return place

    def keeper(self) -> Process:
        return Process(int(self._record()["pid"]), "keeper")

    def guard(self) -> Process:
        return Process(int(self._record()["guard"]), "guard")

    def _record(self) -> dict[str, Any]:
        job = files.read_json(self.job().job)
        assert job is not None
        keeper = job["keeper"]
        assert isinstance(keeper, dict)
        return keeper

    def events(self) -> list[dict[str, Any]]:
        return reader.read_all(self.job().events)

    def wait_for_event(self, kind: str, phase: str | None = None) -> dict[str, Any]:
        def seen() -> dict[str, Any] | None:
            for event in self.events():
                if event["type"] == kind and phase in (None, event["phase"]):
                    return event
            return None

        found = wait_until(seen, f"an event {kind} {phase or ''}")
        assert isinstance(found, dict)
        return found

    # --- the proof that nothing is left ---------------------------------------------------------------------

    def marked(self) -> list[int]:
        """Every living process that this engine's tests started, by either mark."""
        tags = {int(job["keeper"]["tag"]): place.id for place in self.jobs() if (job := files.read_json(place.job))}
        others = [process.pid for process in identity.every() if process.pid != os.getpid()]
        found = {pid for pid in others if identity.environment(pid).get(MARK) == self.mark}
        # each search reads all of /proc: a thousand jobs that are gone are not searched for one by one
        for tag in tags.keys() & {identity.lock_limit(pid) for pid in others}:
            found |= {process.pid for process in markers.find(markers.Marks(tags[tag], tag))}
        return sorted(found)

    def close(self) -> None:
        """What a failed test did not wait for must not disturb the next one."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def end_everything(self) -> None:
        """Jobs that outlive their caller have to be ended; there are none here."""

    def leave_nothing(self) -> None:
        """The end of a test: what it began is ended, and a process of it that does not go away is a failure."""
        self.close()
        self.end_everything()
        left = self.left_over()
        assert not left, f"still running after the test: {left}"

    def left_over(self, timeout: float = 10) -> list[str]:
        """Who does not go away by itself, in words; they are ended."""
        deadline = time.monotonic() + timeout
        while pids := self.marked():
            if time.monotonic() > deadline:
                words = [f"{pid}: {command_line.of(pid)}" for pid in pids]
                for pid in pids:
                    Process(pid).send(9)
                return words
            Process(pids[0]).wait_gone(max(0.0, deadline - time.monotonic()))
        return []


def hears_signals(running: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> None:
    """`unhang run` has its handlers (the kernel says so): from here on a signal goes to the job's ladder."""

    def caught() -> bool:
        for line in Path(f"/proc/{running.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
        return False

    wait_until(caught, f"unhang run catches {number.name}")


def read_line(fd: int, timeout: float = LINE_PATIENCE) -> bytes:
    """One line from a pipe or terminal, byte by byte; TimeoutError if it does not come."""
    line = b""
    deadline = time.monotonic() + timeout
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while not line.endswith(b"\n"):
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError(f"no whole line within {timeout} s, only {line!r}")
        byte = os.read(fd, 1)
        if not byte:
            break
        line += byte
    return line
