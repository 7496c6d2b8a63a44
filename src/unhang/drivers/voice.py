"""What a driver says to its keeper: one JSON object a line, on the descriptor that $UNHANG_AGENT_FD names."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from unhang.agents.said import Said, Standing

VARIABLE = "UNHANG_AGENT_FD"
# A reply comes in hundreds of deltas a second; the idle clock is set back often enough like this.
_BETWEEN_SIGNS = 0.2


class Voice:
    """Takes the variable out of the environment: the agent must not have the descriptor."""

    def __init__(self) -> None:
        number = os.environ.pop(VARIABLE, "")
        self._fd = int(number) if number.isdigit() else -1
        self._signed = 0.0
        if self._fd >= 0:
            os.set_inheritable(self._fd, False)

    def say(self, said: Said) -> None:
        if not (said.phase or said.windowed):
            now = time.monotonic()
            if now - self._signed < _BETWEEN_SIGNS:
                return
            self._signed = now
        self._write(said.to_json())

    def tell(self, phase: str, message: str, *, alive: bool = False, **fields: Any) -> None:
        """Something about the driving itself."""
        given = {name: value for name, value in fields.items() if value is not None}
        self._write({"phase": phase, "message": message, "alive": alive} | given)

    def stuck(self, why: Standing, thread: str) -> None:
        """Not a sign of life, but the reason why there is none."""
        fields: dict[str, Any] = {"cause": why.reason, "diagnosis": why.diagnosis(), "threadId": thread or None}
        self.tell("stuck", f"{why.reason[0].upper()}{why.reason[1:]}.", **fields)

    def stopping(self, why: Standing, thread: str) -> None:
        fields: dict[str, Any] = {"cause": why.reason, "diagnosis": why.diagnosis(), "threadId": thread or None}
        self.tell("stopping", f"Asked to stop: {why.reason}.", suggestions=why.suggestions or None, **fields)
        complain(why.reason)

    def window(self, seconds: float | None) -> None:
        self._write({"window": seconds})

    def _write(self, told: dict[str, Any]) -> None:
        if self._fd < 0:
            return
        view = memoryview(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:  # the keeper is gone, and so shall we be in a moment
            self._fd = -1


def complain(text: str) -> None:
    """For the job's stderr: where people look first."""
    try:
        print(f"unhang: {' '.join(text.split())}", file=sys.stderr, flush=True)
    except OSError:
        pass
