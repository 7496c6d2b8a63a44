"""What holds for all tests, and what `make test-fast` leaves out."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import loopback
from tests.support.places import TESTS

# Left out by --fast, as the tests marked `slow` are: whatever needs programs from npm, package managers, other shells,
# a second kernel, a server of its own for every test, dozens of commands for every test, long waits, or thousands of
# examples. Folders and files below tests/.
NOT_FAST = (
    "acp/test_hung_keeper.py",
    "acp/test_kimi.py",
    "acp/test_over_the_wire.py",
    "acp/test_proxy.py",
    "acp/test_proxy_agents.py",
    "acp/test_proxy_ends.py",
    "acp/test_recovery.py",
    "acp/test_seed_list.py",
    "acp/test_transparency.py",
    "agents/acp/test_adapter.py",
    "agents/acp/test_cli.py",
    "agents/acp/test_hangs.py",
    "agents/acp/test_oddities.py",
    "agents/acp/test_schema.py",
    "agents/acp/test_turns.py",
    "agents/claude/test_hangs.py",
    "agents/claude/test_turns.py",
    "agents/codex/test_approvals.py",
    "agents/codex/test_around.py",
    "agents/codex/test_compaction.py",
    "agents/codex/test_exec.py",
    "agents/codex/test_failures.py",
    "agents/codex/test_hangs.py",
    "agents/codex/test_mcp.py",
    "agents/codex/test_reader.py",
    "agents/codex/test_schema.py",
    "agents/codex/test_turns.py",
    "agents/codex/test_versions.py",
    "agents/test_default_limits.py",
    "agents/test_odd_messages.py",
    "alerts",
    "core/diagnosis/test_rules.py",
    "core/test_mask.py",
    "core/test_values.py",
    "core/test_watchdog_machine.py",
    "docs/test_code_blocks.py",
    "docs/test_man_pages.py",
    "docs/test_tutorial.py",
    "faces/agreement",
    "faces/cli/test_as_without.py",
    "faces/cli/test_at_a_terminal.py",
    "faces/cli/test_ci.py",
    "faces/cli/test_completion.py",
    "faces/cli/test_diagnose_command.py",
    "faces/cli/test_far_programs.py",
    "faces/cli/test_progress_bars.py",
    "faces/cli/test_wait_live.py",
    "faces/mcp",
    "faces/top",
    "faces/web",
    "fleet",
    "installers",
    "jobs/test_control.py",
    "jobs/test_crowd.py",
    "jobs/test_cursors.py",
    "jobs/test_elsewhere.py",
    "jobs/test_forged_output.py",
    "jobs/test_full_disk.py",
    "jobs/test_hung_keeper.py",
    "jobs/test_index.py",
    "jobs/test_killed_keeper.py",
    "jobs/test_killed_others.py",
    "jobs/test_lease.py",
    "jobs/test_library.py",
    "jobs/test_masking.py",
    "jobs/test_metrics.py",
    "jobs/test_needs.py",
    "jobs/test_newer_format.py",
    "jobs/test_odd_records.py",
    "jobs/test_on_a_terminal.py",
    "jobs/test_outlook.py",
    "jobs/test_output_rows.py",
    "jobs/test_positions.py",
    "jobs/test_private.py",
    "jobs/test_python_face.py",
    "jobs/test_retention.py",
    "jobs/test_run_from_python.py",
    "jobs/test_several.py",
    "jobs/test_thousand.py",
    "jobs/test_torn_log.py",
    "jobs/test_trust.py",
    "keeper/test_agent_channel_at_exit.py",
    "keeper/test_deaths.py",
    "keeper/test_escapes.py",
    "keeper/test_heartbeats.py",
    "keeper/test_outcomes.py",
    "keeper/test_output.py",
    "keeper/test_portable.py",
    "keeper/test_request_fuzz.py",
    "keeper/test_scarce_resources.py",
    "keeper/test_surroundings.py",
    "keeper/test_unseen_trees.py",
    "keeper/watchdog",
    "outside",
    "plugin",
    "second_kernel",
    "sessions/claude",
    "sessions/test_neighbours.py",
    "sessions/test_odd_files.py",
    "sessions/test_questions.py",
    "sessions/test_session_promises.py",
    "sessions/test_stopped.py",
    "sessions/test_vital_signs.py",
    "sessions/test_watcher.py",
    "store/test_history.py",
    "store/test_output_after_a_cut.py",
    "telemetry",
    "zoo",
)


# Where the tests run in CI, the jobs in them do not: unhang would write annotations.
for _variable in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITLAB_CI"):
    os.environ.pop(_variable, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only what needs no npm programs and no long waits")


ALONE = pytest.StashKey[bool]()


def pytest_report_header(config: pytest.Config) -> str:
    return f"network: {'loopback alone' if config.stash[ALONE] else 'the whole machine (an own one needs root)'}"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ALONE] = loopback.enter()
    # A shell starts its background commands with these ignored, as nohup does, and what we start would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.environ.pop("PYTHONUNBUFFERED", None)  # one print is one write, whoever runs the tests
    # On a machine under load a property takes as long as it takes; the test's own timeout is the limit.
    settings.register_profile("unhang", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("fast", settings.get_profile("unhang"), max_examples=10)
    settings.load_profile("fast" if config.getoption("--fast") else "unhang")


@pytest.fixture(autouse=True)
def no_fork_server_is_left() -> Iterator[None]:
    """A test's fork server ends with it: the tests after it count theirs, and wait for all of them."""
    yield
    if "unhang.jobs.start" in sys.modules:
        from tests.support.fork_servers import end_fork_server  # only here: most tests start no job from Python

        end_fork_server()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--fast") and collection_path in {TESTS / name for name in NOT_FAST}:
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--fast"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
