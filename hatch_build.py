"""Makes the man pages when unhang is built, so that every way to install it brings them along (share/man/man1)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface[Any]):
    """A hook of hatchling's: writes the man pages and adds them to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write the man pages from the parsers of this very source."""
        root = Path(self.root)
        sys.path[:0] = [str(root / "src"), str(root / "scripts")]
        import cli_docs

        folder = root / "build" / "man"
        cli_docs.write_man_pages(folder)
        for page in sorted(folder.glob("*.1")):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"
