"""What jobs have changed in their checkouts, on the server: a patch in pieces, kept for as long as the job's record is.

The record of the job says how long its patch is, and its hash: what another attempt, or another user, has stored there
is not taken for it. It is a stream of our own and no bucket of NATS's object store: such a bucket has no queue in its
subjects, and is written with roll-ups and purges, so a worker could reach the patches of every queue.
"""

from __future__ import annotations

import hashlib

from unhang.core.fleet import subjects
from unhang.core.fleet.queue import ENDED
from unhang.errors import UnhangError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from unhang.core.fleet.queue import QueuedJob
    from unhang.fleet.connection import Connection

# A message of a server holds 1 MB at most.
_PIECE = 512 << 10


def pieces(job: QueuedJob, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what is to be stored of a patch: subjects and messages. To store one twice does no harm."""
    for number, at in enumerate(range(0, len(data), _PIECE)):
        yield subjects.patch_of(job.queue, job.id, job.attempt, str(number)), data[at : at + _PIECE]


async def read_patch(connection: Connection, job: QueuedJob) -> bytes:
    """Return what a job has changed; raise UnhangError, with the reason, where that is not known."""
    if not job.checkout:
        raise UnhangError(f"job {job.id} has no patch: it was not put into its queue with --checkout")
    if job.state != ENDED:
        raise UnhangError(f"job {job.id} has no patch yet: it has not ended")
    size, digest = job.patch.get("bytes"), job.patch.get("sha256")
    if size is None or digest is None:
        why = job.patch.get("why") or "its worker was gone before it could be kept"
        raise UnhangError(f"job {job.id} has no patch: {why}")
    found = {}
    async for raw in connection.read(subjects.PATCHES, subjects.patch_of(job.queue, job.id, job.attempt, "*")):
        number = raw.subject.rpartition(".")[2]
        if number.isdigit():
            found[int(number)] = raw.data
    data = b"".join(found[number] for number in sorted(found))
    if len(data) != size or hashlib.sha256(data).hexdigest() != digest:
        raise UnhangError(f"the patch of job {job.id} on the server is not the one that its worker has kept")
    return data
