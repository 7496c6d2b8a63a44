"""unhang's version, for handshakes."""

from __future__ import annotations

import importlib.metadata


def version() -> str:
    """Return the installed version; read from the metadata, because the package itself imports the faces."""
    try:
        return importlib.metadata.version("unhang")
    except importlib.metadata.PackageNotFoundError:
        return "0"
