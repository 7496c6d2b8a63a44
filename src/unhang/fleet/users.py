"""The users of a fleet: a file that the server's configuration includes, and a file of credentials for each of them.

The first holds public keys and permissions (`core/fleet/permissions.py`). A team is an account, with its streams and
its operators; each worker and each viewer of it has an account more, which shares with the team's what it needs. It is
JSON, which the server reads as well as its own form, so this is also where the users are known from.
"""

from __future__ import annotations

import errno
import json
import os
import stat

from unhang.core import values
from unhang.core.fleet.permissions import (
    API,
    IMPORTED_API,
    VIEWER,
    access,
    imported,
    inbox_of,
    is_answered_by_many,
    permissions,
    user_name,
)
from unhang.core.fleet.subjects import NAME_RULE, is_machine, questions_of
from unhang.core.record import Record
from unhang.errors import StateError, UsageError
from unhang.fleet import nkey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_LARGEST = 8 << 20
# What an account shares: a subject that is answered, and one that is only heard.
_KINDS = ("service", "stream")


class User(Record):
    """A user as the file has it."""

    team: str
    name: str
    key: str

    @property
    def role(self) -> str:
        """Return what kind of user it is."""
        return self.name.partition("-")[0]


class Credentials(Record):
    """What a user connects with. `api`: how the server's questions about streams begin in the user's account."""

    user: str
    seed: str
    api: str


def add(path: str, team: str, role: str, name: str, queues: Sequence[str], credentials: str) -> User:
    """Add a user to the file, and write its credentials, which no other user may read. Raises UsageError."""
    user, allowed, shared = user_name(role, name), permissions(role, name, queues), access(role, name, queues)
    if not is_machine(team):
        raise UsageError(f"--team: not a name for an account: {team!r} ({NAME_RULE})")
    config = _read(path)
    if any((each.team, each.name) == (team, user) for each in _users(config)):
        raise UsageError(
            f"{path} has a user {user} of {team} already; unhang fleet user remove {role} {name} removes it"
        )
    seed = nkey.new_seed()
    key = nkey.public_key(seed)
    _write_secret(
        credentials, {"user": user, "team": team, "seed": seed, "api": API if shared is None else IMPORTED_API}
    )
    accounts, entry = config["accounts"], {"nkey": key, "permissions": allowed}
    accounts.setdefault(team, {"jetstream": "enabled", "users": []})
    if shared is None:
        accounts[team]["users"].append(entry)
    else:
        asks = [
            {
                "service": {"account": team, "subject": each},
                **({"to": imported(each)} if imported(each) != each else {}),
            }
            for each in shared.asks
        ]
        hears = [{"stream": {"account": team, "subject": each}} for each in shared.hears]
        accounts[_account_of(team, user)] = {
            "users": [entry],
            "imports": asks + hears,
            "exports": [{"service": each, "response_type": "stream"} for each in shared.serves],
        }
    _write(path, _joined(config, team))
    return User(team, user, key)


def remove(path: str, team: str, role: str, name: str) -> None:
    """Remove a user; the server forgets it when it is told to reload. Raises UsageError where there is none."""
    user, config = user_name(role, name), _read(path)
    found = next((each for each in _users(config) if (each.team, each.name) == (team, user)), None)
    if found is None:
        raise UsageError(f"{path} has no user {user} of {team}")
    accounts = config["accounts"]
    if accounts.pop(_account_of(team, user), None) is None:
        users = accounts[team]["users"]
        accounts[team]["users"] = [each for each in users if values.text_of(each, "nkey") != found.key]
    _write(path, _joined(config, team))


def listed(path: str) -> list[User]:
    """Return the users that the file knows."""
    return _users(_read(path))


def read_credentials(path: str) -> Credentials:
    """Read what a user connects with. Raises UsageError."""
    try:
        found = values.parse(_contents(path))
    except OSError as error:
        raise UsageError(f"--creds: {error.strerror}: {path}") from None
    except ValueError:
        found = None
    user, seed = values.text_of(found, "user"), values.text_of(found, "seed")
    if not user or not seed:
        raise UsageError(f"--creds: these are no credentials of unhang fleet user add: {path}")
    return Credentials(user, seed, IMPORTED_API if values.text_of(found, "api") == IMPORTED_API else API)


def _contents(path: str) -> bytes:
    """Read a regular file, also through a link; OSError for anything else: a pipe in its place is not waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read(_LARGEST)


def _read(path: str) -> dict[str, Any]:
    try:
        config = values.parse(_contents(path))
    except FileNotFoundError:
        return {"accounts": {}}
    except (OSError, ValueError) as error:
        raise StateError(f"{path} cannot be read: {error}") from None
    accounts = values.mapping_of(config, "accounts")
    if not isinstance(config, dict) or not all(isinstance(each, dict) for each in accounts.values()):
        raise StateError(f"{path} was not written by unhang fleet user add")
    return config | {"accounts": accounts}


def _account_of(team: str, user: str) -> str:
    """Return the account of a user who has one of its own; a point is in no name of a team."""
    return f"{team}.{user}"


def _joined(config: dict[str, Any], team: str) -> dict[str, Any]:
    """Have the account of a team, and those of its workers and viewers, share what each needs of the other."""
    members = {name: each for name, each in config["accounts"].items() if name.startswith(_account_of(team, ""))}
    served = [
        {"service": {"account": name, "subject": values.text_of(each, "service")}}
        for name, member in members.items()
        for each in values.mappings_of(member, "exports")
    ]
    questions = [each for each in served if each["service"]["subject"].startswith(questions_of(""))]
    exports: dict[str, dict[str, str]] = {}
    for name, member in members.items():
        imports = values.mappings_of(member, "imports")
        of_team = [each for each in imports if team in (each.get(kind, {}).get("account") for kind in _KINDS)]
        for kind, subject in ((kind, values.text_of(each, kind, "subject")) for each in of_team for kind in _KINDS):
            if subject:
                many = {"response_type": "stream"} if is_answered_by_many(subject) else {}
                exports[subject] = {kind: subject, **many}
        is_viewer = name.startswith(_account_of(team, user_name(VIEWER, "x")[:-1]))
        member["imports"] = of_team + (questions if is_viewer else [])
    config["accounts"][team] |= {"exports": list(exports.values()), "imports": served}
    return config


def _users(config: dict[str, Any]) -> list[User]:
    found = []
    for account_name, account in config["accounts"].items():
        team = account_name.partition(".")[0]
        for each in values.mappings_of(account, "users"):
            heard = values.items_of(each, "permissions", "subscribe", "allow")
            prefix = next((text for text in heard if isinstance(text, str) and text.startswith(inbox_of(""))), "")
            found.append(User(team, prefix.removeprefix(inbox_of("")).removesuffix(".>"), values.text_of(each, "nkey")))
    return found


def _write(path: str, config: dict[str, Any]) -> None:
    """Replace the file as a whole; the server, of another user, has to read it, and there is no secret in it."""
    temporary = f"{path}.{os.urandom(4).hex()}.new"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
        os.rename(temporary, path)
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror}") from None


def _write_secret(path: str, value: dict[str, Any]) -> None:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} is there already, and is not overwritten: give --creds FILE") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    with open(fd, "w", encoding="utf-8") as file:
        file.write(values.dump(value) + "\n")
