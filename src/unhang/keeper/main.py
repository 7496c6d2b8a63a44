"""The keeper: the small process that owns one job from its first instant to its recorded end.

It runs in a process of its own (made by spare.py), as a subreaper, below a guard. Everything it needs to end a job has
been imported before the job is started.
"""

from __future__ import annotations

import json
import os
import select
from _socket import socket

from unhang.core import events as ev
from unhang.core import facts as fact
from unhang.core import outcome
from unhang.core.fold import View
from unhang.core.limits import Limits
from unhang.core.record import Record
from unhang.core.spec import NULL, PIPE, JobSpec
from unhang.core.watchdog import Watchdog
from unhang.errors import SpawnError
from unhang.keeper import control
from unhang.keeper.desk import Desk
from unhang.keeper.heartbeat import Heart
from unhang.keeper.journal import Journal
from unhang.keeper.loop import Loop
from unhang.keeper.relay import Relay
from unhang.keeper.signals import SignalPipe
from unhang.keeper.streams import InputStream, OutputStream
from unhang.procs import clock, markers, spawn, stat
from unhang.store import files
from unhang.store.layout import JobDir
from unhang.store.output import OutputStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.procs.base import Tree


class Launch(Record):
    """A job to be kept, and the descriptors that go with it. `owner`: the caller's line to a foreground job."""

    place: JobDir
    spec: JobSpec
    env: dict[str, str]
    stdin: int | None
    stdout: int | None
    stderr: int | None
    owner: socket | None


def unpack(request: dict[str, Any], fds: list[int]) -> Launch:
    """From what arrived over a spare's line (see `pack` of its maker)."""
    streams = dict(zip(request["fds"], fds, strict=True))
    return Launch(
        place=JobDir(request["home"], request["id"]),
        spec=JobSpec.from_json(request["spec"]),
        env=request["env"],
        stdin=streams.get("stdin"),
        stdout=streams.get("stdout"),
        stderr=streams.get("stderr"),
        owner=socket(fileno=streams["owner"]) if "owner" in streams else None,
    )


class Ready(Record):
    """What a keeper can have done before it knows its job."""

    signals: SignalPipe
    tree: Tree
    identity: dict[str, Any]  # of itself and its guard, for whoever may have to find them again


def get_ready(tree: Tree, guard: int) -> Ready:
    tree.adopt()
    me = os.getpid()
    identity = {"pid": me, "start": stat.start_time(me), "guard": guard, "guardStart": stat.start_time(guard)}
    _rehearse()
    return Ready(SignalPipe(), tree, identity | {"boot": stat.boot_id()})


def _rehearse() -> None:
    """Go through the motions once, on nothing.

    A forked process pays a page fault for every page that it is the first to touch. Paid here, nobody waits for it:
    a short job starts a third sooner.
    """
    spec = JobSpec(["true"], None, "/", Limits(), {})
    spec = JobSpec.from_json(json.loads(json.dumps(spec.to_json())))
    view = View()
    view.apply(ev.from_line(ev.to_line({"seq": 1, "ts": clock.now()} | ev.started(1, spec.command, {}))) or {})
    dog = Watchdog(spec.limits, 0.0)
    dog.tell(fact.LeaderExited(), 0.0)
    dog.tell(fact.TreeGone(), 0.0)
    dog.tell(fact.PipesClosed(), 0.0)
    dog.wake(0.0)
    facts = outcome.Facts("exited", 0, None, False, False, None, 0.0, 0.0, 0.0, 1, "", None, None, [], [])
    ev.to_line({"seq": 2, "ts": ""} | ev.exited("completed", "", outcome.ended(facts).fields))
    select.poll().register(0)
    markers.new_tag(clock.wall())


