"""Who we say we are."""

from __future__ import annotations

import importlib.metadata


def version() -> str:
    """The package itself cannot be asked, since it opens onto the faces."""
    try:
        return importlib.metadata.version("unhang")
    except importlib.metadata.PackageNotFoundError:
        return "0"
