"""A deliverer that finds nothing more to do leaves no news behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# The last job ends, and leaves its mark, while the deliverer asks whether jobs run.
ENDS_MEANWHILE = """
import sys
from unhang.alerts import deliverer
from unhang.store import alert_news

home, turns = sys.argv[1], []

class Deliverer:
    def __init__(self, home): ...
    def run(self):
        turns.append(alert_news.marks(home))
        for each in turns[-1]:
            alert_news.take(home, each)
        alert_news.drop_taken(home)

def may_bring_news(home):
    if len(turns) == 1:
        alert_news.mark(home, "ended")
    return False

deliverer._Deliverer, deliverer._may_bring_news = Deliverer, may_bring_news
assert deliverer.deliver(home) == 0
sys.exit(0 if turns == [[], ["ended"]] else 3)
"""


def test_a_mark_that_is_left_while_it_asks_for_jobs_is_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(0o700)
    done = subprocess.run([sys.executable, "-c", ENDS_MEANWHILE, str(home)], check=False, timeout=100)
    assert done.returncode == 0
