"""The file of credentials: read through a link, and never waited for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from unhang.errors import UsageError
from unhang.fleet.users import read_credentials


def test_credentials_are_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(json.dumps({"user": "viewer-ann", "seed": "SU"}))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert read_credentials(str(tmp_path / "link")).user == "viewer-ann"


def test_a_pipe_or_a_folder_in_place_of_credentials_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", ".", "missing"):
        with pytest.raises(UsageError, match="--creds"):
            read_credentials(str(tmp_path / name))
