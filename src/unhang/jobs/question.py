"""The question of a job that waits for a person: what it asks, and whether an answer can reach it."""

from __future__ import annotations

from unhang.core import plain_text
from unhang.core.record import Record
from unhang.core.spec import PIPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.view import View
    from unhang.jobs.handle import Job


class InputQuestion(Record):
    """A job waits for input; `key` names this one question, so that it is answered once."""

    key: str
    prompt: str
    answerable: bool  # the job has a terminal or an open stdin, so `Job.send` reaches it

    def quoted(self, most: int) -> str:
        """Return the prompt in quotation marks, on one line of at most `most` characters."""
        return plain_text.quoted(self.prompt, most) if self.prompt else "(no prompt)"


def question_of(job: Job, view: View) -> InputQuestion | None:
    """Return the question that a job waits to have answered; None if it waits for none."""
    waits = view.needs_input
    if waits is None:
        return None
    spec = job.spec
    answerable = bool(spec.get("pty") or spec.get("stdin") == PIPE)
    return InputQuestion(f"input-{waits.get('since') or view.seq}", str(waits.get("prompt") or ""), answerable)
