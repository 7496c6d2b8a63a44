"""What the history says of one command, in one small file, for a keeper that must not open a database.

Written whenever the history has learnt something new of that command; a cache, like the history itself.
"""

from __future__ import annotations

import os

from unhang.core import values
from unhang.core.policy.learn import Profile
from unhang.store import files
from unhang.store import home as homes

FOLDER = "profiles"
_TYPES: dict[str, values.Reading] = dict.fromkeys(Profile.__match_args__, values.number) | {"runs": values.whole}


def _path(home: str, command: str, directory: str) -> str:
    # hashlib would bring all of OpenSSL with it: 4 MiB in every keeper of a job that lasts ten seconds
    from _blake2 import blake2b

    name = blake2b(f"{command}\0{directory}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return os.path.join(home, FOLDER, f"{name}.json")


def write(home: str, command: str, directory: str, profile: Profile) -> None:
    """Replace the profile of a command in a directory. Raises OSError."""
    path = _path(home, command, directory)
    homes.make(os.path.dirname(path))
    files.write_json(path, profile.to_dict())


def read(home: str, command: str, directory: str) -> Profile | None:
    """Return the profile of a command in a directory; None if there is none or it cannot be read."""
    found = values.with_types(files.read_json(_path(home, command, directory)) or {}, _TYPES)
    try:
        return Profile(**{name: found[name] for name in Profile.__match_args__ if found[name] is not None})
    except (KeyError, AttributeError):
        return None


def forget(home: str, before: float) -> None:
    """Remove the profiles that were last written before that time."""
    folder = os.path.join(home, FOLDER)
    try:
        with os.scandir(folder) as entries:
            old = [entry.path for entry in entries if entry.stat(follow_symlinks=False).st_mtime < before]
        for path in old:
            os.unlink(path)
    except OSError:
        pass  # none there, or the next time
