"""Runs in the second kernel: keeps jobs of every kind going and reports all that it is told of them.

    load.py SOURCE ROUNDS

A line on standard output is one JSON object: a job whose start has returned (`id`, `kind`, `command`), or an event that
a follower has handed out (`id`, `seq`, `type`, `phase`, `ts`; of output how far it reaches; and a checksum of it all,
since lines on a console had better be short).
"""

from __future__ import annotations

import json
import os
import sys
import threading
import zlib
from typing import Any

if __name__ == "__main__":  # in the second kernel nothing is installed
    sys.path.insert(0, sys.argv[1])

import unhang

PRINTS = "n=0; while :; do n=$((n+1)); echo $n $(date +%s.%N); sleep 0.1; done"
# More than the first file takes, so that the ring is in use.
FLOODS = "seq 900000; " + PRINTS
TERM_IS_IGNORED = "trap '' TERM; echo ready; while :; do sleep 1000; done"
QUICKLY: dict[str, Any] = {"idle": 1.0, "warn": 0.5, "grace": 0.5, "stall": "off", "liveness": "output"}
FOR_EVER: dict[str, Any] = {"idle": "off", "hard": "off", "stall": "off"}

KINDS: list[tuple[str, list[str], dict[str, Any]]] = [
    ("prints", ["sh", "-c", PRINTS], FOR_EVER),
    ("silent", ["sleep", "1000"], FOR_EVER),
    ("ends", ["sh", "-c", "echo done; exit 3"], FOR_EVER),
    ("warned", ["sleep", "1001"], QUICKLY),
    ("stubborn", ["sh", "-c", TERM_IS_IGNORED], QUICKLY),
    ("floods", ["sh", "-c", FLOODS], FOR_EVER),
]


def report(**fields: object) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


def checksum(event: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(event, sort_keys=True).encode())


def tell(job: unhang.Job) -> None:
    for event in job.watch():
        shown = {name: event[name] for name in ("seq", "type", "phase", "ts")}
        reach = event.get("offset", 0) + event.get("bytes", 0) if event["type"] == "output" else 0
        report(id=job.id, sum=checksum(event), reach=reach, **shown)


def main(rounds: int) -> None:
    for number in range(rounds):
        # each kind first in its turn, so that the cut finds all of them at all stages
        for kind, command, limits in KINDS[number:] + KINDS[:number]:
            if kind in ("floods", "prints") and number > 1:
                continue
            job = unhang.start(command, **limits)
            if job.status()["pid"] is None:
                continue  # on a starved machine a start is given up, and its handle says so
            report(id=job.id, kind=kind, command=command)
            threading.Thread(target=tell, args=(job,)).start()


if __name__ == "__main__":
    main(int(sys.argv[2]))
