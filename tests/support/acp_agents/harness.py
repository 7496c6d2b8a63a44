"""Drives the real `unhang agent` with the real agents and a fake model, in folders of a test's own."""

from __future__ import annotations

import os
from pathlib import Path

from tests.agents.acp import recordings
from tests.support.acp_agents import programs
from tests.support.engine import Done
from tests.support.fakes.acp_models import FakeModels
from tests.support.jobs import Jobs
from tests.support.programs import MODULES
from tests.support.turn import Turn
from unhang.jobs.handle import Job

# Generous: a loaded machine may need many seconds to start an agent.
PATIENT = ("--idle", "90", "--hard", "100", "--startup", "80")


class Bench(Jobs):
    def __init__(self, folder: Path, fake: FakeModels) -> None:
        super().__init__(folder)
        self.fake = fake
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self._mine = {name: self.env[name] for name in self.env if name.startswith("UNHANG")}

    def equip(self, name: str) -> None:
        """A home, an environment and a PATH with this agent on it, as its recipe looks for it."""
        started = programs.start(name, self.folder, self.fake)
        self.env = started.env | self._mine
        place = self.folder / "bin"
        place.mkdir()
        for program, target in programs.bins().items():
            (place / program).symlink_to(target)
        self.env["PATH"] = f"{place}:{self.env['PATH']}"

    def agent(self, name: str, task: str, *words: object, record: str = "", timeout: float = 110) -> Done:
        """`unhang agent run` to its end; `record`: the name of the recording that is made of it."""
        target = self.folder / f"{record}.ndjson"
        more = ("--record", str(target)) if record else ()
        done = self.call("agent", "run", name, task, *words, *more, timeout=timeout, cwd=self.workspace)
        if record and os.environ.get("UPDATE_RECORDINGS"):
            recordings.keep(record, target, self.folder, MODULES)
        return done

    def turn(self, name: str, task: str, *words: object, record: str = "") -> Turn:
        """`unhang agent run --wait --json`."""
        return Turn(self, self.agent(name, task, "--wait", "--json", *words, record=record), "agent")

    def begun(self, name: str, task: str, *words: object) -> Job:
        """`unhang agent run` in the background."""
        done = self.agent(name, task, *words)
        assert done.code == 0, done.err
        return self.handle(done.out.decode().strip())
