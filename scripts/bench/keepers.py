"""Stand-ins for the keepers of many jobs: one process each, which answers at the socket of its job as a keeper does.

`python keepers.py STATE COUNT` makes the directories of that many jobs and prints the pid of the keeper of each. They
end when its stdin does.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from pathlib import Path

# The idle limit of every job.
IDLE_MS = 600_000
_ANSWER = b'{"ok": true, "pid": %d, "phase": "running", "idleMs": %d, "endsInMs": %d, "endsBy": "idle"}\n'


def job_folder(state: Path, number: int) -> Path:
    """Where the job of this number is."""
    return state / "jobs" / f"{number:010d}"


def main() -> None:
    """Fork one keeper after the other, then wait for the end of stdin."""
    state = Path(sys.argv[1])
    for number in range(int(sys.argv[2])):
        folder = job_folder(state, number)
        folder.mkdir(mode=0o700, parents=True)
        os.chdir(folder)  # the name of a socket is short
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("control")
            listening.listen()
            pid = os.fork()
            if pid == 0:
                _keep(listening)
        print(pid)
    sys.stdout.flush()
    os.close(1)
    sys.stdin.buffer.read()


def _keep(listening: socket.socket) -> None:
    os.close(1)  # who reads the pids waits for its end
    poll = select.poll()
    poll.register(0, 0)  # nothing is read: its end is a hang-up
    poll.register(listening, select.POLLIN)
    while all(fd != 0 for fd, _ in poll.poll()):
        line, _ = listening.accept()
        with line:
            if line.recv(1 << 16):
                line.sendall(_ANSWER % (os.getpid(), silent := _silent_ms(), IDLE_MS - silent))
    os._exit(0)


def _silent_ms() -> int:
    """A keeper counts from the last event, as a reader of the log does."""
    return round((time.time() - os.stat("events.ndjson").st_mtime) * 1000)


if __name__ == "__main__":
    main()