def keep(launch: Launch, ready: Ready) -> None:
    """From the request to the recorded end."""
    place, spec, tree = launch.place, launch.spec, ready.tree
    tag = markers.new_tag(clock.wall())
    try:
        _write_job(launch, ready.identity | {"tag": tag})
        journal = Journal(place, tree.allocate)
    except OSError as error:  # nothing has been started: say so to the caller and leave no trace
        _give_up(launch, f"cannot write to {place.path}: {error.strerror}")
        return
    server = control.listen(place.path, os.path.basename(place.control))
    desk = Desk(server, launch.owner, attached=spec.foreground)
    heart = Heart(place.id)
    try:
        spawned = _spawn(launch, tag, heart)
    except SpawnError as error:
        end = outcome.spawn_failed(str(error), error.exit_code)
        journal.record_last(ev.exited(end.phase, end.message, end.fields))
        desk.finish(place.control)
        journal.write_status()
        return
    tree.spawned(spawned.pid)
    streams = spawned.streams
    outputs = [_output("stdout", streams.out, launch, launch.stdout)]
    if streams.err is not None:
        outputs.append(_output("stderr", streams.err, launch, launch.stderr))
    into = None if streams.into is None else InputStream(streams.into, terminal=streams.terminal)
    if spec.pty and spec.stdin == NULL and into is not None:
        into.send(b"", eof=True)
    journal.record(ev.started(spawned.pid, spec.command, spec.sources))
    desk.poke(journal.seq)
    master = streams.out if streams.terminal else None
    loop = Loop(spec, tree, spawned.pid, outputs, into, master, journal, heart, desk, ready.signals)
    facts = loop.run()
    _finish(facts, loop, outputs, journal)
    desk.finish(place.control)
    journal.write_status()  # a cache: nobody who waits for the end needs to wait for it
    _pass_on_the_rest(outputs, desk)


def _give_up(launch: Launch, why: str) -> None:
    if launch.owner is not None:
        launch.owner.sendall(json.dumps({"failed": why}).encode() + b"\n")
    for name in os.listdir(launch.place.path):
        os.unlink(f"{launch.place.path}/{name}")
    os.rmdir(launch.place.path)


def _spawn(launch: Launch, tag: int, heart: Heart) -> spawn.Spawned:
    spec = launch.spec
    spawn.enter(spec.cwd)
    markers.set_tag(tag)
    env = launch.env | markers.environment(launch.place.id, launch.env) | heart.environment(spec.limits.idle)
    stdin = launch.stdin
    if stdin is None and spec.stdin != PIPE:
        stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return spawn.spawn(spec.argv, env, stdin=stdin, terminal=spec.pty, size=spec.size)


def _output(name: str, fd: int, launch: Launch, relayed_to: int | None) -> OutputStream:
    store = OutputStore(launch.place.stream(name), launch.spec.budget)
    return OutputStream(name, fd, store, None if relayed_to is None else Relay(relayed_to))


def _write_job(launch: Launch, keeper: dict[str, Any]) -> None:
    parents = markers.environment(launch.place.id, launch.env).get(markers.PARENTS, "")
    job = launch.spec.to_json() | {"id": launch.place.id, "createdAt": clock.now()}
    files.write_json(launch.place.job, job | {"keeper": keeper | {"parents": parents}})


def _finish(facts: outcome.Facts, loop: Loop, outputs: list[OutputStream], journal: Journal) -> None:
    end = outcome.ended(facts)
    fields = dict(end.fields)
    fields["bytes"] = {s.name: s.store.total for s in outputs}
    unstored = sum(s.store.unstored for s in outputs)
    for stream in outputs:
        stream.close()
        stream.store.finish()
    if unstored:
        fields["unstoredBytes"] = unstored
    if end.phase == "timed_out":
        fields["suggestions"] = loop.suggestions(fields["timeoutReason"])
    journal.record_last(ev.exited(end.phase, end.message, fields))


def _pass_on_the_rest(outputs: list[OutputStream], desk: Desk) -> None:
    """The job has ended and is recorded; its last words may still wait for a slow reader, as any program's would."""
    relays = [stream.relay for stream in outputs if stream.relay is not None]
    while blocked := [relay for relay in relays if relay.waiting and not relay.broken]:
        poll = select.poll()
        for relay in blocked:
            poll.register(relay.fd, select.POLLOUT)
        desk.register_owner(poll)
        ready = dict(poll.poll())
        for relay in blocked:
            if relay.fd in ready:
                relay.flush()
        if desk.owner_left(ready):
            return
