"""A simulated fleet: many light publishers at three real servers, and what that costs.

    python scripts/fleet_scale.py [--machines 1000] [--jobs 10] [--seconds 20] [--events 2] [--processes 2]

Each machine says that it is there every 5 seconds, and publishes the row and the events of each of its jobs as a real
publisher does: grouped in one message a round, each behind the one before. In the end the streams are read from
outside: every log must be whole and in order. Prints figures as JSON; exits with 1 if an invariant does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.fleet import Server, cluster, published  # noqa: E402

from unhang.core import events as ev  # noqa: E402
from unhang.core.fleet import subjects  # noqa: E402
from unhang.core.fleet.chain import Chain  # noqa: E402
from unhang.core.fleet.presence import EVERY  # noqa: E402
from unhang.fleet.connection import Connection, connect  # noqa: E402

# Connections of one process: a real machine has one of its own, but a client costs more here than at the server.
_CONNECTIONS = 25
_ROUND = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machines", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=10, help="of each machine")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--events", type=float, default=2.0, help="of each job in a second")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(asyncio.run(_publish(args, args.part[0], int(args.part[1]), int(args.part[2])))))
        return 0
    with tempfile.TemporaryDirectory(prefix="fleet-scale-") as folder:
        servers = cluster(Path(folder))
        try:
            found = _run(args, servers)
            found["diskBytesOfThreeCopies"] = sum(
                path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()
            )
        finally:
            for server in servers:
                server.kill()
    print(json.dumps(found, indent=1))
    return 1 if found["wrong"] else 0


def _run(args: argparse.Namespace, servers: list[Server]) -> dict[str, Any]:
    url = ",".join(server.url for server in servers)
    asyncio.run(_prepare(url))
    share = args.machines // args.processes
    words = [sys.executable, __file__, "--jobs", str(args.jobs), "--seconds", str(args.seconds)]
    words += ["--events", str(args.events)]
    parts = [
        subprocess.Popen([*words, "--part", url, str(at * share), str(share)], stdout=subprocess.PIPE)
        for at in range(args.processes)
    ]
    said = [json.loads(part.communicate()[0]) for part in parts]
    stored = published(url)
    wrong = []
    for subject, messages in stored.items():
        last = 0
        for first, end, data in messages:
            if first != last + 1 or len(data.splitlines()) != end - first + 1:
                wrong.append(f"{subject}: {first}-{end} behind {last}")
            last = end
    events = sum(messages[-1][1] for messages in stored.values())
    if events != sum(each["events"] for each in said):
        wrong.append(f"{events} stored of {sum(each['events'] for each in said)}")
    seconds = max(each["seconds"] for each in said)
    delays = sorted(delay for each in said for delay in each["delays"])
    return {
        "machines": share * args.processes,
        "jobs": len(stored),
        "events": events,
        "messages": sum(map(len, stored.values())),
        "rows": sum(each["rows"] for each in said),
        "wordsOfPresence": sum(each["words"] for each in said),
        "seconds": round(seconds, 1),
        "eventsASecond": round(events / seconds),
        "writesASecond": round(
            (sum(map(len, stored.values())) + sum(each["rows"] + each["words"] for each in said)) / seconds
        ),
        "roundMsMedian": round(1000 * delays[len(delays) // 2]),
        "roundMsWorst": round(1000 * delays[-1]),
        "memoryOfEachServerMB": [_memory(server) for server in servers],
        "wrong": wrong[:10],
    }


def _memory(server: Server) -> int:
    assert server.process is not None
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


async def _prepare(url: str) -> None:
    connection = await connect(url)
    await connection.prepare()
    await connection.close()


async def _publish(args: argparse.Namespace, url: str, first: int, count: int) -> dict[str, Any]:
    connections = [await connect(url, lasting=True) for _ in range(min(_CONNECTIONS, count))]
    totals: dict[str, Any] = {"events": 0, "rows": 0, "words": 0, "delays": []}
    begun = time.monotonic()
    machines = [
        _machine(connections[at % len(connections)], f"m{first + at}", args, totals, at / count) for at in range(count)
    ]
    await asyncio.gather(*machines)
    totals["seconds"] = time.monotonic() - begun
    for connection in connections:
        await connection.close()
    return totals


async def _machine(connection: Connection, name: str, args: argparse.Namespace, totals: Any, phase: float) -> None:
    """One machine: presence, and for each job a message of what has happened since the last round, and its row."""
    await asyncio.sleep(phase * _ROUND)
    chains = {f"j{at}": Chain(subjects.events_of(name, f"j{at}")) for at in range(args.jobs)}
    for chain in chains.values():
        chain.resume(None, None)
    end, said, seq = time.monotonic() + args.seconds, 0.0, 0
    while (now := time.monotonic()) < end:
        if now >= said + EVERY:
            said = now
            await connection.put(subjects.PRESENCE, name, {"home": name, "version": "0", "jobs": args.jobs})
            totals["words"] += 1
        fresh = range(seq + 1, seq + 1 + max(1, round(args.events * _ROUND)))
        lines = [
            (at, ev.to_line(ev.heartbeat("x" * 100) | {"seq": at, "ts": "2026-01-01T00:00:00.000Z"})) for at in fresh
        ]
        seq = fresh[-1]
        for job, chain in chains.items():
            message = chain.next(lines)
            assert message is not None
            sent = time.monotonic()
            place = await connection.publish(message)
            assert place is not None, "another came first"
            chain.stored(place)
            totals["events"] += len(lines)
            if seq % (5 * len(lines)) == len(lines):  # what only moves on is published every five seconds
                await connection.put_row(
                    name, job, {"jobId": job, "status": "running", "phase": "running", "x": "y" * 900}
                )
                totals["rows"] += 1
            totals["delays"].append(time.monotonic() - sent)
        await asyncio.sleep(max(0.0, now + _ROUND - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
