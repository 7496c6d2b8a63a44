"""What a driver inside the job says of its agent: one JSON object a line, on a descriptor of its own.

    {"phase": "thinking", "message": "…", "alive": true, "window": 600, …}

becomes an `agent` event. `alive` says whether it is progress (a keep-alive is not), `window` that a tool with a limit
of its own is in flight (null: it has ended). Only the driver has the descriptor: it must not hand it on to the agent.
"""

from __future__ import annotations

import json
import os

from unhang.core import events as ev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DESCRIPTOR = 3
VARIABLE = "UNHANG_AGENT_FD"
_LONGEST = 1 << 20


class AgentLine:
    """Our end of it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.open = True
        self._rest = b""
        os.set_blocking(fd, False)

    def hear(self) -> list[dict[str, Any]]:
        """Every whole line that has come; nonsense is passed over."""
        try:
            chunk = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return []
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return []
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _LONGEST:
            self._rest = b""
        found: list[dict[str, Any]] = []
        for line in lines:
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(said, dict):
                found.append(said)
        return found

    def close(self) -> None:
        if self.open:
            self.open = False
            os.close(self.fd)


def event_of(said: dict[str, Any]) -> ev.Event | None:
    """None: it only wants to be counted as a sign of life."""
    if not said.get("phase"):
        return None
    rest = {name: value for name, value in said.items() if name not in ("alive", "window", "type", "seq", "ts", "v")}
    head = {"type": ev.AGENT, "phase": str(said["phase"])[:40], "message": str(said.get("message", ""))[:1000]}
    return head | {name: value for name, value in rest.items() if name not in head}
