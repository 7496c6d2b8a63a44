"""A small process that forks keepers for a long-lived one.

Forking a process with threads copies locks that nobody will ever release. So a library, a server or an editor plugin
keeps this one-threaded helper, hands it each job with its descriptors, and never forks itself. It lives as long as
its client holds the line; background jobs outlive both.

Request: 4 bytes length, JSON (home, id, spec, env), with the descriptors [owner, stdin?, stdout?, stderr?] attached.
No answer: the owner's line tells everything, and closes if nothing came of it.
"""

from __future__ import annotations

import array
import json
import os
import signal
import socket
import struct

from unhang.core.spec import JobSpec
from unhang.keeper.birth import launch
from unhang.keeper.main import Launch
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LENGTH = struct.Struct("!I")
_MAX_FDS = 4
MAX_REQUEST = 32 << 20


def encode(request: dict[str, Any]) -> bytes:
    data = json.dumps(request).encode()
    return _LENGTH.pack(len(data)) + data


def main(line_fd: int) -> None:
    line = socket.socket(fileno=line_fd)
    os.set_inheritable(line_fd, False)
    # a keeper's guard is our child: the kernel may forget it, nobody asks for its status
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # preload what a job that goes quiet will need, so that all of them share it
    from unhang.core.diagnosis import progress
    from unhang.procs.platform import make_tree
    from unhang.procs.sampler import cheap

    del progress, cheap
    make_tree()
    while True:
        received = _receive(line)
        if received is None:
            return
        request, fds = received
        try:
            _launch(request, fds, line)
        except Exception:  # one bad request must not end the server; its owner sees the line close
            pass
        finally:
            for fd in fds:
                os.close(fd)


def _receive(line: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """None: our client is gone."""
    fds = array.array("i")
    try:
        head, ancillary, _, _ = line.recvmsg(_LENGTH.size, socket.CMSG_SPACE(_MAX_FDS * fds.itemsize))
    except OSError:
        return None
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    rest = _exactly(line, _LENGTH.size - len(head)) if head else None
    if rest is None:
        return None
    (size,) = _LENGTH.unpack(head + rest)
    body = _exactly(line, size) if size <= MAX_REQUEST else None
    return None if body is None else (json.loads(body), list(fds))


def _exactly(line: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        chunk = line.recv(min(size, 1 << 20))
        if not chunk:
            return None
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)


def _launch(request: dict[str, Any], fds: list[int], line: socket.socket) -> None:
    streams = dict(zip(request["fds"], fds, strict=True))
    for fd in fds:
        os.set_inheritable(fd, False)
    spec = JobSpec.from_json(request["spec"])
    owner = socket.socket(fileno=os.dup(streams["owner"])) if "owner" in streams else None
    job = Launch(
        place=JobDir(request["home"], request["id"]),
        spec=spec,
        env=request["env"],
        stdin=streams.get("stdin"),
        stdout=streams.get("stdout"),
        stderr=streams.get("stderr"),
        owner=owner,
    )
    pid = launch(job, in_child=lambda: _forget_client(line))
    del pid
    if owner is not None:
        owner.close()


def _forget_client(line: socket.socket) -> None:
    """In the keeper and the guard: the client's line is not theirs, and their children are theirs to wait for."""
    line.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
