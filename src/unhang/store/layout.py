"""The directory of one job. Every file in it is named and explained here; docs/job-directory.md is the long form.

job.json        what was asked (command, cwd, limits with their sources, labels) and who keeps it (pids with
                start times, boot id, tag: what recovery needs); written once, by the keeper
events.ndjson   the truth: append-only, one JSON object a line
status.json     the newest view, replaced atomically; a cache
stdout, stderr  what it printed: the beginning; when the job has ended also the end (see output.py)
stdout.tail     while it runs: the end, as a ring
control         the keeper's socket
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


class JobDir(Record):
    home: str
    id: str

    @property
    def path(self) -> str:
        return f"{self.home}/{homes.JOBS}/{self.id}"

    @property
    def job(self) -> str:
        return f"{self.path}/job.json"

    @property
    def status(self) -> str:
        return f"{self.path}/status.json"

    @property
    def events(self) -> str:
        return f"{self.path}/events.ndjson"

    @property
    def control(self) -> str:
        return f"{self.path}/control"

    @property
    def notify(self) -> str:
        return f"{self.path}/notify"

    def stream(self, name: str) -> str:
        return f"{self.path}/{name}"


def new_id() -> str:
    number = int.from_bytes(os.urandom(8), "big")
    return "".join(_ALPHABET[(number >> (5 * i)) & 31] for i in range(ID_LENGTH))


def is_id(text: str) -> bool:
    return 0 < len(text) <= 32 and all(c in "0123456789abcdefghijklmnopqrstuvwxyz" for c in text)


def create(home: str) -> JobDir:
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
    """The directory of a job that is there and is ours; links and foreign owners are refused."""
    if not is_id(job_id):
        raise NoSuchJob(f"not a job id: {job_id!r}")
    place = JobDir(home, job_id)
    try:
        for folder in (home, f"{home}/{homes.JOBS}", place.path):
            homes.trust(folder)
    except FileNotFoundError:
        raise NoSuchJob(f"no such job: {job_id}") from None
    return place
