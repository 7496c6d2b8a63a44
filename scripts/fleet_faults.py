"""Faults of the fleet, for minutes: three servers, several machines that record much, and everything killed meanwhile.

    python scripts/fleet_faults.py [--seconds 120] [--machines 3] [--jobs 70] [--events 100] [--sessions 10]

Kills the leader, another node, all three at once, and publishers, at random and one after the other; brings each back.
In the end every event of every machine must be on every server: none lost, none doubled, none out of order, each as it
is on disk. Prints figures as JSON; exits with 1 if an invariant does not hold.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.fleet import Machine, Server, caught_up, cluster, faults, leader, published  # noqa: E402
from tests.support.fleet_load import SECRET  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--machines", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=70, help="of each machine")
    parser.add_argument("--events", type=int, default=100, help="of each job")
    parser.add_argument("--sessions", type=int, default=10, help="of each machine, with as many events as a job has")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleet-faults-") as folder:
        servers = cluster(Path(folder))
        url = ",".join(server.url for server in servers)
        machines = [Machine(Path(folder) / f"m{at}", f"m{at}", url).join().joined() for at in range(args.machines)]
        try:
            found = _run(args, servers, machines, url)
        finally:
            for each in machines:
                each.close()
            for server in servers:
                server.kill()
    print(json.dumps(found, indent=1))
    return 1 if found["wrong"] else 0


def _run(args: argparse.Namespace, servers: list[Server], machines: list[Machine], url: str) -> dict[str, object]:
    chance = random.Random(args.seed)
    words = [sys.executable, "-m", "tests.support.fleet_load"]
    sizes = [str(size) for size in (args.jobs, args.events, args.seconds, args.sessions)]
    begun = time.monotonic()
    writers = [each.popen_program(*words, str(each.home), *sizes, cwd=ROOT) for each in machines]
    killed: dict[str, int] = {}
    while any(writer.poll() is None for writer in writers):
        time.sleep(chance.uniform(2.0, 6.0))
        what = chance.choice(["leader", "node", "all servers", "publisher", "publisher"])
        killed[what] = killed.get(what, 0) + 1
        print(f"{time.monotonic() - begun:6.1f} s  kill -9: {what}", file=sys.stderr, flush=True)
        if what == "publisher":
            each = chance.choice(machines)
            each.stop_publisher(signal.SIGKILL)
            time.sleep(chance.uniform(0.0, 2.0))
            each.join()
            continue
        try:
            chosen = (
                servers if what == "all servers" else [leader(servers) if what == "leader" else chance.choice(servers)]
            )
        except Exception:  # no leader at the moment
            chosen = [chance.choice(servers)]
        for server in chosen:
            server.kill()
        time.sleep(chance.uniform(0.0, 4.0))
        for server in chosen:
            server.start()
        for server in chosen:
            server.wait()
    recorded = time.monotonic() - begun
    done = [each.finish(writer).code for each, writer in zip(machines, writers, strict=True)]
    caught_up(url, machines, 180)
    behind = time.monotonic() - begun - recorded
    wrong = [text for server in servers for text in faults(server.url, machines)]
    messages = published(url)
    wrong += [f"{name}: a secret" for name, each in messages.items() if any(SECRET.encode() in one[2] for one in each)]
    return {
        "machines": len(machines),
        "jobs": sum(".session." not in name for name in messages),
        "sessions": sum(".session." in name for name in messages),
        "events": sum(len(log.splitlines()) for each in machines for log in each.logs().values()),
        "messages": sum(map(len, messages.values())),
        "killed": killed,
        "writers": done,
        "recordingSeconds": round(recorded, 1),
        "secondsBehindAtTheEnd": round(behind, 1),
        "wrong": wrong,
    }


if __name__ == "__main__":
    sys.exit(main())
