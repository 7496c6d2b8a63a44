"""`unhang fleet`: the jobs of many machines, over NATS JetStream: join, leave, who is there, and a server to try."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from typing import TYPE_CHECKING

from unhang.core.fleet.permissions import OPERATOR, ROLES
from unhang.errors import UnhangError, UsageError
from unhang.faces.cli import output
from unhang.faces.cli.parser import add_verb
from unhang.jobs.home import ensure_state_home, state_home

if TYPE_CHECKING:
    from collections.abc import Callable

SUMMARY = "see and steer the jobs of many machines: join a fleet, list its machines, try it out"
VERBS = ("join", "leave", "machines", "forget", "prepare", "user", "try")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of `unhang fleet`."""
    verbs = parser.add_subparsers(dest="fleet_verb", required=True, metavar="|".join(VERBS))
    join = add_verb(
        verbs,
        "join",
        "Publish what the jobs of this machine record, and take commands for them. Runs until Ctrl-C or `leave`.",
    )
    _add_server(join)
    join.add_argument(
        "--machine", metavar="NAME", help="what this machine is called (default: as before, or its host name)"
    )
    join.add_argument(
        "--background", action="store_true", help="return when it has joined, and go on in the background"
    )
    add_verb(verbs, "leave", "End the publisher of this machine. Its jobs go on; the fleet shows them as unknown.")
    machines = add_verb(verbs, "machines", "List the machines: which are online, and what each said last.")
    _add_server(machines)
    output.add_json(machines, "print a JSON array")
    forget = add_verb(verbs, "forget", "Remove what an offline machine has published, and free its name.")
    forget.add_argument("machine", metavar="MACHINE", help="a machine that is offline")
    _add_server(forget)
    prepare = add_verb(
        verbs, "prepare", "Make what is missing of the streams and buckets on the server, as an operator."
    )
    _add_server(prepare)
    text = "the file of `fleet user`: tasks of operators that it does not have any more are not run"
    prepare.add_argument("--config", metavar="FILE", help=text)
    _add_user(add_verb(verbs, "user", "Give machines and people credentials of their own, with what each may do."))
    tried = add_verb(
        verbs, "try", "Run a NATS server for trying it out. One node, this machine alone; prints its address."
    )
    tried.add_argument("--background", action="store_true", help="return at once, and go on in the background")
    tried.add_argument("--stop", action="store_true", help="end the one that runs; what it has stored stays")


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nats", metavar="URL", help="the server (default: $UNHANG_NATS, or that of the last join or try)"
    )
    text = "who signed the certificate of a tls:// server (default: $UNHANG_NATS_CA, or whom this system trusts)"
    parser.add_argument("--ca", metavar="FILE", help=text)
    text = "credentials that `fleet user add` wrote (default: $UNHANG_NATS_CREDS)"
    parser.add_argument("--creds", metavar="FILE", help=text)


def _add_user(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="user_verb", required=True, metavar="add|list|remove")
    add = add_verb(verbs, "add", "Add a user: writes its credentials, and what the server has to know of it.")
    remove = add_verb(verbs, "remove", "Remove a user; tell the server to reload afterwards.")
    for each in (add, remove):
        each.add_argument("role", choices=ROLES, help="publishes a machine and works for it, only sees, or may act")
        each.add_argument("name", metavar="NAME", help="of a worker: its machine's name")
        each.add_argument("--team", metavar="ACCOUNT", default="UNHANG", help="whose fleet (default UNHANG)")
    add.add_argument("--queue", metavar="Q", action="append", default=[], help="a worker may take jobs of this queue")
    add.add_argument("--creds", metavar="FILE", help="where to write the credentials (default ROLE-NAME.creds)")
    for each in (add, remove, add_verb(verbs, "list", "List the users: team, kind and name, public key.")):
        text = "what the server's configuration includes (default unhang-users.conf)"
        each.add_argument("--config", metavar="FILE", default="unhang-users.conf", help=text)


def main(args: argparse.Namespace) -> int:
    """Run one verb; return its exit code."""
    match args.fleet_verb:
        case "join":
            return _join(args)
        case "leave":
            return _leave()
        case "machines":
            return _machines(args)
        case "forget":
            return _forget(args)
        case "prepare":
            return _prepare(args)
        case "user":
            return _user(args)
    return _try(args)


