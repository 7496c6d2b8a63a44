"""The first hook of a session starts the watcher, once, and takes nothing of the session with it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.cli.hooks import PAYLOAD, Hooks
from tests.support.engine import wait_until
from unhang.sessions.claude import hook_command


def fake_unhang(folder: Path) -> Path:
    """Stands for the interpreter: says how it was called, once."""
    said = folder / "called"
    script = folder / "python"
    script.write_text(
        f'#!/bin/sh\n{{ echo "$@"; pwd; env; ls -l /proc/self/fd; }} > {said}.new\nmv {said}.new {said}\n'
    )
    script.chmod(0o755)
    return said


def in_process(hooks: Hooks, folder: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    """`serve` in a child that takes our script for the interpreter."""
    monkeypatch.setattr(hook_command, "read", lambda _: (json.dumps(PAYLOAD).encode(), b""))
    pid = os.fork()
    if not pid:
        try:
            os.environ.clear()
            os.environ.update(hooks.env | {"TMUX_PANE": "%1"} | more)
            sys.executable = str(folder / "python")
            leaked = os.open("/dev/zero", os.O_RDONLY)
            os.set_inheritable(leaked, True)
            os._exit(hook_command.serve())
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_it_starts_a_watcher_that_takes_over_nothing_of_the_session(
    hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = fake_unhang(tmp_path)
    keys = {"ANTHROPIC_API_KEY": "sk", "CLAUDE_CONFIG_DIR": "/c", "TMUX": "t", "CLAUDECODE": "1"}
    in_process(hooks, tmp_path, monkeypatch, **keys)
    wait_until(said.exists, "the watcher is started")
    words, cwd, *rest = said.read_text().splitlines()
    assert words.startswith("-I -c ")
    assert words.endswith("main() watch --background")
    assert cwd == "/"
    names = {line.partition("=")[0] for line in rest}
    assert "UNHANG_HOME" in names
    assert not [name for name in names if name.startswith(("ANTHROPIC", "CLAUDE", "TMUX"))]
    assert "/dev/zero" not in "\n".join(rest)


def test_it_does_not_try_again_at_every_hook(hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = fake_unhang(tmp_path)
    in_process(hooks, tmp_path, monkeypatch)
    wait_until(said.exists, "the watcher is started")
    said.unlink()
    stamp = hooks.home / "watch" / "asked"
    asked = stamp.stat().st_mtime_ns
    in_process(hooks, tmp_path, monkeypatch)
    assert stamp.stat().st_mtime_ns == asked
    os.utime(stamp, (0, 0))
    in_process(hooks, tmp_path, monkeypatch)
    wait_until(said.exists, "a later try")


NOT_WANTED = {
    "switched-off": {"UNHANG_WATCH": "off"},
    "no-pane": {"TMUX_PANE": ""},
    "headless": {"CLAUDE_CODE_SESSION_ATTENDED": "0"},
}


@pytest.mark.parametrize("more", NOT_WANTED.values(), ids=NOT_WANTED)
def test_it_starts_none_where_none_is_wanted(
    more: dict[str, str], hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_unhang(tmp_path)
    in_process(hooks, tmp_path, monkeypatch, **more)
    assert not (hooks.home / "watch").exists()


def test_it_starts_none_where_one_runs(hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    fake_unhang(tmp_path)
    folder = hooks.home / "watch"
    folder.mkdir(parents=True, mode=0o700)
    hooks.home.chmod(0o700)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        in_process(hooks, tmp_path, monkeypatch)
    assert not (folder / "asked").exists()
    shutil.rmtree(folder)
