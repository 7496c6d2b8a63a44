"""The directory of one job. Every file in it is named and explained here; docs/job-directory.md is the long form.

job.json        what was asked (command, cwd, limits with their sources, labels) and who keeps it (pids with
                start times, boot id, tag: what recovery needs); written once, by the keeper
events.ndjson   the truth: append-only, one JSON object a line
status.json     the newest view, replaced atomically; a cache
stdout, stderr  what it printed: the beginning; when the job has ended also the end (see output.py)
stdout.tail     while it runs: the end, as a ring
order           in which order it printed on both streams (see output_order.py); only if it did
control         the keeper's socket
seen            empty: the end of a job that ended badly was looked at (see jobs/unseen_ends.py)
notify          the socket for the job's own heartbeats, where its path is short enough for an address
"""

from __future__ import annotations

import os

from unhang.core.record import Record
from unhang.errors import NoSuchJob, StateError
from unhang.store import home as homes

# Without the letters that are read as digits or as each other. Random first: short prefixes are unique.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 10
EVENTS = "events.ndjson"


class JobDir(Record):
    """The directory of one job, and the paths of the files in it; none of them need exist."""

    home: str
    id: str

    @property
    def path(self) -> str:
        """Return the directory itself."""
        return f"{self.home}/{homes.JOBS}/{self.id}"

    @property
    def job(self) -> str:
        """Return the file that says what was asked for."""
        return f"{self.path}/job.json"

    @property
    def status(self) -> str:
        """Return the file with the newest view of the job; only a cache."""
        return f"{self.path}/status.json"

    @property
    def events(self) -> str:
        """Return the event log."""
        return f"{self.path}/{EVENTS}"

    @property
    def control(self) -> str:
        """Return the socket on which the keeper takes requests."""
        return f"{self.path}/control"

    @property
    def notify(self) -> str:
        """Return the socket on which the job sends heartbeats."""
        return f"{self.path}/notify"

    @property
    def order(self) -> str:
        """Return the file that says in which order the streams were printed to."""
        return f"{self.path}/order"

    @property
    def told(self) -> str:
        """Return the file that says which events the agent that started the job was told of."""
        return f"{self.path}/told"

    @property
    def seen(self) -> str:
        """Return the file that is there once the end of a job that ended badly was looked at."""
        return f"{self.path}/seen"

    def stream(self, name: str) -> str:
        """Return the file that holds what was printed on this stream."""
        return f"{self.path}/{name}"


def new_id() -> str:
    """Return a random job id; it may already be taken."""
    number = int.from_bytes(os.urandom(8), "big")
    return "".join(_ALPHABET[(number >> (5 * i)) & 31] for i in range(ID_LENGTH))


def is_id(text: str) -> bool:
    """Return whether a text may be a job id or the beginning of one."""
    return 0 < len(text) <= 32 and all(c in "0123456789abcdefghijklmnopqrstuvwxyz" for c in text)


def create(home: str) -> JobDir:
    """Make the directory of a new job, and the state directory where it is missing. Raises StateError."""
    homes.ensure(home)
    while True:
        place = JobDir(home, new_id())
        try:
            os.mkdir(place.path, 0o700)
            os.chmod(place.path, 0o700)  # the umask may have taken away even our own rights
            return place
        except FileExistsError:
            continue
        except OSError as error:
            raise StateError(f"cannot make the job directory {place.path}: {error.strerror}") from None


def existing(home: str, job_id: str) -> JobDir:
    """Return the directory of a job that is there and is ours; links and foreign owners are refused."""
    if not is_id(job_id):
        raise NoSuchJob(f"not a job id: {job_id!r}")
    place = JobDir(home, job_id)
    try:
        for folder in (home, f"{home}/{homes.JOBS}", place.path):
            homes.trust(folder)
    except FileNotFoundError:
        raise NoSuchJob(f"no such job: {job_id}") from None
    return place
