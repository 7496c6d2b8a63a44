"""unhang's version, for handshakes."""

from __future__ import annotations

import importlib.metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.values import Message


def client_info() -> Message:
    """Return how unhang introduces itself to an agent."""
    return {"name": "unhang", "title": "unhang", "version": version()}


def version() -> str:
    """Return the installed version. It is not read from `unhang`, which offers `jobs`: no driver may import that."""
    try:
        return importlib.metadata.version("unhang")
    except importlib.metadata.PackageNotFoundError:
        return "0"
