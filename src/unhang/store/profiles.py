"""What the history says of one command, in one small file, for a keeper that must not open a database.

Written whenever the history has learnt something new of that command; a cache, like the history itself.
"""

from __future__ import annotations

import os

from unhang.core.policy.learn import Profile
from unhang.store import files

FOLDER = "profiles"


def _path(home: str, command: str, directory: str) -> str:
    # hashlib would bring all of OpenSSL with it: 4 MiB in every keeper of a job that lasts ten seconds
    from _blake2 import blake2b

    name = blake2b(f"{command}\0{directory}".encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return os.path.join(home, FOLDER, f"{name}.json")


def write(home: str, command: str, directory: str, profile: Profile) -> None:
    path = _path(home, command, directory)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    files.write_json(path, profile.to_dict())


def read(home: str, command: str, directory: str) -> Profile | None:
    value = files.read_json(_path(home, command, directory))
    if value is None:
        return None
    try:
        return Profile(**{name: value[name] for name in Profile.__match_args__})
    except KeyError:
        return None