def _join(args: argparse.Namespace) -> int:
    from unhang.core.fleet.subjects import NAME_RULE, is_machine, machine_from
    from unhang.fleet import note
    from unhang.fleet.connection import check_installed

    check_installed()
    home = ensure_state_home()
    address = _address(args)
    known = note.read(home)
    machine = args.machine or known.machine or machine_from(socket.gethostname())
    if not is_machine(machine):
        raise UsageError(f"not a name for a machine: {machine!r} ({NAME_RULE})")

    def work(tell: Callable[[str], None]) -> int:
        place = note.take_place(home)
        if place is None:
            raise UnhangError(
                f"a publisher of this home runs already (pid {note.holder(home) or '?'}); unhang fleet leave ends it"
            )
        try:
            note.sign(place)
            written = note.write(home)
            import gc

            from unhang.fleet.publisher import Publisher

            gc.enable()  # __main__ switches it off for short lives; this is a long one
            code = Publisher(home, written.home_id, machine, address, tell, place).run()
            note.leave(place)
            return code
        except UnhangError:
            note.leave(place)
            raise
        finally:
            os.close(place)

    return _run(args, f"{note.folder(home)}/publisher.log", work)


def _run(args: argparse.Namespace, log: str, work: Callable[[Callable[[str], None]], int]) -> int:
    if not args.background:
        return work(_say)
    from unhang.fleet.background import in_background

    return in_background(log, work)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _leave() -> int:
    from unhang.fleet import note, worker_place

    home = state_home()
    workers = len(worker_place.living(home))
    if workers:
        what = "a worker of this home takes" if workers == 1 else f"{workers} workers of this home take"
        raise UnhangError(f"{what} jobs, and has to be seen: end it first with unhang worker --drain, or --stop")
    if not note.end(lambda: note.holder(home), "the publisher"):
        _say("no publisher runs in this home")
    return 0


def _machines(args: argparse.Namespace) -> int:
    from unhang.fleet.connection import with_connection

    found = with_connection(_address(args), lambda connection: connection.machines())
    if args.json:
        output.print_json([machine.to_json() for machine in found.values()])
        return 0
    rows = [["MACHINE", "STATE", "JOBS", "LOAD", "VERSION", "LAST SEEN"]]
    for machine in found.values():
        shown = machine.to_json()
        cells = (machine.name, shown["state"], machine.jobs, machine.load, machine.version, machine.seen)
        rows.append(["" if cell is None else str(cell) for cell in cells])
    output.print_table(rows)
    return 0


def _forget(args: argparse.Namespace) -> int:
    from unhang.fleet.connection import Connection, with_connection

    async def forget(connection: Connection) -> None:
        machine = (await connection.machines()).get(args.machine)
        if machine is None:
            raise UnhangError(f"no machine has the name {args.machine!r}; unhang fleet machines lists them")
        if machine.online:
            raise UnhangError(f"machine {args.machine} is online; run `unhang fleet leave` there first")
        await connection.forget(args.machine)

    with_connection(_address(args), forget)
    return 0


def _prepare(args: argparse.Namespace) -> int:
    from unhang.fleet import users
    from unhang.fleet.connection import Connection, with_connection

    known = None if args.config is None else users.listed(args.config)
    if known == []:
        raise UsageError(f"--config: {args.config} has no users")

    async def prepare(connection: Connection) -> list[str]:
        await connection.prepare()
        await connection.prepare_queues(each=True)
        if known is None:
            return []
        return await connection.keep_operators([each.key for each in known if each.role == OPERATOR])

    for user in with_connection(_address(args), prepare):
        _say(f"{user} is no operator any more: what it has signed is not run")
    return 0


def _user(args: argparse.Namespace) -> int:
    from unhang.fleet import users

    if args.user_verb == "list":
        output.print_table(
            [["TEAM", "USER", "KEY"], *([each.team, each.name, each.key] for each in users.listed(args.config))]
        )
        return 0
    if args.user_verb == "remove":
        users.remove(args.config, args.team, args.role, args.name)
        _say(f"removed from {args.config}; tell the server: nats-server --signal reload")
        if args.role == OPERATOR:
            _say(f"then: unhang fleet prepare --config {args.config}, and what it has signed is not run any more")
        return 0
    credentials = args.creds or f"{args.role}-{args.name}.creds"
    users.add(args.config, args.team, args.role, args.name, args.queue, credentials)
    print(credentials)
    _say(f'the server\'s configuration needs: include "{args.config}"; then, twice: nats-server --signal reload')
    return 0


def _address(args: argparse.Namespace) -> str:
    from unhang.fleet.note import server_of

    return server_of(state_home(), os.environ, args.nats, ca=args.ca, credentials=args.creds)


def _try(args: argparse.Namespace) -> int:
    from unhang.fleet import note
    from unhang.fleet.try_server import become_server, stop

    home = ensure_state_home()
    if args.stop:
        if not stop(home):
            _say("no server of this home runs")
        return 0

    def work(tell: Callable[[str], None]) -> int:
        def told(address: str) -> None:
            tell(f"{address}\nnext: unhang fleet join --background; unhang ps --fleet")

        become_server(home, told)
        return 1

    return _run(args, f"{note.folder(home)}/try.log", work)
