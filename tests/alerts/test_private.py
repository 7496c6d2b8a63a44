"""What is kept of alerts is for this user alone, with any umask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.test_private import open_to_others
from tests.support.alerts import Receiver, deliverers, rules
from tests.support.jobs import Jobs, wait_until


@pytest.mark.parametrize("umask", [0o000, 0o777], ids=oct)
def test_what_is_kept_of_alerts_is_for_this_user_alone(
    jobs: Jobs, alerts: Path, receiver: Receiver, umask: int
) -> None:
    alerts.write_text(rules(receiver.url, "failed"))
    assert jobs.call("run", "--", "false", umask=umask).code == 1
    wait_until(lambda: receiver.kinds() == [["failed"]], "it is told")
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver")
    assert (jobs.home / "alerts" / "state.json").exists()
    assert open_to_others(jobs.home) == {}
