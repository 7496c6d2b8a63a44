"""Why a job, or any process, is quiet: seen from outside, with the terminal's state from the job's keeper."""

from __future__ import annotations

import os

from unhang.core.spec import AGENT
from unhang.core.values import mapping_of, text_of
from unhang.errors import ControlError, UnhangError
from unhang.jobs import control_client, reconcile
from unhang.jobs.handle import attach
from unhang.jobs.home import state_home
from unhang.procs import clock, identity
from unhang.procs.process_handle import wait_for_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.diagnosis.samples import FullSample
    from unhang.core.diagnosis.verdict import Diagnosis
    from unhang.jobs.handle import Job
    from unhang.procs.stacks import Stack as Stack  # for the faces

# Between the two looks: long enough for a poll loop of a second to show itself twice.
WINDOW = 2.0


def diagnose_job(name: str, window: float = WINDOW) -> Diagnosis:
    """Diagnose a running job by two looks, `window` seconds apart. Changes nothing.

    Of an agent its driver knows more than the kernel shows.
    """
    from unhang.core.diagnosis import agents

    job = attach(state_home(), name)
    seen = diagnose_tree(job, window)
    spec = job.spec
    view = job.view()
    told = view.diagnosis_at(clock.wall()) if view.in_doubt else None
    if spec.get("kind") == AGENT:
        since = view.last_activity_at or view.started_at
        silent = max(0.0, clock.wall() - clock.parse(since)) if since else 0.0
        asks = text_of(view.needs_input, "prompt")
        return agents.of_driven_agent(seen, told, view.doing, silent, asks=asks)
    if mapping_of(spec, "labels").get("acp") == "proxy":
        return agents.of_proxied_agent(seen, told)
    return seen


def is_of_agent(name: str) -> bool:
    """Return whether a job runs an agent, with a driver or behind the proxy: advice for commands does not fit it."""
    spec = attach(state_home(), name).spec
    return spec.get("kind") == AGENT or mapping_of(spec, "labels").get("acp") == "proxy"


def diagnose_tree(job: Job, window: float = WINDOW) -> Diagnosis:
    """Return what the kernel alone shows of a running job."""
    from unhang.core.diagnosis.rules import diagnose

    if job.ended():
        message = (job.view().outcome or {}).get("message", "")
        raise UnhangError(f"job {job.id} has ended: {message}")
    if where := reconcile.whereabouts(job.place):
        raise UnhangError(f"job {job.id} runs elsewhere ({where}): diagnose it there")
    before = _look(job)
    wait_for_end(int(job.spec["keeper"]["pid"]), window)
    return diagnose(before, _look(job))


def diagnose_process(pid: int, window: float = WINDOW) -> Diagnosis:
    """Return the same for any process of this user, with its whole tree: without this process, if it is in there."""
    from unhang.core.diagnosis.rules import diagnose
    from unhang.procs.sampler.full import full

    if not process_exists(pid):
        raise UnhangError(f"there is no process {pid}")
    before = full(pid, include_root=True)
    wait_for_end(pid, window)
    found = diagnose(before, full(pid, include_root=True))
    inside = pid != os.getpid() and identity.is_below(os.getpid(), pid)
    return _of_our_own_shell(found) if inside else found


def _of_our_own_shell(found: Diagnosis) -> Diagnosis:
    """The diagnosis of a tree that runs us: where it waits for nothing but us, it goes on when we have ended."""
    from unhang.core.diagnosis import causes
    from unhang.core.diagnosis.verdict import ALIVE

    named = found.evidence.get("pid")
    if found.cause != causes.UNKNOWN.name and (named is None or not identity.is_below(os.getpid(), named)):
        return found
    reason = f"it runs this very command, [{os.getpid()}]; nothing else of it moves"
    return found._replace(state=ALIVE, cause=causes.PROGRESS.name, reason=reason)


def process_exists(pid: int) -> bool:
    """Return whether a process has this pid, as far as this process can see."""
    return identity.find(pid) is not None


def stacks_of(diagnosis: Diagnosis) -> list[Stack]:
    """Return the stacks of the diagnosed processes, as far as a tool here can show them.

    May pause them for a moment.
    """
    from unhang.procs.stacks import stacks

    return stacks([line.pid for line in diagnosis.processes if line.state not in ("Z", "X")])


def _look(job: Job) -> FullSample:
    from unhang.core.diagnosis.samples import TerminalSettings
    from unhang.procs.sampler.full import full

    view = job.view()
    screen = (job.tail("stderr", 2048) + job.tail("stdout", 2048)).encode("utf-8", "replace")
    sample = full(int(job.spec["keeper"]["pid"]), screen=screen, leader=view.pid)
    sample = sample._replace(printed=job.printed("stdout") + job.printed("stderr"))
    if not job.spec.get("pty"):
        return sample
    try:
        answer = control_client.ask(job.place, do="terminal")
    except ControlError:
        return sample
    terminal = TerminalSettings(echo=answer["echo"], canonical=answer["canonical"], foreground=answer["foreground"])
    if sample.terminal is not None:
        terminal = terminal._replace(path=sample.terminal.path)
    return sample._replace(terminal=terminal)
