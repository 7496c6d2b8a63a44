"""Faults of the fleet's queue, for minutes: three servers, workers on several machines, everything killed meanwhile.

    python scripts/queue_faults.py [--seconds 90] [--machines 4] [--jobs 200] [--hold 15]

Kills servers (the leader, any, all at once), workers and keepers, and freezes workers for longer than a hold. Each job
holds a lock of the kernel's while it runs, so that two at once show. In the end every job must have ended: none ran
twice at once, none that must not be run again was, no change of a record but what follows from the one before.
Prints figures as JSON; exits with 1 if an invariant does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.fleet import Machine, Server, cluster, leader  # noqa: E402
from tests.support.queues import Worker, changes, check_history, submit  # noqa: E402

from unhang.jobs.handle import Job  # noqa: E402
from unhang.store import find, records  # noqa: E402
from unhang.store.layout import JobDir  # noqa: E402

_OVERLAP = 9
_LONGEST_END = 300.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90.0, help="how long jobs are submitted and things killed")
    parser.add_argument("--machines", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--hold", type=int, default=15, help="of each job, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="queue-faults-") as folder:
        servers = cluster(Path(folder))
        url = ",".join(server.url for server in servers)
        machines = [Machine(Path(folder) / f"m{at}", f"m{at}", url).join().joined() for at in range(args.machines)]
        try:
            found = _run(args, servers, machines, url, Path(folder))
        finally:
            for each in machines:
                each.close()
                each.end_everything()
            for server in servers:
                server.kill()
    print(json.dumps(found, indent=1))
    return 1 if found["wrong"] else 0


def _run(
    args: argparse.Namespace, servers: list[Server], machines: list[Machine], url: str, folder: Path
) -> dict[str, Any]:
    chance = random.Random(args.seed)
    workers = {each.name: Worker(each, "q", "--slots", "3") for each in machines}
    begun, next_fault = time.monotonic(), 5.0
    jobs: dict[str, str] = {}
    killed: dict[str, int] = {}
    frozen: dict[str, float] = {}
    while (passed := time.monotonic() - begun) < args.seconds or len(jobs) < args.jobs:
        if len(jobs) < args.jobs * passed / args.seconds:
            on_lost = chance.choice(["retry", "fail"])
            lock, seconds = folder / f"lock-{len(jobs)}", chance.choice([0.1, 1, 5, 15])
            words = ("flock", "-n", "-E", str(_OVERLAP), str(lock), "sleep", str(seconds))
            try:
                jobs[submit(machines[0], "q", "--on-lost", on_lost, "--hold", str(args.hold), "--", *words)] = on_lost
            except Exception as error:  # no server at the moment: whether it was queued is not known
                print(f"{passed:6.1f} s  not submitted: {error}", file=sys.stderr, flush=True)
        for name in [name for name, until in frozen.items() if passed > until]:
            workers[name].send(signal.SIGCONT)
            del frozen[name]
        if passed > next_fault and passed < args.seconds:
            next_fault = passed + chance.uniform(1.0, 5.0)
            what = chance.choice(["leader", "node", "all servers", "worker", "worker", "freeze", "freeze", "keeper"])
            killed[what] = killed.get(what, 0) + 1
            print(f"{passed:6.1f} s  {what}", file=sys.stderr, flush=True)
            _break(what, servers, machines, workers, frozen, passed + 1.5 * args.hold, chance)
        time.sleep(0.05)
    for name in frozen:
        workers[name].send(signal.SIGCONT)
    for server in servers:
        server.wait()
    deadline = time.monotonic() + _LONGEST_END
    history = changes(url)
    while any(each[-1]["state"] != "ended" for each in history.values()) and time.monotonic() < deadline:
        time.sleep(1.0)
        history = changes(url)
    for worker in workers.values():
        worker.end()
    return _figures(jobs, history, machines, killed, time.monotonic() - begun)


def _break(
    what: str,
    servers: list[Server],
    machines: list[Machine],
    workers: dict[str, Worker],
    frozen: dict[str, float],
    until: float,
    chance: random.Random,
) -> None:
    free = [each for each in machines if each.name not in frozen]
    if what == "worker" and free:
        each = chance.choice(free)
        workers[each.name].kill()
        workers[each.name] = Worker(each, "q", "--slots", "3")
    elif what == "freeze" and len(free) > 1:
        each = chance.choice(free)
        workers[each.name].send(signal.SIGSTOP)
        frozen[each.name] = until
    elif what == "keeper":
        running = [job for each in machines for job in _jobs_of(each) if not job.ended()]
        keeper = (records.job(chance.choice(running).place) or {}).get("keeper") if running else None
        if keeper:
            os.kill(int(keeper["pid"]), signal.SIGKILL)
    elif what in ("leader", "node", "all servers"):
        try:
            chosen = servers if what == "all servers" else [leader(servers) if what == "leader" else servers[0]]
        except Exception:  # no leader at the moment
            chosen = [chance.choice(servers)]
        for server in chosen:
            server.kill()
        time.sleep(chance.uniform(0.0, 3.0))
        for server in chosen:
            server.start()


def _jobs_of(machine: Machine) -> list[Job]:
    return [Job(JobDir(str(machine.home), each)) for each in find.all_ids(str(machine.home))]


def _figures(
    jobs: dict[str, str],
    history: dict[str, list[dict[str, Any]]],
    machines: list[Machine],
    killed: dict[str, int],
    seconds: float,
) -> dict[str, Any]:
    wrong = []
    try:
        check_history(history)
    except AssertionError as error:
        wrong.append(f"a history that cannot be: {error}")
    wrong += [f"{job}: not there" for job in jobs if job not in history]
    wrong += [f"{job}: {each[-1]['state']}" for job, each in history.items() if each[-1]["state"] != "ended"]
    runs: dict[str, list[int | None]] = {}
    for job in [job for each in machines for job in _jobs_of(each)]:
        queued = str((job.spec.get("labels") or {}).get("queued"))
        runs.setdefault(queued, []).append(job.result().exit_code)
    wrong += [f"{job}: ran twice at once" for job, codes in runs.items() if _OVERLAP in codes]
    for name, each in history.items():
        if each[0]["onLost"] == "fail" and len(runs.get(name, [])) > 1:
            wrong.append(f"{name}: ran {len(runs[name])} times")
        if each[-1]["status"] == "success" and 0 not in runs.get(name, []):
            wrong.append(f"{name}: no success on any machine")
    ends: dict[str, int] = {}
    for each in history.values():
        how = each[-1]["phase"] if each[-1]["phase"] == "lost" else each[-1]["status"] or each[-1]["state"]
        ends[how] = ends.get(how, 0) + 1
    return {
        "jobs": len(history),
        "machines": len(machines),
        "ends": ends,
        "runs": sum(map(len, runs.values())),
        "attempts": sum(each[-1]["attempt"] for each in history.values()),
        "broken": killed,
        "seconds": round(seconds, 1),
        "wrong": wrong,
    }


if __name__ == "__main__":
    sys.exit(main())
