"""The adapter knows everything that the real program says it may send."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import programs
from unhang.agents.codex.protocol import items as codex_items
from unhang.agents.codex.protocol import requests
from unhang.agents.codex.protocol.thread import METHODS


def schema_of(program: str, folder: Path, name: str) -> dict[str, Any]:
    words = [program, "app-server", "generate-json-schema", "--experimental", "--out", str(folder)]
    env = {"HOME": str(folder), "CODEX_HOME": str(folder), "PATH": "/usr/bin:/bin"}
    subprocess.run(words, check=True, timeout=60, env=env, capture_output=True)
    found = json.loads((folder / name).read_text())
    assert isinstance(found, dict)
    return found


def methods(schema: dict[str, Any]) -> set[str]:
    return {variant["properties"]["method"]["enum"][0] for variant in schema["oneOf"]}


@pytest.mark.parametrize("program", [programs.CODEX, programs.CODEX_OLDER], ids=["newest", "older"])
def test_every_notification_and_item_of_the_schema_is_known(program: Path, tmp_path: Path) -> None:
    schema = schema_of(programs.path_of(program), tmp_path, "ServerNotification.json")
    assert methods(schema) - METHODS == set()
    items = {variant["properties"]["type"]["enum"][0] for variant in schema["definitions"]["ThreadItem"]["oneOf"]}
    assert items - codex_items.TYPES == set()
    assert len(methods(schema)) > 60


@pytest.mark.parametrize("program", [programs.CODEX, programs.CODEX_OLDER], ids=["newest", "older"])
def test_every_request_of_the_schema_is_known(program: Path, tmp_path: Path) -> None:
    schema = schema_of(programs.path_of(program), tmp_path, "ServerRequest.json")
    assert methods(schema) - set(requests.METHODS) == set()
