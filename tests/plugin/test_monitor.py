"""The monitor of the plugin: what it says beside real jobs, and what the real Claude Code makes of it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.conftest import jobs, nothing_is_left
from tests.sessions.claude.conftest import desk, fake
from tests.support.claude_sessions.harness import PATIENCE, Desk
from tests.support.engine import wait_until
from tests.support.fakes.anthropic_messages import FakeAnthropic, Seen
from tests.support.jobs import STILL, Jobs
from tests.support.plugin.places import PLUGIN, with_unhang
from unhang.jobs.handle import Job
from unhang.store.layout import JobDir

__all__ = ["desk", "fake", "jobs", "nothing_is_left"]

ASKS = 'printf "Name? "; read x; echo "no such name: $x"; exit 3'


@pytest.fixture
def session(jobs: Jobs) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of Claude Code, whose children know of it by CLAUDE_PID."""
    process = subprocess.Popen(["sleep", "600"])
    jobs.env |= {"CLAUDE_PID": str(process.pid), "CLAUDE_CODE_SESSION_ID": "s1"}
    yield process
    process.kill()
    process.wait(30)


def test_it_tells_of_the_sessions_own_background_jobs_once_and_leaves_with_the_session(
    jobs: Jobs, session: subprocess.Popen[bytes]
) -> None:
    early = jobs.begin(*STILL, "--stdin", "pipe", "--shell", ASKS)
    monitor = jobs.popen("claude", "monitor")
    assert monitor.stdout is not None
    lines = iter(monitor.stdout.readline, b"")
    said = next(lines).decode()
    assert said.startswith(f"unhang: job {early.id} (")
    assert f'needs input: "Name?". Answer: unhang send {early.id} ANSWER' in said
    own = dict(jobs.env)
    jobs.env |= {"CLAUDE_PID": "1", "CLAUDE_CODE_SESSION_ID": "s2"}
    jobs.begin("--", "false")  # of another session
    jobs.env |= own
    assert jobs.call("run", "--", "false").code == 1  # in the foreground: its caller has seen it
    monitor.send_signal(signal.SIGSTOP)  # it gives others two seconds to tell the session; a busy machine needs more
    waited = jobs.begin("--", "sh", "-c", "exit 5")
    assert jobs.call("wait", waited.id).code == 5  # the session knows of it
    monitor.send_signal(signal.SIGCONT)
    early.send("Ada\n")
    said = next(lines).decode()
    assert f"job {early.id}" in said
    assert "finished with 3" in said
    assert 'Its last lines: "Name? no such name: Ada"' in said
    stuck = jobs.begin(*STILL, "--stall", "4", "--name", "nap", "--", "sleep", "infinity")
    said = next(lines).decode()
    assert f'job {stuck.id} ("nap") is stuck: ' in said
    stall = next(event for event in stuck.events() if event["phase"] == "stuck")
    assert ('is stuck: "' in said) == ("diagnosis" in stall), "the reason, where one was known then"
    stuck.cancel()
    assert "was cancelled" in next(lines).decode()
    session.kill()
    session.wait(30)
    assert list(lines) == []
    assert monitor.wait(30) == 0


def test_outside_of_a_session_it_says_so(jobs: Jobs) -> None:
    jobs.env.pop("CLAUDE_PID", None)
    done = jobs.call("claude", "monitor")
    assert (done.code, b"CLAUDE_PID" in done.err) == (2, True)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_real_claude_is_told_of_its_jobs_in_its_own_context(
    desk: Desk, fake: FakeAnthropic, tmp_path: Path
) -> None:
    desk.env["PATH"] = with_unhang(tmp_path / "bin")
    desk.configure(ours=())
    claude = desk.claude("--plugin-dir", str(PLUGIN), "--allowed-tools", "mcp__plugin_unhang_unhang")
    claude.ask(f"fake: bash unhang start --idle off --hard 200 --stdin pipe --shell '{ASKS}'")
    told(fake, 'needs input: "Name?"')  # by a turn that no person has begun
    (name,) = names(desk)
    Job(JobDir(str(desk.home), name)).send("Ada\n")
    seen = told(fake, f"job {name}", "finished with 3", "no such name: Ada")
    assert "task-notification" in seen.text
    # a job that its server was asked for is the session's, too
    claude.wait_status("shell")
    call = {"command": "read x; exit 4", "interactive": True, "idleTimeoutMs": 200_000}
    claude.ask(f"fake: tool mcp__plugin_unhang_unhang__start {json.dumps(call)}")
    (other,) = wait_until(lambda: names(desk) - {name}, "the server has started it", PATIENCE)
    job = Job(JobDir(str(desk.home), other))
    fake.wait_for(lambda seen: other in seen.result, "which has been told that it runs", PATIENCE)
    assert job.spec["claude"]["pid"]
    job.send("x\n")
    told(fake, f"job {other}", "finished with 4")
    # and the watcher of sessions knows a free prompt from a hang, though a monitor runs beside both
    claude.wait_status("shell")
    watcher = desk.watch()
    claude.ask("fake: hang")
    watcher.wait("recovered")
    assert watcher.steps() == ["escape"]
    claude.wait_status("shell")


def names(desk: Desk) -> set[str]:
    return {path.name for path in (desk.home / "jobs").iterdir()}


def told(fake: FakeAnthropic, *words: str) -> Seen:
    return fake.wait_for(lambda seen: all(word in seen.text for word in words), f"with {words}", PATIENCE * 2)
