"""`fs/*` for an agent that was allowed to use it: text files below the working directory, and nothing else.

A name is followed to the end before it is judged, and only plain files are opened: a pipe would never answer.
"""

from __future__ import annotations

import os
import stat

from unhang.agents.acp.plan import FS_NONE, FS_WRITE
from unhang.agents.acp.protocol.requests import READ, AcpRequest
from unhang.agents.base.jsonrpc import Message
from unhang.agents.base.jsonrpc_message import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from unhang.core.values import integer_of, text_of

_LARGEST = 16 << 20
_LONGEST_PATH = 4096  # of the kernel's


class Files:
    """Serves `fs/*` requests below `root`, as far as `allowed` (none, read, write) goes."""

    def __init__(self, root: str, allowed: str) -> None:
        self._root = os.path.realpath(root)
        self._allowed = allowed

    def serve(self, request: AcpRequest) -> Message:
        """Return the whole reply, ready to be sent."""
        reads = request.method == READ
        if self._allowed == FS_NONE or (not reads and self._allowed != FS_WRITE):
            return request.error(METHOD_NOT_FOUND, f"unhang does not serve {request.method} (see --fs)")
        given = text_of(request.params, "path", most=_LONGEST_PATH + 1)
        if not os.path.isabs(given) or not _is_path(given):
            return request.error(INVALID_PARAMS, "path must be absolute")
        path = os.path.realpath(given)
        if path != self._root and not path.startswith(self._root.rstrip("/") + "/"):
            return request.error(INVALID_PARAMS, f"outside of the working directory: {given}")
        try:
            return self._read(request, path) if reads else self._write(request, path)
        except FileNotFoundError:
            # in the protocol's own words: agents go by them to tell a new file from one that cannot be read
            return request.error(RESOURCE_NOT_FOUND, f"Resource not found: {given}")
        except (OSError, ValueError) as error:
            return request.error(INTERNAL_ERROR, f"{given}: {getattr(error, 'strerror', None) or error}")

    def _read(self, request: AcpRequest, path: str) -> Message:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
                raise ValueError("not a plain file of at most 16 MiB")
            text = file.read().decode("utf-8", "replace")
        first, most = integer_of(request.params, "line"), integer_of(request.params, "limit")
        if first is not None or most is not None:
            start = 0 if first is None else max(0, first - 1)
            end = None if most is None else start + max(0, most)
            text = "".join(text.splitlines(keepends=True)[start:end])
        return request.result({"content": text})

    def _write(self, request: AcpRequest, path: str) -> Message:
        content = request.params.get("content")
        if not isinstance(content, str):
            return request.error(INVALID_PARAMS, "content must be text")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o644)
        with os.fdopen(fd, "wb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise ValueError("not a plain file")
            os.ftruncate(fd, 0)
            file.write(content.encode("utf-8", "replace"))
        return request.result({})


def _is_path(text: str) -> bool:
    """One that the kernel can be asked for: no NUL, no half of a surrogate pair, no longer than a path can be."""
    try:
        return "\0" not in text and len(os.fsencode(text)) < _LONGEST_PATH
    except UnicodeEncodeError:
        return False
