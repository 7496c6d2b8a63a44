"""`fs/*`: plain files below the directory, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from unhang.agents.acp.files import Files
from unhang.agents.acp.protocol.requests import request_of


def serve(files: Files, method: str, **params: Any) -> Any:
    request = request_of({"id": 1, "method": f"fs/{method}_text_file", "params": params})
    assert request is not None
    reply = files.serve(request)
    return reply["result"] if "result" in reply else reply["error"]["code"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "secret").write_text("secret")
    return place


def test_a_file_is_read_whole_or_by_lines_where_that_is_allowed(root: Path) -> None:
    files = Files(str(root), "read")
    path = str(root / "a.txt")
    assert serve(files, "read", path=path) == {"content": "one\ntwo\nthree\n"}
    assert serve(files, "read", path=path, line=2, limit=1) == {"content": "two\n"}
    assert serve(files, "read", path=path, line=99) == {"content": ""}
    assert serve(files, "read", path=str(root / "none")) == -32002
    assert serve(files, "write", path=path, content="x") == -32601
    assert serve(Files(str(root), "none"), "read", path=path) == -32601


def test_a_file_is_written_where_that_is_allowed(root: Path) -> None:
    files = Files(str(root), "write")
    assert serve(files, "write", path=str(root / "new" / "b.txt"), content="ä") == {}
    assert (root / "new" / "b.txt").read_text() == "ä"
    assert serve(files, "write", path=str(root / "a.txt"), content="") == {}
    assert (root / "a.txt").read_text() == ""
    assert serve(files, "write", path=str(root / "a.txt"), content=7) == -32602


@pytest.mark.parametrize(
    "path", ["a.txt", "", None, 7, "/etc/passwd", "{root}/../secret", "{root}x/a", "{root}/link", "/"]
)
def test_a_path_outside_of_the_directory_is_refused(root: Path, path: Any) -> None:
    (root / "link").symlink_to(root.parent / "secret")
    given = path.format(root=root) if isinstance(path, str) else path
    for method in ("read", "write"):
        assert serve(Files(str(root), "write"), method, path=given, content="x") == -32602
    assert (root.parent / "secret").read_text() == "secret"


def test_a_pipe_is_no_file_and_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe")
    files = Files(str(root), "write")
    assert serve(files, "read", path=str(root / "pipe")) == -32603
    assert serve(files, "write", path=str(root / "pipe"), content="x") == -32603
    assert serve(files, "read", path=str(root)) == -32603
