"""Why a job, or any process, is quiet: seen from outside, with the terminal's state from the job's keeper."""

from __future__ import annotations

import os
import time

from unhang.core.plain_text import screen_of
from unhang.core.spec import AGENT
from unhang.core.values import items_of, mapping_of, text_of
from unhang.errors import ControlError, UnhangError
from unhang.jobs import control_client, reconcile
from unhang.jobs.handle import attach
from unhang.jobs.home import state_home
from unhang.procs import clock, identity
from unhang.procs.process_handle import wait_for_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.diagnosis.samples import FullSample
    from unhang.core.diagnosis.verdict import Diagnosis
    from unhang.jobs.handle import Job
    from unhang.procs.stacks import Stack as Stack  # for the faces

# Between the two looks: long enough for a poll loop of a second to show itself twice.
WINDOW = 2.0
# Where the time is short: what a loop does still shows itself.
_SHORTEST = 0.3
# The second look takes as long as the first one or longer, and who asked looks once more, for the rest of its answer.
_AGAIN = 2.5


def diagnose_job(name: str, window: float = WINDOW) -> Diagnosis:
    """Diagnose a running job by two looks, `window` seconds apart. Changes nothing.

    Of an agent its driver knows more than the kernel shows.
    """
    job = attach(state_home(), name)
    return _with_agent(job, *look_twice(job, window))


def diagnose_until(name: str, moment: float) -> Diagnosis:
    """Diagnose a running job as `diagnose_job` does, and be done at a moment of the monotonic clock.

    The second look is expected to take as long as the first: where looks are slow, they are less far apart.
    """
    job = attach(state_home(), name)
    return _with_agent(job, *look_twice(job, WINDOW, until=moment))


def _with_agent(job: Job, before: FullSample, after: FullSample) -> Diagnosis:
    """Return what the kernel shows of a job together with what the driver of its agent knows."""
    from unhang.core.diagnosis import agents
    from unhang.core.diagnosis.part import diagnose_part
    from unhang.core.diagnosis.rules import diagnose

    seen = diagnose(before, after)
    spec = job.spec
    view = job.view()
    told = view.diagnosis_at(clock.wall()) if view.in_doubt else None
    if spec.get("kind") == AGENT:
        since = view.last_activity_at or view.started_at
        silent = max(0.0, clock.wall() - clock.parse(since)) if since else 0.0
        asks = text_of(view.needs_input, "prompt")
        began = _tool_began(job, view.doing)
        tool = None if began is None else diagnose_part(before, after, began)
        return agents.of_driven_agent(seen, told, view.doing, silent, tool=tool, asks=asks)
    if mapping_of(spec, "labels").get("acp") == "proxy":
        return agents.of_proxied_agent(seen, told)
    return seen


def is_of_agent(name: str) -> bool:
    """Return whether a job runs an agent, with a driver or behind the proxy: advice for commands does not fit it."""
    spec = attach(state_home(), name).spec
    return spec.get("kind") == AGENT or mapping_of(spec, "labels").get("acp") == "proxy"


def _tool_began(job: Job, doing: dict[str, Any] | None) -> float | None:
    """When the tool began that an agent is at, by the clock of this boot; None: it is at none."""
    from unhang.core import events as ev
    from unhang.core.tool_start import AgentStart, tool_began
    from unhang.core.values import moment, number

    if doing is None or doing.get("phase") not in ev.AT_WORK or (said := moment(doing.get("ts"))) is None:
        return None
    said -= (number(doing.get("ageMs")) or 0.0) / 1000
    start = AgentStart()
    for event in job.events():
        if event.get("type") == ev.AGENT:
            start.note(event.get("phase"), moment(event.get("ts")) or 0.0)
        elif event.get("type") == ev.STARTED:  # of a further attempt
            start = AgentStart()
    return clock.monotonic() - max(0.0, clock.wall() - tool_began(said, start.ready_at))


def look_twice(job: Job, window: float = WINDOW, *, until: float | None = None) -> tuple[FullSample, FullSample]:
    """Return what the kernel alone shows of a running job, in two looks that are `window` seconds apart.

    `until`: a moment of the monotonic clock at which it has to be known, whatever the window.
    """
    if job.ended():
        message = (job.view().outcome or {}).get("message", "")
        raise UnhangError(f"job {job.id} has ended: {message}")
    if where := reconcile.whereabouts(job.place):
        raise UnhangError(f"job {job.id} runs elsewhere ({where}): diagnose it there")
    began = time.monotonic()
    before = _look(job)
    if until is not None:
        now = time.monotonic()
        window = max(_SHORTEST, until - now - _AGAIN * (now - began))
    wait_for_end(_keeper_of(job), window)
    return before, _look(job)


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


def _keeper_of(job: Job) -> int:
    keeper = reconcile.process_named(reconcile.keeper_of(job.spec), "pid", "start")
    if keeper is None:
        raise UnhangError(f"job {job.id} cannot be diagnosed: its record (job.json) is missing or broken")
    return keeper.pid


def _look(job: Job) -> FullSample:
    from unhang.core.diagnosis.samples import TerminalSettings
    from unhang.procs.sampler.full import full

    view = job.view()
    screen = screen_of([job.tail(name, 2048).encode("utf-8", "replace") for name in ("stderr", "stdout")])
    sample = full(_keeper_of(job), screen=screen, leader=view.pid)
    command = " ".join(map(str, items_of(job.spec, "argv")))
    sample = sample._replace(printed=job.printed("stdout") + job.printed("stderr"), command=command)
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
