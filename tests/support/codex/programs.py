"""The real Codex, two versions of it, as scripts/test-programs installs them. A missing one is skipped, loudly."""

from __future__ import annotations

import os

import pytest

from tests.support.places import ROOT

MODULES = ROOT / ".cache" / "npm" / "tests" / "node_modules"
NEWEST, OLDER = "@openai/codex", "codex-older"
_BINARY = "vendor/x86_64-unknown-linux-musl/bin/codex"


def _missing(what: str) -> str:
    reason = f"{what} is not installed: run scripts/test-programs (npm and a network are needed)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def native(package: str = NEWEST) -> str:
    """The program itself; it needs no node."""
    beside = MODULES / "@openai" / "codex-linux-x64" / _BINARY
    within = MODULES / package / "node_modules" / "@openai" / "codex-linux-x64" / _BINARY
    for found in (within, beside) if package == OLDER else (beside, within):
        if found.is_file() and (package == NEWEST or found == within):
            return str(found)
    return _missing(package)


def wrapper() -> str:
    """What people have on their PATH: a node script that starts the program."""
    found = MODULES / ".bin" / "codex"
    return str(found) if found.exists() else _missing("codex (the node wrapper)")
