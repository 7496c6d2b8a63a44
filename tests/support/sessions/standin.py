"""Stands in for Claude Code in a pane, where the real one cannot be made to do it: draws its prompt, notes every key.

    python standin.py CONFIG SESSION KEYS [deaf]

It keeps its own status file in CONFIG, busy from the start; Escape makes it idle, unless it is deaf. SIGHUP does not
end it: a terminal that is gone is one of the cases. Five minutes do, whatever became of its test.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import tty

SCREEN = (
    "\x1b[2J\x1b[H● Fetch(http://example)\r\n\r\n· Shimmying… (5s · ↓ 16 tokens)\r\n"
    + "─" * 40
    + "\r\n❯ \r\n"
    + "─" * 40
    + "\r\n  ⏸ manual mode on · esc to interrupt"
)


def main() -> None:
    config, session, keys = sys.argv[1:4]
    with open("/proc/self/stat", "rb") as file:
        start = file.read().rpartition(b")")[2].split()[19].decode()
    born = round(time.time() * 1000)

    def status(word: str) -> None:
        stamp = round(time.time() * 1000)
        value = {"pid": os.getpid(), "sessionId": session, "cwd": "/", "startedAt": born, "procStart": start}
        value |= {"kind": "interactive", "entrypoint": "cli", "status": word, "statusUpdatedAt": stamp}
        with open(f"{config}/sessions/{os.getpid()}.json", "w", encoding="utf-8") as file:
            json.dump(value, file)

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.alarm(300)
    tty.setraw(0)
    os.write(1, SCREEN.encode())
    status("busy")
    while True:
        try:
            data = os.read(0, 1024)
        except OSError:
            data = b""
        if not data:
            signal.pause()  # no terminal any more
        with open(keys, "ab") as log:
            log.write(data)
        if data == b"\x1b" and "deaf" not in sys.argv[4:]:
            status("idle")


if __name__ == "__main__":
    main()
