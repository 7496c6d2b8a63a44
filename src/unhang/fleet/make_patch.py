"""Writes what a job has changed in its checkout: `python -m unhang.fleet.make_patch PLACE`, a job of its own.

The files are compared with the commit that was checked out, so what the job has committed is in the patch, too. The
checkout's own `.git` is not used but for its objects: the job may have set filters, hooks and programs there.
"""

from __future__ import annotations

import hashlib
import os
import sys

from unhang.core.fleet.checkout import LARGEST_PATCH
from unhang.core.sizes import human_size
from unhang.errors import UnhangError
from unhang.fleet import checkouts
from unhang.fleet.git import Git, GitFailed
from unhang.store import removal

# Of more than this no small patch can be expected; it is not even looked at.
_LARGEST_FILES = 32 * LARGEST_PATCH
_DIFF = ("--cached", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")


def main(place: str) -> int:
    """Write the patch, and beside it its size and hash, or why there is none; return 0 unless git failed."""
    try:
        data = make_patch(place)
    except PatchTooLarge as error:
        print(f"unhang: {error}", file=sys.stderr, flush=True)
        checkouts.note_patch(place, b"", {"why": str(error)})
        return 0
    except (UnhangError, OSError) as error:
        print(f"unhang: {error}", file=sys.stderr, flush=True)
        checkouts.note_patch(place, b"", {"why": f"no patch could be made: {error}"})
        return 1
    checkouts.note_patch(place, data, {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    return 0


class PatchTooLarge(UnhangError):
    """The job has changed more than is kept."""


def make_patch(place: str) -> bytes:
    """Return what was changed since the checkout. Raises PatchTooLarge and GitFailed."""
    tree, own = checkouts.tree_of(place), f"{place}/patch.git"
    base = checkouts.base_of(place)
    if not base:
        raise GitFailed("nothing was checked out")
    if os.path.islink(tree):
        raise GitFailed("the job has put a link in the place of its checkout")
    removal.remove_tree(own)
    Git(place).call("init", "--quiet", "--bare", "--template=", own)
    os.makedirs(f"{own}/objects/info", exist_ok=True)
    with open(f"{own}/objects/info/alternates", "w", encoding="utf-8") as file:
        file.write(f"{tree}/.git/objects\n")
    git = Git(tree, {"GIT_DIR": own, "GIT_WORK_TREE": tree})
    git.call("read-tree", base)
    if (size := _size_of_changes(git, tree)) > _LARGEST_FILES:
        raise PatchTooLarge(f"new and changed files of {human_size(size)} are too large for a patch: none was kept")
    git.call("add", "--all", "--", ".")
    process = git.start("diff-index", *_DIFF, "--src-prefix=a/", "--dst-prefix=b/", base)
    assert process.stdout is not None
    with process.stdout as pipe:
        data = pipe.read(LARGEST_PATCH + 1)
        if len(data) > LARGEST_PATCH:
            process.kill()
            process.wait()
            raise PatchTooLarge(f"the patch is larger than {human_size(LARGEST_PATCH)}, and was not kept")
    if process.wait() != 0:
        raise GitFailed(f"git diff-index failed (exit {process.returncode})")
    return data


def _size_of_changes(git: Git, tree: str) -> int:
    """Return how large the files are that are new or changed: git would copy all of them before it compares."""
    process = git.start("ls-files", "-z", "--others", "--modified", "--exclude-standard")
    names = process.communicate()[0].split(b"\0")
    size = 0
    for name in names:
        try:
            size += os.lstat(os.path.join(os.fsencode(tree), name)).st_size if name else 0
        except OSError:
            continue  # it was removed
    return size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
