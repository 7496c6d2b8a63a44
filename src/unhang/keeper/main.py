"""The keeper: the small process that owns one job from its first instant to its recorded end.

It runs in a process of its own (made by spare.py), as a subreaper, below a guard. Everything it needs to end a job has
been imported before the job is started.
"""

from __future__ import annotations

import os
import select
from _socket import socket

from unhang.core import events as ev
from unhang.core import json_text, outcome, trace
from unhang.core.record import Record
from unhang.core.spec import NOTIFY, JobSpec
from unhang.core.watchdog.clocks import NEVER
from unhang.errors import SpawnError, StateError
from unhang.keeper import control_socket
from unhang.keeper.attempts import Attempts, Launch
from unhang.keeper.journal import Journal
from unhang.keeper.prefork.deadline_board import LONGEST, START, DeadlineBoard, Promise
from unhang.keeper.requests import RequestServer
from unhang.keeper.signals import SignalPipe
from unhang.keeper.streams import ReadBuffer
from unhang.procs import clock, identity, markers, vantage
from unhang.store import files
from unhang.store.event_log import AlreadyRecorded
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.procs.base import Tree


# How long a keeper waits for its job, in milliseconds, before it rehearses a whole one.
_REST = 20


def unpack(request: dict[str, Any], fds: list[int]) -> Launch:
    """Read a launch from what arrived over a spare's line (see `pack` of its maker)."""
    streams = dict(zip(request["fds"], fds, strict=True))
    return Launch(
        place=JobDir(request["home"], request["id"]),
        spec=JobSpec.from_json(request["spec"]),
        env=request["env"],
        stdin=streams.get("stdin"),
        stdout=streams.get("stdout"),
        stderr=streams.get("stderr"),
        owner=socket(fileno=streams["owner"]) if "owner" in streams else None,
        told=request["told"],
    )


class Ready(Record):
    """What a keeper can have done before it knows its job."""

    signals: SignalPipe
    tree: Tree
    board: DeadlineBoard
    buffer: ReadBuffer
    identity: dict[str, Any]  # of itself and its guard, for the process that may have to find them again
    cpu: float = 0.0  # the seconds of processor time that getting ready has taken


def get_ready(tree: Tree, guard: int, line: socket, board: DeadlineBoard, *, thoroughly: bool) -> Ready:
    """Prepare everything that needs no job; `line`: where the job will come from; if it waits there already, nothing is
    rehearsed.

    `thoroughly`: a whole job is rehearsed, too, if none comes soon: a caller that starts one after the other gives the
    next one before that would be done.
    """
    tree.adopt()
    me = os.getpid()
    stands = vantage.here()
    # what shows another PID namespace would give us the start times of strangers
    start, guards = (identity.start_time(me), identity.start_time(guard)) if stands.sees else (None, None)
    named = {"pid": me, "start": start, "guard": guard, "guardStart": guards}
    poll = select.poll()
    poll.register(line.fileno(), select.POLLIN)
    buffer = ReadBuffer()
    if not poll.poll(0):
        from unhang.keeper.rehearsal import rehearse  # a command line's keeper has no time for it

        rehearse(buffer)
    if thoroughly and not poll.poll(_REST):
        from unhang.keeper.whole_rehearsal import rehearse_whole  # nor for this

        rehearse_whole(buffer)
    return Ready(SignalPipe(), tree, board, buffer, named | vantage.record(stands), _own_cpu())


def promise_to_start(launch: Launch, ready: Ready) -> None:
    """Promise the guard, before anything is done that could keep us, a start that is as bounded as the job is."""
    limits = [limit for limit in (launch.spec.limits.idle, launch.spec.limits.hard) if limit is not None]
    now = clock.monotonic()
    ready.board.post(Promise(now + min([LONGEST, *limits]), START, now, now))


