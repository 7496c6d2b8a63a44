"""How a task of an agent went, as `--wait --json` and the job's events tell it."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.engine import Done
from tests.support.jobs import Jobs


class Turn:
    """`about`: what the result says of the agent, under the agent's name."""

    def __init__(self, jobs: Jobs, done: Done, name: str) -> None:
        self.code = done.code
        self.err = done.err.decode()
        assert done.out, done.err
        self.result: dict[str, Any] = json.loads(done.out)
        self.about: dict[str, Any] = self.result[name]
        self.job = jobs.handle(self.result["jobId"])
        self.events = self.job.events()

    @property
    def told(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == "agent"]

    @property
    def phases(self) -> list[str]:
        return [str(event["phase"]) for event in self.told]

    def said(self, pattern: str, phase: str | None = None) -> dict[str, Any]:
        for event in self.told:
            if re.search(pattern, event["message"]) and phase in (None, event["phase"]):
                return event
        raise AssertionError(f"nothing like {pattern!r} ({phase}) among {[e['message'] for e in self.told]}")

    @property
    def stall_causes(self) -> list[str]:
        """Why nothing moved, each time the driver said so."""
        return [event["diagnosis"]["cause"] for event in self.told if event["phase"] == "stuck"]

    def found(self, phase: str, **fields: Any) -> dict[str, Any]:
        """The agent's first event of a phase whose fields have these values."""
        for event in self.told:
            if event["phase"] == phase and all(event.get(name) == value for name, value in fields.items()):
                return event
        raise AssertionError(f"no {phase} with {fields} among {self.told}")

    def steps(self) -> dict[str, bool]:
        return steps(self.events)


def steps(events: list[dict[str, Any]]) -> dict[str, bool]:
    """The ladder: which steps were taken, and which had an effect."""
    return {event["step"]: event["done"] for event in events if event["type"] == "agent" and "step" in event}
