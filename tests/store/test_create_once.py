"""A file that is made once is whole or not there, whatever the file system can do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from unhang.errors import StateError
from unhang.store import files

WITHOUT_LINKS = [errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS]


def refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def link(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)


@pytest.mark.parametrize("number", [0, *WITHOUT_LINKS])
def test_a_file_is_made_once_also_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    if number:
        refuse(monkeypatch, number)
    path = tmp_path / "token"
    assert files.create_once(str(path), b"first")
    assert not files.create_once(str(path), b"second")
    assert path.read_bytes() == b"first"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["token"]


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="no room"):
        files.create_once(str(tmp_path / "token"), b"first")
    assert os.listdir(tmp_path) == []


def test_what_a_link_points_to_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, errno.EPERM)
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    try:
        assert not files.create_once(str(tmp_path / "token"), b"first")
    except StateError:
        pass
    assert os.listdir(tmp_path) == ["token"]
