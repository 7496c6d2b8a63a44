"""Many jobs and sessions that record much, without their processes:

    python -m tests.support.fleet_load HOME JOBS EVENTS SECONDS [SESSIONS]

It writes as a keeper does, by the same code, and holds the claim on each log until it has recorded an end; and as the
hooks of a session do, each event with a secret.
"""

from __future__ import annotations

import sys
import time

from unhang.core import events as ev
from unhang.procs import clock
from unhang.store import layout
from unhang.store.event_log import EventLog
from unhang.store.session_log import SessionLog

SECRET = "in-the-input-of-a-tool"


def main(home: str, jobs: int, events: int, seconds: float, sessions: int = 0) -> None:
    logs = [EventLog(layout.create(home).events, clock.now, begin=True) for _ in range(jobs)]
    streams = [SessionLog(f"session-{number}", home) for number in range(sessions)]
    for log in logs:
        log.append(ev.started(1, "load", {}))
    begun = time.monotonic()
    for at in range(events - 2):
        for log in logs:
            log.append(ev.heartbeat(f"{at} " + "x" * 100))
        for stream in streams:
            tool = {"toolInput": {"command": f"make {at}", "token": SECRET}}
            stream.append({"type": "hook", "phase": "tool", "message": f"Bash: TOKEN={SECRET} make {at}"} | tool)
        time.sleep(max(0.0, begun + seconds * (at + 1) / events - time.monotonic()))
    for log in logs:
        log.append_last(ev.exited("completed", "done", {"status": "success", "exitCode": 0}))
        log.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), *map(int, sys.argv[5:]))
