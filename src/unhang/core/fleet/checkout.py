"""A revision of a Git repository in which a job of a queue runs, and how git is called for it. Pure.

What a repository brings along must not run: no hook, no transport that is a command. Git must not ask anyone: there is
no person at a worker. Which credentials, proxies and certificates hold is set by the worker's machine, as for every
other git command there.
"""

from __future__ import annotations

import posixpath

from unhang.core import values
from unhang.core.record import Record
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SCHEMES = ("file", "git", "http", "https", "ssh")
# A larger patch is not kept.
LARGEST_PATCH = 16 << 20
_LONGEST = 1000
_OF_REVISION = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+#-")
_HEX = frozenset("0123456789abcdefABCDEF")
# How long the number of a commit is, by its hash.
_SHA1, LONGEST_COMMIT = 40, 64
# Of git's own variables only these say how a server is reached; the others would point git at another repository,
# index or configuration.
_KEPT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_PROXY_COMMAND")
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    # nothing goes on in the background
    "gc.auto=0",
    "maintenance.auto=false",
)


class Checkout(Record):
    """`folder`: where in it the command is run; empty: at its top."""

    repo: str
    rev: str
    folder: str = ""

    @property
    def shown(self) -> str:
        """Return the revision as a person gives it."""
        return f"{self.repo}@{self.rev}"


def parse_checkout(text: str, folder: str | None = None) -> Checkout:
    """Read `REPO@REV`; raise UsageError for what is none, or what git would take for an option or a command."""
    repo, at, rev = text.rpartition("@")
    if not at or not repo or not rev:
        raise UsageError(f"--checkout: expected REPO@REV, as https://host/project.git@main: {text!r}")
    found = Checkout(repo, rev, "" if folder in (None, ".") else str(folder))
    why = _refusal(found)
    if why:
        raise UsageError(f"--checkout: {why}")
    return found


def read_checkout(value: Any) -> Checkout | None:
    """Read what a task says; None if it is none, or one that `parse_checkout` would refuse."""
    repo, rev, folder = (values.text(values.dig(value, name)) for name in ("repo", "rev", "folder"))
    if repo is None or rev is None or folder is None:
        return None
    found = Checkout(repo, rev, folder)
    return None if _refusal(found) else found


def _refusal(checkout: Checkout) -> str:
    """Return why this is not checked out; empty: it may be."""
    repo, rev, folder = checkout.repo, checkout.rev, checkout.folder
    if not repo or not rev or any(len(each) > _LONGEST or not each.isprintable() for each in (repo, rev, folder)):
        return "REPO, REV and the directory are printable and not longer than 1000 characters"
    if set(rev) - _OF_REVISION or rev[0] in "-./" or ".." in rev:
        return f"not a branch, a tag or a commit: {rev!r}"
    if posixpath.isabs(folder) or ".." in folder.split("/") or folder.startswith("-"):
        return f"the directory is one in the checkout: {folder!r}"
    return _refusal_of_repository(repo)


def _refusal_of_repository(repo: str) -> str:
    scheme, has_scheme, rest = repo.partition("://")
    if repo.startswith("-") or "::" in repo:
        return f"not a repository: {repo!r}"
    if not has_scheme:
        host, colon, path = repo.partition(":")
        if posixpath.isabs(repo) or (colon and host and path and "/" not in host):
            return ""
        return f"a path is absolute, and is meant on the worker's machine: {repo!r}"
    if scheme not in SCHEMES:
        return f"{scheme}:// is none of {', '.join(SCHEMES)}"
    user, at, host = rest.partition("/")[0].rpartition("@")
    if at and (scheme in ("http", "https") or ":" in user):
        return "a password does not belong into an address: the worker's machine has credentials of its own"
    if host.startswith("-") or user.startswith("-") or (not host and scheme != "file"):
        return f"not a repository: {repo!r}"
    return ""


def is_hash(rev: str) -> bool:
    """Return whether a revision may be the beginning of a commit's number."""
    return len(rev) >= 4 and not set(rev) - _HEX


def is_commit(rev: str) -> bool:
    """Return whether a revision is the whole number of a commit."""
    return is_hash(rev) and len(rev) in (_SHA1, LONGEST_COMMIT)


def object_format(commit: str) -> str:
    """Return the hash by which a repository names its objects, as git calls it."""
    return "sha256" if len(commit) == LONGEST_COMMIT else "sha1"


def git_command(*words: str) -> list[str]:
    """Return a command of git's that runs no hook and leaves nothing running."""
    return ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *words]


def git_environment(env: Mapping[str, str], own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of such a command; `own`: variables of git's that are set for it."""
    kept = {name: value for name, value in env.items() if not name.startswith("GIT_") or name in _KEPT}
    quiet = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GCM_INTERACTIVE": "never",
        # whatever is configured: no transport that is a command (ext::, fd::)
        "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),
        "GIT_NO_LAZY_FETCH": "1",
    }
    return kept | quiet | dict(own or {})