def keep(launch: Launch, ready: Ready) -> None:
    """Run the job that was handed over, from the request to the recorded end."""
    place, spec, tree = launch.place, launch.spec, ready.tree
    tag = markers.new_tag(clock.wall())
    place_in_trace = begin_trace(launch)
    journal = None
    try:
        # the log first: where there is one already, the job was given up before we came, and must not be run
        journal = Journal(place, tree.allocate, alerts_wanted=NOTIFY in launch.spec.labels)
        write_job(launch, ready.identity | {"tag": tag}, place_in_trace)
    except AlreadyRecorded as error:
        _tell_owner(launch, str(error))
        return
    except (OSError, StateError) as error:  # nothing has been started: say so to the caller and leave no trace
        why = error.strerror if isinstance(error, OSError) else str(error)
        _tell_owner(launch, f"cannot write to {place.path}: {why}")
        _leave_no_trace(place)
        return
    server = control_socket.listen(place.path, os.path.basename(place.control))
    requests = RequestServer(server, launch.owner, attached=spec.foreground)
    if not launch.told:
        requests.tell_written()
    markers.set_tag(tag)
    launch = launch.replace(env=trace.environment(place_in_trace, launch.env))
    see_through(Attempts(launch, ready, journal, requests), launch, ready, journal, requests)


def see_through(job: Attempts, launch: Launch, ready: Ready, journal: Journal, requests: RequestServer) -> None:
    """Run the attempts of a job and record its end."""
    place, spec = launch.place, launch.spec
    try:
        end = job.run()
    except SpawnError as error:
        from unhang.core import mask  # few commands cannot be started

        end = outcome.spawn_failed(mask.line(str(error), mask.secrets_in(str(error), launch.env)), error.exit_code)
    job.heartbeats.close()
    journal.record_last(ev.exited(end.phase, end.message, end.fields | {"keeperCpuMs": ev.ms(_own_cpu() - ready.cpu)}))
    if launch.told and not spec.foreground:
        journal.make_durable_by_name()
    ready.board.post(Promise(NEVER, ""))  # what is left to do, passing output on, may take as long as its reader likes
    requests.finish(place.control, job.shown())
    # a caller that waits for the end need not wait for these: a cache, and room on the disk that is no longer needed
    journal.write_status()
    journal.give_back()
    if not spec.foreground:
        journal.make_durable_by_name()  # a caller that waits for the end does so itself: `Launch.told`
        journal.sync_output()  # nor for this: the end is on the disk, its last words may follow
    job.pass_on_the_rest()


def _own_cpu() -> float:
    """The seconds of processor time of this process."""
    used = os.times()
    return used.user + used.system


def _tell_owner(launch: Launch, why: str) -> None:
    if launch.owner is not None:
        launch.owner.sendall(json_text.encode({"failed": why}, ascii_only=True).encode() + b"\n")


def _leave_no_trace(place: JobDir) -> None:
    """By name, and not by listing: there may be no descriptor left for that."""
    for remove, path in ((os.unlink, place.job), (os.unlink, place.events), (os.rmdir, place.path)):
        try:
            remove(path)
        except OSError:
            continue  # a disk that cannot be written to: a reader records the loss


def begin_trace(launch: Launch) -> trace.Trace:
    """Return the place in the trace of the caller, or a trace of its own, that a job has."""
    return trace.begin(launch.env.get(trace.PARENT), os.urandom(trace.RANDOM))


def write_job(launch: Launch, keeper: dict[str, Any], place_in_trace: trace.Trace) -> None:
    """Write the record of a job; `keeper`: how it is found again."""
    parents = markers.environment(launch.place.id, launch.env).get(markers.PARENTS, "")
    job = launch.spec.to_json() | {"id": launch.place.id, "createdAt": clock.now()}
    keeper |= {"parents": parents, "nested": markers.nested(launch.env)}
    job |= {"trace": place_in_trace.to_json(), "keeper": keeper}
    files.write_json(launch.place.job, job)
