"""Requests to a live keeper, through the socket in its job's directory."""

from __future__ import annotations

import json
import os
import stat

from unhang.errors import ControlError, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.store.layout import JobDir

PATIENCE = 10.0
_LONGEST_ANSWER = 1 << 20


class JobHasEnded(ControlError):
    """There is nobody to ask any more."""


def ask(place: JobDir, **request: Any) -> dict[str, Any]:
    import socket

    folder = os.open(place.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(PATIENCE)
        name = os.path.basename(place.control)
        if not stat.S_ISSOCK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise StateError(f"refused: {place.control} is no socket")
        # through the open folder: a socket's address may not be longer than some 100 bytes, a path may
        line.connect(f"/proc/self/fd/{folder}/{name}")
        line.sendall(json.dumps(request).encode() + b"\n")
        answer = _answer(line)
    except (FileNotFoundError, ConnectionError):
        raise JobHasEnded(f"job {place.id} has ended") from None
    except TimeoutError:
        raise ControlError(f"the keeper of job {place.id} does not answer") from None
    except OSError as error:
        raise ControlError(f"cannot reach the keeper of job {place.id}: {error.strerror}") from None
    finally:
        line.close()
        os.close(folder)
    if not answer.get("ok"):
        raise ControlError(str(answer.get("error", "the keeper refused")))
    return answer


def _answer(line: Any) -> dict[str, Any]:
    data = b""
    while b"\n" not in data and len(data) < _LONGEST_ANSWER:
        chunk = line.recv(1 << 16)
        if not chunk:
            raise ConnectionResetError
        data += chunk
    answer = json.loads(data.split(b"\n", 1)[0])
    return answer if isinstance(answer, dict) else {}
