"""The commands about jobs of other machines: `--fleet`, and JOB@MACHINE.

A command that acts on a job, or shows what it printed, is run by the machine that owns it. Rows, events and ends are
read from the server, and can be seen while that machine is offline.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING, TypeVar

from unhang.core import events as ev
from unhang.core import outcome, plain_text, values
from unhang.core.fleet.requests import ALLOWED, MOST_DATA, STDERR, Request
from unhang.core.fleet.rows import found_by
from unhang.core.fleet.subjects import split_name
from unhang.core.limit_request import read_duration
from unhang.core.record import Record
from unhang.errors import EXIT_TIMEOUT, NoSuchJob, UnhangError, UsageError
from unhang.faces.cli import output
from unhang.faces.cli.command_module import load
from unhang.faces.cli.live import say_over
from unhang.faces.cli.parser import Parser
from unhang.faces.cli.queue_notices import say_why_nothing_happens
from unhang.faces.cli.queued_job import (
    NotRunYet,
    cancel_in_queues,
    end_of_queued,
    named_in_queues,
    of_waiting,
    ran_as,
    row_of_taken,
)
from unhang.faces.cli.stderr import StderrReporter
from unhang.fleet import note
from unhang.fleet.command_client import Offline, ask
from unhang.fleet.connection import with_connection
from unhang.fleet.end_tasks import end
from unhang.fleet.view import FleetRow, fleet_rows, follow, result_from, status_from, view_of
from unhang.jobs.home import state_home

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from unhang.core.fleet.queue import QueuedJob
    from unhang.fleet.connection import Connection

_T = TypeVar("_T")


class There(Record):
    """A job of a machine; `row` as it was published, or as its queue has it; None if nothing of it is known here.

    `queued`: the job of a queue that it was named as.
    """

    machine: str
    job: str
    row: dict[str, Any] | None
    queued: QueuedJob | None = None

    @property
    def called(self) -> str:
        """Return what a command may name it by."""
        return f"{self.job}@{self.machine}"


def is_meant(args: argparse.Namespace) -> bool:
    """Return whether the words of a command mean a job of another machine."""
    return bool(args.fleet) or any(split_name(name) is not None for name in _named(args))


def listed(home: str) -> list[FleetRow]:
    """Return the jobs of this home and of all machines, the newest first."""
    return with_server(lambda connection: fleet_rows(connection, home))


def main(name: str, parser: Parser, args: argparse.Namespace) -> int:
    """Run a command about jobs of other machines; return its exit code."""
    named = _named(args)
    if not named:
        raise UsageError(f"name the jobs, as JOB@MACHINE (see: unhang {name} --help)")
    if getattr(args, "label", None):
        raise UsageError("--label means jobs of this home: it cannot stand beside jobs of other machines")
    own = own_machine()
    places = [split_name(each) for each in named]
    if own and all(place is not None and place[1] == own for place in places):
        # of this very machine: no server is needed
        ours = [place[0] for place in places if place is not None]
        args.job = ours if isinstance(args.job, list) else ours[0]
        args.fleet = False
        return load(name).main(args)
    if name == "events":
        return with_server(lambda connection: _events(connection, args), lasting=args.follow)
    if name == "wait":
        return with_server(lambda connection: _wait(connection, args), lasting=True)
    if name == "status":
        return with_server(lambda connection: _status(connection, parser, args))
    if name == "cancel":
        return with_server(lambda connection: _cancel(connection, parser, args))
    return with_server(lambda connection: _anywhere(connection, name, parser, args))


def own_machine() -> str:
    """Return what this home is called in the fleet that is meant; empty: it has not joined that one."""
    known = note.read(state_home())
    return known.machine if known.server and note.server_of(state_home(), os.environ) == known.server else ""


def _named(args: argparse.Namespace) -> list[str]:
    job = getattr(args, "job", None)
    return job if isinstance(job, list) else [] if job is None else [job]


def with_server(
    work: Callable[[Connection], Awaitable[_T]], *, lasting: bool = False, address: str | None = None
) -> _T:
    """Do something with the server; `lasting`: whenever it is away, wait until it is there again."""
    address = note.server_of(state_home(), os.environ, address)
    return with_connection(address, work, lasting=lasting)


async def _found(connection: Connection, names: list[str], not_run: list[QueuedJob] | None = None) -> list[There]:
    """Return the jobs that are meant; raise NoSuchJob, AmbiguousJob, or NotRunYet for a queued job that has not run.

    `not_run`: such jobs are added to it instead.
    """
    rows = await connection.rows()
    queued = await named_in_queues(connection, [name for name in names if split_name(name) is None])
    found = []
    for name in names:
        known, of_queue = None, queued.get(name)
        if of_queue is not None:
            try:
                where = await ran_as(connection, of_queue)
            except NotRunYet as waiting:
                if not_run is None:
                    raise
                not_run.append(waiting.job)
                continue
            known = row_of_taken(of_queue, where[1])
        else:
            job, machine = split_name(name) or (name, None)
            try:
                where = found_by(rows, job, machine)
            except NoSuchJob:
                there = None if machine is None else await _unpublished(connection, machine, job)
                if there is None:
                    raise
                where = there
        found.append(There(*where, rows.get(where, known), of_queue))
    return found


async def _anywhere(connection: Connection, name: str, parser: Parser, args: argparse.Namespace) -> int:
    """Run a command where its job runs; a job that waits in a queue runs nowhere."""
    try:
        jobs = await _found(connection, _named(args))
    except NotRunYet as waiting:
        return await of_waiting(connection, name, args, waiting.job)
    return await _elsewhere(connection, name, parser, args, jobs)


async def _cancel(connection: Connection, parser: Parser, args: argparse.Namespace) -> int:
    """Cancel jobs where they run or wait, and in their queues, too.

    What the names mean is found out once: until the jobs have ended others may have been submitted by the same names.
    """
    waiting: list[QueuedJob] = []
    jobs = await _found(connection, _named(args), waiting)
    codes = [await of_waiting(connection, "cancel", args, job) for job in waiting]
    ended: list[QueuedJob] = []
    unreached: Offline | None = None
    for machine in dict.fromkeys(job.machine for job in jobs):
        there = [job for job in jobs if job.machine == machine]
        queued = [job.queued for job in there if job.queued is not None]
        try:
            codes.append(await _elsewhere(connection, "cancel", parser, args, there))
            ended += queued if not codes[-1] else []
        except Offline as error:
            if args.force and len(queued) == len(there):
                # a job of a queue is taken from a machine that is offline: what it says of the job later is refused
                codes += [await of_waiting(connection, "cancel", args, job) for job in queued]
            else:
                unreached = unreached or error  # those of the other machines are ended first
    if ended and not args.no_wait:
        await cancel_in_queues(connection, ended)
    if unreached is not None:
        raise unreached
    return max(codes)


async def _status(connection: Connection, parser: Parser, args: argparse.Namespace) -> int:
    """Show the state of each job, in the order in which they were named, wherever each is."""
    for at, job in enumerate(_named(args)):
        if at and not args.json:
            print()
        args.job = [job]
        code = await _anywhere(connection, "status", parser, args)
        if code:
            return code
    return 0


async def _unpublished(connection: Connection, machine: str, job: str) -> tuple[str, str] | None:
    """Ask a machine for a job that it has not published yet; None if it has none of this name."""
    said: list[bytes] = []
    try:
        code = await ask(connection, machine, Request("status", [job], ["--json"]), lambda _, data: said.append(data))
        status = values.parse(b"".join(said)) if code == 0 else None
    except (UnhangError, ValueError):
        return None
    known = values.text_of(status, "jobId")
    return (machine, known) if known else None


# --- carried out by the machine that owns the job ---------------------------------------------------------------


async def _elsewhere(
    connection: Connection, name: str, parser: Parser, args: argparse.Namespace, jobs: list[There]
) -> int:
    machines = list(dict.fromkeys(job.machine for job in jobs))
    if name == "logs" and len(machines) > 1:
        raise UsageError("name jobs of one machine; the output of each machine comes from there")
    options, data = _options(parser, args, ALLOWED[name]), _input(args) if name == "send" else b""
    codes = []
    for machine in machines:
        there = [job for job in jobs if job.machine == machine]
        request = Request(name, [job.job for job in there], options, data)
        printer = _Printer(raw=getattr(args, "raw", False))
        try:
            codes.append(await ask(connection, machine, request, printer.show))
        except Offline as error:
            codes.append(await _offline(connection, name, args, there, error))
        finally:
            printer.finish()
    return next((code for code in codes if code), 0)


def _options(parser: Parser, args: argparse.Namespace, allowed: tuple[str, ...]) -> list[str]:
    """Return the options that were given, in their long form."""
    found: list[str] = []
    for action in parser._actions:
        option = next((each for each in action.option_strings if each.startswith("--")), None)
        value = getattr(args, action.dest, None)
        if option not in allowed or value is None or value == action.default:
            continue
        found.append(option if action.nargs == 0 else f"{option}={value}")
    return found


def _input(args: argparse.Namespace) -> bytes:
    if args.text is None:
        return b""
    if args.text == "-":
        data = sys.stdin.buffer.read(MOST_DATA + 1)
    else:
        data = args.text.encode("utf-8", "surrogateescape") + (b"" if args.no_newline else b"\n")
    if len(data) > MOST_DATA:
        raise UsageError(f"send at most {MOST_DATA >> 10} KiB at a time to another machine")
    return data


class _Printer:
    """What a command prints on another machine, here: on a terminal only colours pass."""

    def __init__(self, *, raw: bool) -> None:
        self._raw = raw
        self._texts: dict[str, plain_text.TerminalText] = {}

    def show(self, kind: str, data: bytes) -> None:
        stream = sys.stderr if kind == STDERR else sys.stdout
        if self._raw or not stream.isatty():
            stream.flush()
            stream.buffer.write(data)
        else:
            stream.write(self._texts.setdefault(kind, plain_text.TerminalText()).feed(data))
        stream.flush()

    def finish(self) -> None:
        for kind, text in self._texts.items():
            (sys.stderr if kind == STDERR else sys.stdout).write(text.finish())


async def _offline(
    connection: Connection, name: str, args: argparse.Namespace, jobs: list[There], error: Offline
) -> int:
    """Show what the server knows of a job whose machine does not answer."""
    if name not in ("status", "result"):
        raise error
    there, reporter = jobs[0], StderrReporter()
    view = await view_of(connection, there.machine, there.job)
    machine = (await connection.machines()).get(there.machine)
    row = there.row or {}
    if name == "status":
        status = status_from(view, row, machine, there.machine)
        if args.json:
            output.print_json(status)
        else:
            from unhang.faces.cli.commands.status import print_status

            print_status(status, utc=args.utc)
        return 0
    result = result_from(view, there.job, str(row.get("command") or ""))
    if args.json:
        shown = result.to_json() | {"machine": there.machine}
        output.print_json(shown if view.ended else shown | {"status": "unknown", "recovery": None})
    reporter.line(f"{error}: what {there.job} printed stays there")
    if not view.ended:
        reporter.line(f"whether {there.called} still runs is unknown")
        return 0
    if not args.json:
        reporter.ending(there.job, result.outcome)
    return result.shell_code


# --- read from the server ---------------------------------------------------------------------------------------


async def _events(connection: Connection, args: argparse.Namespace) -> int:
    from unhang.faces.cli.commands.events import WantedEvents, check, show_all
    from unhang.fleet.view import events_of

    check(args)
    (there,) = await _found(connection, _named(args))
    wanted = WantedEvents(args)
    if not args.follow:
        events = await events_of(connection, there.machine, there.job, args.after_seq or 0)
        show_all([event for event in events if wanted.includes(event)][: wanted.left], args, there.job, None)
        return 0
    if wanted.left == 0:
        return 0
    output.leave_with_reader()
    async for event in follow(connection, there.machine, there.job, args.after_seq or 0):
        if wanted.show(event):
            break
    return 0


async def _wait(connection: Connection, args: argparse.Namespace) -> int:
    names = _named(args)
    queued = await named_in_queues(connection, [name for name in names if split_name(name) is None])
    jobs: dict[str, There | QueuedJob] = dict(queued)
    jobs |= {job.called: job for job in await _found(connection, [name for name in names if name not in queued])}
    timeout = read_duration("--timeout", args.timeout, off=False)
    waiting = {asyncio.ensure_future(_end_of(connection, job)): called for called, job in jobs.items()}
    machines = {job.machine for job in jobs.values() if isinstance(job, There)}
    watch = asyncio.ensure_future(say_why_nothing_happens(connection, machines, queued.values()))
    ended: dict[str, dict[str, Any]] = {}
    try:
        until = asyncio.FIRST_COMPLETED if args.any else asyncio.ALL_COMPLETED
        done, _ = await asyncio.wait(waiting, timeout=timeout, return_when=until)
        ended = {waiting[task]: task.result() for task in done}
    finally:
        await end((*waiting, watch))
    for called in ended:
        if args.json:
            await _print_result(connection, jobs[called])
        elif args.any:
            print(called)
    if not ended or (not args.any and len(ended) < len(jobs)):
        say_over([called for called in jobs if called not in ended])
        return EXIT_TIMEOUT
    failed = [(each, ended[each]) for each in jobs if each in ended and ended[each].get("status") != "success"]
    if len(jobs) > 1:
        for called, last in failed:
            StderrReporter().line(f"{called}: {last.get('message')}")
    return outcome.exit_code(failed[0][1]) if failed else 0


async def _end_of(connection: Connection, there: There | QueuedJob) -> dict[str, Any]:
    """Return the last event of a job, when there is one."""
    if not isinstance(there, There):
        return await end_of_queued(connection, there)
    async for event in follow(connection, there.machine, there.job):
        if event["type"] == ev.EXITED:
            return event
    raise UnhangError(f"the log of {there.called} has no end")


async def _print_result(connection: Connection, job: There | QueuedJob) -> None:
    try:
        (there,) = [job] if isinstance(job, There) else await _found(connection, [job.id])
    except NotRunYet as waiting:  # it has ended, and never ran
        output.print_json(waiting.job.to_json())
        return
    printer = _Printer(raw=True)
    try:
        await ask(connection, there.machine, Request("result", [there.job], ["--json"]), printer.show)
    except Offline:
        view = await view_of(connection, there.machine, there.job)
        command = str((there.row or {}).get("command") or "")
        output.print_json(result_from(view, there.job, command).to_json() | {"machine": there.machine})
