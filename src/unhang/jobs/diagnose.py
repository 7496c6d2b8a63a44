"""Why is this job quiet? Looked at from outside, with what only its keeper knows (the terminal) asked of it."""

from __future__ import annotations

import time

from unhang.errors import ControlError, UnhangError
from unhang.jobs import control_client, reconcile
from unhang.jobs.handle import attach, here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.diagnosis.samples import FullSample
    from unhang.core.diagnosis.verdict import Diagnosis
    from unhang.jobs.handle import Job

# Between the two looks: long enough for a poll loop of a second to show itself twice.
WINDOW = 2.0


def diagnose_job(name: str, window: float = WINDOW) -> Diagnosis:
    """Takes `window` seconds; changes nothing."""
    from unhang.core.diagnosis.rules import diagnose
    from unhang.procs.wakeup import Wakeup

    job = attach(here(), name)
    if job.ended():
        message = (job.view().outcome or {}).get("message", "")
        raise UnhangError(f"job {job.id} has ended: {message}")
    if where := reconcile.whereabouts(job.place):
        raise UnhangError(f"job {job.id} runs elsewhere ({where}): diagnose it there")
    before = _look(job)
    with Wakeup() as wakeup:
        keeper = int(job.spec["keeper"]["pid"])
        deadline = time.monotonic() + window
        if wakeup.add_process(keeper):
            wakeup.wait(deadline - time.monotonic())
    return diagnose(before, _look(job))


def _look(job: Job) -> FullSample:
    from unhang.core.diagnosis.samples import Terminal
    from unhang.procs.sampler.full import full

    view = job.view()
    screen = (job.tail("stderr", 2048) + job.tail("stdout", 2048)).encode("utf-8", "replace")
    sample = full(int(job.spec["keeper"]["pid"]), screen=screen, leader=view.pid)
    if not job.spec.get("pty"):
        return sample
    try:
        answer = control_client.ask(job.place, do="terminal")
    except ControlError:
        return sample
    terminal = Terminal(echo=answer["echo"], canonical=answer["canonical"], foreground=answer["foreground"])
    if sample.terminal is not None:
        terminal = terminal._replace(path=sample.terminal.path)
    return sample._replace(terminal=terminal)
