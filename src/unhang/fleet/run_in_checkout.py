"""Becomes the command of a job in a fresh checkout: `python -m unhang.fleet.run_in_checkout PLACE COMMAND…`.

It is what the keeper starts, so git is a part of the job: its words are in the job's output, its silence is explained
and ended as any other. The command then takes this process's place.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import NoReturn

from unhang.core.fleet.checkout import Checkout, is_commit, is_hash
from unhang.errors import EXIT_FAILED, SpawnError, UnhangError
from unhang.fleet import checkouts
from unhang.fleet.git import Git, GitFailed
from unhang.procs.spawn import SHELL, find_program
from unhang.store import removal


def main(place: str, command: list[str]) -> NoReturn:
    """Make the checkout and become the command; exit 125 if it cannot be made, 126 or 127 as a shell does."""
    try:
        tree = check_out(place, checkouts.wanted(place))
        os.chdir(tree)
        os.environ["PWD"] = tree
        _become(command)
    except (UnhangError, OSError) as error:
        print(f"unhang: {error}", file=sys.stderr, flush=True)
        sys.exit(getattr(error, "exit_code", EXIT_FAILED))


def check_out(place: str, wanted: Checkout) -> str:
    """Make the checkout anew, note which commit it is, and return the directory to run in."""
    tree = checkouts.tree_of(place)
    checkouts.note_base(place, None)
    if not removal.remove_tree(tree):
        raise GitFailed(f"the checkout of the attempt before cannot be removed: {tree}")
    # not in the place: what an attempt before has left there as `.git` would be read
    Git("/").call(
        "clone", "--no-checkout", "--no-local", "--template=", "--origin=origin", "--progress", "--", wanted.repo, tree
    )
    git = Git(tree)
    commit = _commit(git, wanted)
    git.call("checkout", "--quiet", "--detach", commit)
    checkouts.note_base(place, commit)
    return _folder(tree, wanted.folder)


def _folder(tree: str, wanted: str) -> str:
    """Return the directory to run in; raise GitFailed if the repository has a link there that leads out of it."""
    folder = os.path.join(tree, wanted) if wanted else tree
    top = os.path.realpath(tree)
    if os.path.commonpath([top, os.path.realpath(folder)]) != top:
        raise GitFailed(f"the directory {wanted} of the checkout is a link that leads out of it")
    return folder


def _commit(git: Git, wanted: Checkout) -> str:
    rev = wanted.rev
    # The whole number of a commit is that commit: the repository may have a branch or a tag of that name.
    whole = is_commit(rev)
    names = [] if whole else [f"refs/remotes/origin/{rev}", f"refs/tags/{rev}"]
    for name in [*names, *([rev] if is_hash(rev) else [])]:
        if found := _found(git, name, rev):
            return found
    try:  # what no branch leads to is not in a clone
        git.call("fetch", "--no-tags", "--progress", "origin", rev)
    except GitFailed:
        raise GitFailed(f"{wanted.repo} has no revision {rev}") from None
    if found := _found(git, rev if whole else "FETCH_HEAD", rev):
        return found
    raise GitFailed(f"{rev} of {wanted.repo} is no commit")


def _found(git: Git, name: str, rev: str) -> str:
    """Return the commit of this name; empty: there is none, or another than the one whose whole number is wanted."""
    found = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return "" if is_commit(rev) and found != rev.lower() else found


def _become(command: list[str]) -> NoReturn:
    program = find_program(command[0], os.environ.get("PATH", os.defpath))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and the command would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program, command)
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            os.execv(SHELL, [SHELL, program, *command[1:]])
        raise SpawnError(f"cannot start {command[0]}: {error.strerror}", EXIT_FAILED) from None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
