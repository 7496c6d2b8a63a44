"""`unhang worker`: takes jobs of a queue of the fleet and runs them on this machine."""

from __future__ import annotations

import argparse
import os
import sys

from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.jobs.home import ensure_state_home, state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SUMMARY = "take jobs of a queue of the fleet (unhang start --fleet QUEUE) and run them on this machine"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang worker`."""
    parser.add_argument("--queue", metavar="Q", help="the queue to take jobs of")
    parser.add_argument("--slots", type=int, default=1, metavar="N", help="run at most N jobs at a time (default 1)")
    parser.add_argument(
        "--memory", metavar="SIZE", help="what its jobs may need together, as 24G (default: all that the machine has)"
    )
    parser.add_argument(
        "--label", metavar="NAME", action="append", default=[], help="what this machine has, for jobs with --need NAME"
    )
    parser.add_argument("--only-label", action="store_true", help="take only jobs that need one of its labels")
    parser.add_argument("--background", action="store_true", help="return when it has begun, and go on")
    parser.add_argument("--nats", metavar="URL", help="the server (default: $UNHANG_NATS, or that of the last join)")
    what = parser.add_argument_group("instead of starting one")
    one = what.add_mutually_exclusive_group()
    one.add_argument("--list", action="store_true", help="list the workers of the fleet, or of a --queue")
    one.add_argument(
        "--drain", action="store_true", help="the workers of this home take no more, and end when their jobs have ended"
    )
    one.add_argument("--stop", action="store_true", help="end the workers of this home, and their jobs")
    output.add_json(parser, "with --list: print a JSON array")


def main(args: argparse.Namespace) -> int:
    """Run a worker until a signal ends it; return 0."""
    if args.list:
        return _list(args)
    if args.stop or args.drain:
        return _end(args)
    return _start(args)


def _start(args: argparse.Namespace) -> int:
    from unhang.core.fleet.queue import Worker, is_queue
    from unhang.core.fleet.subjects import NAME_RULE, is_machine
    from unhang.core.sizes import read_size
    from unhang.fleet import note, worker_place
    from unhang.fleet.connection import check_installed

    check_installed()
    if not args.queue or not is_queue(args.queue):
        raise UsageError(f"which queue? --queue NAME ({NAME_RULE})")
    if not 1 <= args.slots <= 10_000:
        raise UsageError("--slots: at least 1")
    for label in args.label:
        if not is_machine(label):
            raise UsageError(f"--label: not a label: {label!r} ({NAME_RULE})")
    if args.only_label and not args.label:
        raise UsageError("--only-label needs a --label")
    from unhang.fleet.worker import memory_of_this_machine

    memory = memory_of_this_machine() if args.memory is None else read_size("--memory", args.memory)
    home = ensure_state_home()
    address = note.server_of(home, os.environ, args.nats)
    machine = worker_place.machine_of(home, address)

    def work(tell: Callable[[str], None]) -> int:
        import gc

        from unhang.fleet.worker import QueueWorker

        gc.enable()  # __main__ switches it off for short lives; this is a long one
        os.environ.pop(note.VARIABLE, None)  # it may hold a password, and jobs get our environment
        place = worker_place.take(home, args.queue)
        try:
            offer = Worker(args.queue, machine, place.id, args.slots, memory, args.label, args.only_label)
            return QueueWorker(home, address, offer, tell).run()
        finally:
            place.leave()

    if not args.background:
        return work(lambda line: print(line, file=sys.stderr, flush=True))
    from unhang.fleet.background import in_background

    return in_background(f"{note.folder(home)}/worker-{args.queue}.log", work)


def _end(args: argparse.Namespace) -> int:
    from unhang.fleet import worker_place

    ended = worker_place.end_all(state_home(), args.queue, drain=args.drain)
    if not ended:
        print("no worker runs in this home", file=sys.stderr)
    return 0


def _list(args: argparse.Namespace) -> int:
    from unhang.core.sizes import human_size
    from unhang.faces.cli.fleet import with_server
    from unhang.fleet.queues import workers

    found = with_server(workers, address=args.nats)
    found = [worker for worker in found if args.queue in (None, worker.queue)]
    if args.json:
        output.print_json([worker.to_json() for worker in found])
        return 0
    rows = [["QUEUE", "MACHINE", "WORKER", "BUSY", "MEMORY", "STATE", "LABELS"]]
    for worker in found:
        state = "draining" if worker.draining else "busy" if worker.busy >= worker.slots else "free"
        memory = f"{human_size(worker.memory_taken)} of {human_size(worker.memory)}"
        labels = ", ".join(worker.labels) + (" only" if worker.only_label else "")
        rows.append(
            [worker.queue, worker.machine, worker.id, f"{worker.busy} of {worker.slots}", memory, state, labels]
        )
    output.print_table(rows)
    return 0
