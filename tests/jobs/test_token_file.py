"""The token of a local server: one for all that start at once, whole or not there, and for its user alone."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from unhang.errors import StateError
from unhang.jobs.token_file import read_or_make

ASK = "import sys; from unhang.jobs.token_file import read_or_make; sys.stdin.read(); print(read_or_make(sys.argv[1]))"


def test_servers_that_start_at_once_have_one_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    begin, go = os.pipe()
    command = [sys.executable, "-c", ASK, str(path)]
    asking = [subprocess.Popen(command, stdin=begin, stdout=subprocess.PIPE) for _ in range(8)]
    os.close(begin)
    os.close(go)  # all of them read their end at once
    said = {process.communicate(timeout=60)[0] for process in asking}
    assert [process.returncode for process in asking] == [0] * 8
    assert said == {path.read_bytes()}
    assert os.listdir(tmp_path) == ["token"]


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_a_token_is_for_its_user_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "token"
    before = os.umask(umask)
    try:
        token = read_or_make(str(path))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_or_make(str(path)) == token
    assert len(token) >= 43


def test_a_token_for_which_the_disk_had_no_room_is_not_there_and_the_next_start_makes_one(tmp_path: Path) -> None:
    path = tmp_path / "token"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))  # room for a part of it
    try:
        with pytest.raises(StateError):
            read_or_make(str(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []
    assert read_or_make(str(path))


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "open to others", "empty"])
def test_what_stands_there_and_is_no_private_token_is_refused(tmp_path: Path, kind: str) -> None:
    path, secret = tmp_path / "token", tmp_path / "elsewhere"
    match kind:
        case "link":
            path.symlink_to(secret)
        case "pipe":
            os.mkfifo(path, 0o600)
        case "folder":
            path.mkdir()
        case "open to others":
            path.write_text("a" * 43)
            path.chmod(0o640)
        case "empty":
            path.touch(0o600)
    with pytest.raises(StateError):
        read_or_make(str(path))
    assert not secret.exists()
