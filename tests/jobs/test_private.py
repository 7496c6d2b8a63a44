"""No other user can read what is kept: not with any umask, and not where the directory was made by hand."""

from __future__ import annotations

import os
import stat as modes
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jobs import STILL, Jobs, actor, over
from unhang.errors import StateError
from unhang.store import home as homes
from unhang.testing.liveness import RollCall


def open_to_others(home: Path) -> dict[str, str]:
    """Everything below that is not 0700 (a directory) or 0600 (anything else) → its mode."""
    found: dict[str, str] = {}
    for path in (home, *home.rglob("*")):
        status = path.lstat()
        wanted = 0o700 if modes.S_ISDIR(status.st_mode) else 0o600
        if modes.S_IMODE(status.st_mode) != wanted:
            found[str(path.relative_to(home))] = oct(modes.S_IMODE(status.st_mode))
    return found


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777], ids=oct)
def test_every_file_is_for_this_user_alone_whatever_the_umask(jobs: Jobs, umask: int, roll: RollCall) -> None:
    jobs.home = jobs.folder / "parent" / "home"
    jobs.env["UNHANG_HOME"] = str(jobs.home)
    job = jobs.begin(*STILL, "--", *actor("obedient", roll.path), umask=umask)
    roll.wait_for("leader")
    assert open_to_others(jobs.home) == {}, "its socket included"
    assert jobs.call("cancel", job.id, umask=umask).code == 0
    for _ in range(11):  # long enough a history to be learnt from
        assert jobs.call("run", "--", "true", umask=umask).code == 0
    for words in (("ps", "--all"), ("history",), ("gc",), ("doctor",)):
        assert jobs.call(*words, umask=umask).code == 0
    hook = b'{"session_id": "0123-4567", "hook_event_name": "Stop"}'
    said = jobs.popen("hook", umask=umask, stdin=subprocess.PIPE)
    said.communicate(hook, timeout=60)
    names = {path.name for path in jobs.home.rglob("*")}
    assert {"index.db", "maintained", "job.json", "events.ndjson", "stdout", "profiles"} <= names
    assert open_to_others(jobs.home) == {}
    assert modes.S_IMODE((jobs.folder / "parent").stat().st_mode) == 0o700


@pytest.mark.parametrize("umask", [0o000, 0o777], ids=oct)
def test_the_files_of_a_database_that_is_open_are_for_this_user_alone(tmp_path: Path, umask: int) -> None:
    """-wal and -shm are there while it is open; a file that was made by an older version is closed to others."""
    code = f"""
import os, sys
os.umask({umask})
from unhang.store import history, index
open(sys.argv[1], "w").close() if {umask} == 0 else None
with index.Index(sys.argv[1]) as held:
    held.refresh([], lambda job: None)
    print(*(oct(os.stat(sys.argv[1] + end).st_mode & 0o777) for end in ("", "-wal", "-shm")))
"""
    words = [sys.executable, "-c", code, str(tmp_path / "index.db")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == ["0o600"] * 3


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
@pytest.mark.parametrize("folder", [".", "jobs"])
def test_a_directory_that_others_may_read_is_closed_to_them(jobs: Jobs, mode: int, folder: str) -> None:
    jobs.home.mkdir(mode=0o700)
    (jobs.home / folder).mkdir(exist_ok=True)
    (jobs.home / folder).chmod(mode)
    job = over(jobs.begin("--", "echo", "secret"))
    assert open_to_others(jobs.home) == {}
    for words in (("ps",), ("status", job.id), ("gc",)):
        (jobs.home / folder).chmod(mode)
        assert jobs.call(*words).code == 0
        assert open_to_others(jobs.home) == {}


def test_a_directory_that_cannot_be_closed_to_others_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)

    def refuse(_fd: int, _mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    with pytest.raises(StateError, match="others may read"):
        homes.trust(str(folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: to read as another user needs root")
def test_another_user_reads_nothing_of_a_directory_that_was_made_by_hand(jobs: Jobs, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    jobs.home.mkdir(mode=0o755)
    jobs.home.chmod(0o755)
    over(jobs.begin("--", "echo", "secret"))
    assert jobs.call("ps", "--all").code == 0
    look = "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); os.listdir(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", look, "home"], capture_output=True, cwd=tmp_path, check=False)
    assert b"PermissionError" in done.stderr
