"""`unhang.run` and `unhang.arun`: one job, watched, to its end, as a result."""

from __future__ import annotations

import functools
import os

from unhang.core.spec import INHERIT, NULL
from unhang.errors import UnhangError, UsageError
from unhang.jobs import cleanup, reconcile
from unhang.jobs.launcher import ServedLauncher, Streams
from unhang.jobs.request import Prepared
from unhang.jobs.results import result_of
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.result import Result
    from unhang.jobs.launcher import Launched, Launcher


@functools.cache
def default_launcher() -> Launcher:
    """One fork server a process, however many jobs; made when the first is started."""
    return ServedLauncher()


def input_descriptor(prepared: Prepared, data: bytes | None) -> int | None:
    """What the job reads: our own stdin, nothing, or `data` in an anonymous file (so that nobody has to feed it)."""
    if data is not None:
        if prepared.spec.pty:
            raise UsageError("input cannot be given to a job on a terminal: send it instead")
        fd = os.memfd_create("unhang-input")
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        return fd
    if prepared.spec.stdin == INHERIT and not prepared.spec.pty:
        try:
            return os.dup(0)
        except OSError:
            return None  # we have none ourselves
    return None


def begin(prepared: Prepared, data: bytes | None = None, launcher: Launcher | None = None) -> Launched:
    if data is not None:
        prepared = prepared.replace(spec=prepared.spec.replace(stdin=NULL))
    stdin = input_descriptor(prepared, data)
    try:
        home = homes.locate(os.environ)
        launched = (launcher or default_launcher()).launch(home, prepared, Streams(stdin=stdin))
        if launcher is None:
            cleanup.in_a_thread(home)
        return launched
    finally:
        if stdin is not None:
            os.close(stdin)


def run(prepared: Prepared, data: bytes | None = None) -> Result:
    """Blocks until the job has ended. An exception in here (Ctrl-C) ends the job before it goes on."""
    launched = begin(prepared, data)
    owner = launched.owner
    try:
        while not owner.ended and owner.hear(owner.patience()):
            owner.insist()
    except BaseException:
        owner.cancel("SIGINT")
        try:
            owner.listen_to_the_end()
        except BaseException:
            owner.cancel("SIGINT", force=True)
            raise
        raise
    finally:
        owner.close()
    return _ended(launched)


async def arun(prepared: Prepared, data: bytes | None = None) -> Result:
    """As `run`; cancelling the task ends the job, and the cancellation goes on when it has ended."""
    import asyncio
    import socket

    def started() -> Launched:
        launched = begin(prepared, data)
        try:
            launched.owner.wait_until_started()
        except BaseException:
            launched.owner.close()
            raise
        return launched

    starting = asyncio.ensure_future(asyncio.to_thread(started))
    cancelled: BaseException | None = None
    try:
        launched = await asyncio.shield(starting)
    except asyncio.CancelledError as error:
        # the thread cannot be called back: take the job from it, so that it can be ended
        launched, cancelled = await starting, error
    owner = launched.owner
    line = socket.socket(fileno=os.dup(owner.fileno()))
    line.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        try:
            if cancelled is not None:
                raise cancelled
            while not owner.ended and owner.heard(await loop.sock_recv(line, 1 << 16)):
                pass
        except asyncio.CancelledError:
            owner.cancel("cancellation of its task")
            await asyncio.to_thread(owner.listen_to_the_end)
            raise
    finally:
        line.close()
        owner.close()
    return await asyncio.to_thread(_ended, launched)


def _ended(launched: Launched) -> Result:
    if launched.owner.failure:
        raise UnhangError(launched.owner.failure)
    # keeper and guard may both have been killed, or the fork server before it made them
    reconcile.settle(launched.place, birth=0)
    return result_of(launched.place)
