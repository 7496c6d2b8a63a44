"""The secret that the clients of a local server show: made with the first start, in a file that only its user reads."""

from __future__ import annotations

import os

from unhang.errors import StateError
from unhang.jobs.home import ensure_state_home
from unhang.store import files

_SHORTEST = 20
_LONGEST = 1024


def token_path(name: str) -> str:
    """Return where a token of this name is kept unless another file is given: in the state directory, which is made."""
    return os.path.join(ensure_state_home(), name)


def read_or_make(path: str) -> str:
    """Return the token in this file; a new one if there is no such file. StateError if the file cannot be trusted."""
    if not os.path.lexists(path):
        import secrets

        token = secrets.token_urlsafe(32)
        try:
            if files.create_once(path, f"{token}\n".encode()):
                return token
        except OSError as error:
            raise StateError(f"cannot write the token file {path}: {error.strerror}") from None
    return _read(path)


def _read(path: str) -> str:
    try:
        fd = files.open_plain(path, os.O_RDONLY)
    except OSError as error:
        raise StateError(f"cannot read the token file {path}: {error.strerror}") from None
    with open(fd, encoding="ascii", errors="replace") as file:
        found = os.fstat(file.fileno())
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise StateError(f"refused: others may read the token file {path}; run: chmod 600 {path}")
        token = file.read(_LONGEST).strip()
    if len(token) < _SHORTEST:
        raise StateError(f"the token in {path} is too short; remove the file and a new one is made")
    return token
