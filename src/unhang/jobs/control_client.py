"""Requests to a live keeper, through the socket in its job's directory.

The keeper's queue may be full (a job can see to that), and it may send a client away to make room for another before it
has read its request. Neither means that it refuses: it is asked again until the patience is over. A request that was
not answered was not carried out, so asking twice does nothing twice.
"""

from __future__ import annotations

import json
import os
import stat
import time

from unhang.errors import ControlError, StateError
from unhang.procs import clock, descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

    from unhang.store.layout import JobDir

# A keeper answers in a millisecond; one that gets no core may take a little longer.
PATIENCE = 5.0
# how long the kernel lets us wait for a place in the queue before we look whether the socket is still there
_QUEUE = 0.5
# the pause before a request that found no room is sent again
_PAUSE = 0.02
_LONGEST_ANSWER = 1 << 20


class JobHasEnded(ControlError):
    """The job has ended, or has no control socket."""


class _SentAway(Exception):
    """The keeper had no room for this client, or closed the connection before it had read the request."""


def ask(place: JobDir, *, patience: float = PATIENCE, **request: Any) -> dict[str, Any]:
    """Send a request and return the answer. Raises ControlError if the keeper refuses or does not answer in time."""
    message = json.dumps(request).encode() + b"\n"
    deadline = clock.monotonic() + patience
    while True:
        try:
            answer = _once(place, message, deadline)
            break
        except _SentAway:
            left = deadline - clock.monotonic()
            if left <= 0:
                raise ControlError(f"the keeper of job {place.id} does not answer: too many others ask it") from None
            time.sleep(min(_PAUSE, left))
    if not answer.get("ok"):
        raise ControlError(str(answer.get("error", "the keeper refused")))
    return answer


def _once(place: JobDir, message: bytes, deadline: float) -> dict[str, Any]:
    import socket

    try:
        folder = os.open(place.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise JobHasEnded(f"job {place.id} has ended") from None
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if not stat.S_ISSOCK(os.stat(os.path.basename(place.control), dir_fd=folder, follow_symlinks=False).st_mode):
            raise StateError(f"refused: {place.control} is no socket")
        _connect(line, descriptors.path_in(folder, place.control), deadline)
        line.settimeout(max(0.001, deadline - clock.monotonic()))
        line.sendall(message)
        return _answer(line, deadline)
    except (FileNotFoundError, ConnectionRefusedError):
        raise JobHasEnded(f"job {place.id} has ended") from None
    except (ConnectionError, BlockingIOError):
        raise _SentAway from None
    except TimeoutError:
        raise ControlError(f"the keeper of job {place.id} does not answer") from None
    except OSError as error:
        raise ControlError(f"cannot reach the keeper of job {place.id}: {error.strerror}") from None
    except ValueError:
        raise ControlError(f"the keeper of job {place.id} sent an answer that is not JSON") from None
    finally:
        line.close()
        os.close(folder)


def _connect(line: socket, where: str, deadline: float) -> None:
    """Blocking, so that the kernel gives the next place in a full queue to us; but not for long (BlockingIOError)."""
    import socket
    import struct

    wait = max(0.001, min(_QUEUE, deadline - clock.monotonic()))
    line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(wait), int(wait % 1 * 1e6)))
    line.connect(where)


def _answer(line: socket, deadline: float) -> dict[str, Any]:
    data = b""
    while b"\n" not in data and len(data) < _LONGEST_ANSWER:
        line.settimeout(max(0.001, deadline - clock.monotonic()))
        chunk = line.recv(1 << 16)
        if not chunk:
            raise ConnectionResetError
        data += chunk
    answer = json.loads(data.split(b"\n", 1)[0])
    return answer if isinstance(answer, dict) else {}
