"""What goes through the proxy is what was said: by real agents once, as recorded, and by the real agents themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.acp import conversations
from tests.support.acp.editor import Editor
from tests.support.acp_agents import programs
from tests.support.fakes.acp_models import FakeModels
from tests.support.jobs import Jobs
from tests.support.places import SUPPORT

PLAYER = SUPPORT / "acp" / "player.py"


@pytest.fixture
def fake() -> Iterator[FakeModels]:
    with FakeModels() as fake:
        yield fake


def played(jobs: Jobs, name: str, seed: int, folder: Path, *between: str) -> tuple[bytes, bytes]:
    """One player on each side of `between` (nothing, or the proxy); what the editor and the agent have heard."""
    recording = str(conversations.FOLDER / f"{name}.ndjson")
    folder.mkdir()
    words = [sys.executable, str(PLAYER), recording]
    agent = [*between, *words, "agent", str(seed), str(folder / "agent")]
    pipe = subprocess.PIPE
    below = subprocess.Popen(agent, stdin=pipe, stdout=pipe, stderr=pipe, env=jobs.env)
    editor = [*words, "editor", str(seed), str(folder / "editor")]
    above = subprocess.Popen(editor, stdin=below.stdout, stdout=below.stdin, stderr=pipe, env=jobs.env)
    assert below.stdin is not None
    assert below.stdout is not None
    below.stdin.close()
    below.stdout.close()
    below.stdin = below.stdout = None
    try:
        assert (above.communicate(timeout=60)[1], above.returncode) == (b"", 0)
        assert (below.communicate(timeout=60)[1], below.returncode) == (b"", 0)
    finally:
        for process in (above, below):
            process.kill()
            process.communicate()
    return (folder / "editor").read_bytes(), (folder / "agent").read_bytes()


def test_there_are_recordings_of_every_real_agent() -> None:
    assert conversations.names() == sorted(programs.NAMES)
    for name in conversations.names():
        assert {said.who for said in conversations.recorded(name)} == {"editor", "agent"}
        assert len(conversations.recorded(name)) > 20


@pytest.mark.parametrize("options", [(), ("--terminals",)], ids=["plain", "terminals"])
@pytest.mark.parametrize("name", conversations.names())
def test_a_recorded_conversation_is_the_same_with_and_without_the_proxy(
    jobs: Jobs, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    said = conversations.recorded(name)
    proxy = jobs.command("acp", "proxy", *options, "--")
    for seed in (0, 1, 2):
        direct = played(jobs, name, seed, tmp_path / f"direct-{seed}")
        through = played(jobs, name, seed, tmp_path / f"through-{seed}", *proxy)
        assert direct == tuple(b"".join(s.line for s in said if s.who == who) for who in ("agent", "editor"))
        if not options:
            assert through == direct
            continue
        # the one line that is changed, and nothing else
        assert through[0] == direct[0]
        ours, theirs = through[1].split(b"\n"), direct[1].split(b"\n")
        assert ours[1:] == theirs[1:]
        assert b'"terminal":true' in ours[0]
        assert ours[0] != theirs[0]


@pytest.mark.parametrize("name", programs.NAMES)
def test_an_editor_receives_from_a_real_agent_what_its_keeper_stored(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, name: str
) -> None:
    """A turn, a command, a cancelled turn; and the editor got, byte by byte, what the agent's keeper has read of it."""
    started = programs.start(name, tmp_path, fake)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    mine = {key: value for key, value in jobs.env.items() if key.startswith("UNHANG")}
    editor = Editor(jobs.command("acp", "proxy", "--", *started.argv), started.env | mine, workspace)
    try:
        conversations.talk(editor, fake)
        editor.close()
    finally:
        editor.drop()
        editor.process.kill()
        editor.process.wait()
    (place,) = jobs.jobs()
    job = jobs.handle(place.id)
    assert job.ended()
    received = b"".join(said.line for said in editor.transcript if said.who == "agent")
    assert received
    kept = (tmp_path / "home" / "jobs" / place.id / "stdout").read_bytes()
    assert len(kept) < 1 << 20, os.fspath(tmp_path)
    assert received == kept
