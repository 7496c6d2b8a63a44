"""Measures the like of what docs/comparison.md says: commands under timeout, nohup and unhang, on this machine.

    python scripts/compare.py       a table in Markdown; takes some two minutes

Each command is run with a limit of 4 s, and its output is read through a pipe, as a script or a CI runner does. Counted
are the seconds until the caller has the end of the output, and the processes that are left two seconds later (those
that carry a mark in their environment; they are then ended by pid).
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

LIMIT = 4
PATIENCE = 20.0
TREE = "for i in 1 2 3 4 5; do setsid sh -c 'trap \"\" TERM; sleep 120 & sleep 121' & done; wait"
CASES = {
    "a sleep below a shell": "echo begun; sleep 120; echo never",
    "a loop that ignores SIGTERM": "trap '' TERM; echo begun; while :; do sleep 1; done",
    "`setsid sleep 120 & echo done`": "setsid sleep 120 & echo done",
    "15 processes in sessions of their own that ignore SIGTERM": TREE,
}
TOOLS = {
    "timeout -k 2": ["timeout", "-k", "2", str(LIMIT), "sh", "-c"],
    "nohup timeout -k 2": ["nohup", "timeout", "-k", "2", str(LIMIT), "sh", "-c"],
    "unhang run": [
        sys.executable,
        "-m",
        "unhang",
        "run",
        "--quiet",
        "--hard",
        str(LIMIT),
        "--idle",
        "off",
        "--grace",
        "2s",
        "--shell",
    ],
}


def marked(mark: str) -> list[int]:
    """The processes that carry the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def measure(words: list[str], env: dict[str, str]) -> str:
    """One run: seconds until the end of the output, and what is left."""
    mark = uuid.uuid4().hex
    began = time.monotonic()
    process = subprocess.Popen(
        words,
        env=env | {"COMPARE_MARK": mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        process.communicate(timeout=PATIENCE)
        seconds = f"{time.monotonic() - began:.1f} s"
    except subprocess.TimeoutExpired:
        seconds = f"no end in {PATIENCE:g} s"
    time.sleep(2)
    left = marked(mark)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    return f"{seconds}, {len(left)} left"


def quick(words: list[str], env: dict[str, str]) -> str:
    """The median of twenty short commands."""
    times = []
    for _ in range(20):
        began = time.monotonic()
        subprocess.run([*words, "echo x"], env=env, capture_output=True, check=True)
        times.append(time.monotonic() - began)
    return f"{statistics.median(times) * 1000:.0f} ms"


def main() -> int:
    print("| |", " | ".join(TOOLS), "|")
    print("|---" * (len(TOOLS) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"UNHANG_HOME": f"{folder}/state"}
        for name, line in CASES.items():
            print(f"| {name} |", " | ".join(measure([*words, line], env) for words in TOOLS.values()), "|", flush=True)
        print("| `echo x`, median of 20 |", " | ".join(quick(words, env) for words in TOOLS.values()), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
