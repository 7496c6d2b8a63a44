"""What a page of another machine asks of the jobs here: `page --what=look|rows|search|piece`.

The same functions answer as for a page of this machine (`agents/job_look.py`, `jobs/output_viewer.py`).
"""

from __future__ import annotations

import binascii

from unhang.agents.job_look import look_at
from unhang.core import values
from unhang.errors import UsageError
from unhang.jobs.handle import attach
from unhang.jobs.output_viewer import OutputViewer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.fleet.requests import Request

_STREAMS = ("stdout", "stderr")
_MOST_ROWS = 2000
_PIECE = 256 << 10


class PageAnswers:
    """Answers about the jobs of one home. For any thread."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._output = OutputViewer(home)

    def answer(self, request: Request) -> bytes:
        """Return the answer as JSON. Raises UsageError, or NoSuchJob."""
        (job,) = request.jobs if len(request.jobs) == 1 else ("",)
        stream = request.option("--stream") or "stdout"
        if not job or stream not in _STREAMS:
            raise UsageError("refused: name one job, and stdout or stderr")
        return values.dump(self._answer(request, job, stream), compact=True).encode()

    def _answer(self, request: Request, job: str, stream: str) -> Any:
        match request.option("--what"):
            case "look":
                return look_at(attach(self._home, job))
            case "rows":
                first, count = _number(request, "--first", least=-1_000_000), _number(request, "--count")
                at = None if request.option("--at") is None else _number(request, "--at")
                return self._output.rows(job, stream, first, min(count, _MOST_ROWS), at)
            case "search":
                return self._output.search(job, stream, request.option("--text") or "")
            case "piece":
                found = attach(self._home, job).output(stream, _number(request, "--at"), _PIECE)
                data = binascii.b2a_base64(found.data, newline=False).decode()
                return {"offset": found.offset, "next": found.next, "data": data}
        raise UsageError("refused: a page has no such part")


def _number(request: Request, name: str, least: int = 0) -> int:
    text = request.option(name) or "0"
    number = int(text) if len(text) < 18 and text.removeprefix("-").isdecimal() else least - 1
    if number < least:
        raise UsageError(f"refused: {name} is not a number that can be used")
    return number
