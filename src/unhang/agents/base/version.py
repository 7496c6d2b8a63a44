"""unhang's version, for handshakes."""

from __future__ import annotations

import importlib.metadata


def version() -> str:
    """The version that is installed. (The package itself cannot be asked: it imports the faces.)"""
    try:
        return importlib.metadata.version("unhang")
    except importlib.metadata.PackageNotFoundError:
        return "0"
