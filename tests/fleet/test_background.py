"""What goes to the background says in its log why it ended, also where its own code stumbled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.engine import wait_until

BROKEN = """
import sys
from unhang.fleet.background import in_background

def work(tell):
    tell("begun")
    raise KeyError("status")

sys.exit(in_background(sys.argv[1], work))
"""


def test_a_mistake_of_ours_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = subprocess.run([sys.executable, "-c", BROKEN, str(log)], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"begun\n", b"")
    wait_until(lambda: log.exists() and b"KeyError: 'status'" in log.read_bytes(), "the log says why it ended")
