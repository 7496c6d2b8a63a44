"""`unhang.run` and `unhang.arun`: one job to its end, as a result."""

from __future__ import annotations

from unhang.jobs.results import result_of, view_of
from unhang.jobs.start import launch
from unhang.store.reader import EVERYTHING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.core.result import Result
    from unhang.jobs.callbacks import Callbacks
    from unhang.jobs.connection import JobConnection
    from unhang.jobs.request import Prepared


def run(prepared: Prepared, data: bytes | None = None, callbacks: Callbacks | None = None) -> Result:
    """Block until the job has ended. An exception in here (Ctrl-C, or of a callback) ends the job before it goes on."""
    connection = launch(prepared, data)
    try:
        connection.wait_until_ended(_telling(connection, callbacks))
    except BaseException:
        connection.cancel("SIGINT")
        try:
            connection.wait_until_closed()
        except BaseException:
            connection.cancel("SIGINT", force=True)
            raise
        raise
    finally:
        connection.close()
    return _result(connection)


def _telling(connection: JobConnection, callbacks: Callbacks | None) -> Callable[[], None] | None:
    """What passes new events on to the callbacks; None: there are none."""
    if callbacks is None:
        return None
    told = callbacks  # for the type checker: it is not None inside either

    def tell() -> None:
        for event in connection.new_events():
            told.tell(connection.place.id, event)

    return tell


async def arun(prepared: Prepared, data: bytes | None = None, callbacks: Callbacks | None = None) -> Result:
    """Do what `run` does; cancelling the task ends the job, and the cancellation goes on when it has ended."""
    import asyncio

    starting = asyncio.ensure_future(asyncio.to_thread(launch, prepared, data))
    cancelled: BaseException | None = None
    try:
        connection = await asyncio.shield(starting)
    except asyncio.CancelledError as error:
        # the thread cannot be called back: take the job from it, so that it can be ended
        connection, cancelled = await starting, error
    try:
        try:
            if cancelled is not None:
                raise cancelled
            await connection.wait_until_ended_async(asyncio.to_thread, _telling(connection, callbacks))
        except asyncio.CancelledError:
            connection.cancel("cancellation of its task")
            await asyncio.to_thread(connection.wait_until_closed)
            raise
        except BaseException:
            connection.cancel("an exception of its caller")
            await asyncio.to_thread(connection.wait_until_closed)
            raise
    finally:
        connection.close()
    return await asyncio.to_thread(_result, connection)


def _result(connection: JobConnection) -> Result:
    place = connection.place
    # one reading of the log is enough where the keeper said that the end is there, and on the disk
    view = view_of(place, synced_to=EVERYTHING) if connection.ended else None
    if view is None or not view.ended:
        connection.settle()
        view = view_of(place)
    return result_of(place, view)
