"""`make demo`: a build that hangs for real, and what unhang makes of it. Takes about ten seconds.

The build prints, starts a helper in a session of its own that ignores SIGTERM, and then waits for a server that
accepts its connection and never answers. A plain timeout would end one process, leave the helper and explain nothing.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = """
import os, signal, socket, subprocess, sys, time
print("compiling 1/3 parser.c", flush=True)
print("compiling 2/3 server.c", flush=True)
helper = subprocess.Popen(
    [sys.executable, "-c", "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
     "open(os.environ['DEMO_PIDS'], 'a').write(f'{os.getpid()}\\\\n'); time.sleep(600)"],
    start_new_session=True,
)
open(os.environ["DEMO_PIDS"], "a").write(f"{os.getpid()}\\n")
print("fetching licence from 127.0.0.1 …", flush=True)
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
server.recv(1)
"""


def say(text: str) -> None:
    bold = "\x1b[1m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else ""
    print(f"\n{bold}{text}{chr(27) + '[0m' if bold else ''}", flush=True)


def unhang(*words: str) -> int:
    shown = " ".join(word if " " not in word and "\n" not in word else "…" for word in words)
    say(f"$ unhang {shown}")
    return subprocess.run([sys.executable, "-m", "unhang", *words], check=False).returncode


def alive(pid: int) -> bool:
    """The kernel's word: a pidfd of a living process is not readable."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        return not select.select([fd], [], [], 0)[0]
    finally:
        os.close(fd)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as silent:
        os.environ["UNHANG_HOME"] = f"{folder}/state"
        os.environ["DEMO_PIDS"] = f"{folder}/pids"
        build = Path(folder, "build.py")
        build.write_text(BUILD)
        port = str(silent.getsockname()[1])
        say("A build that will hang: its server never answers, and a helper of it ignores SIGTERM.")
        limits = ["--stall", "2", "--idle", "5", "--warn", "2", "--grace", "1.5"]
        code = unhang("run", *limits, "--", sys.executable, str(build), port)
        say(f"exit code {code} (124 is a timeout, as with coreutils' timeout)")
        pids = [int(line) for line in Path(folder, "pids").read_text().split()]
        left = [pid for pid in pids if alive(pid)]
        say(f"Of its processes {pids}, still alive: {left or 'none'}")
        say("What it had printed is kept, and everything that happened can be read again:")
        unhang("logs", "@last")
        unhang("events", "@last")
        return 0 if code == 124 and not left else 1


if __name__ == "__main__":
    sys.exit(main())
