"""unhang's version, for handshakes."""

from __future__ import annotations

import importlib.metadata


def version() -> str:
    """Return the installed version. It is not read from `unhang`, which offers `jobs`: no driver may import that."""
    try:
        return importlib.metadata.version("unhang")
    except importlib.metadata.PackageNotFoundError:
        return "0"
