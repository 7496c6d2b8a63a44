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

_DIFF = ("--cached", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")


def main(place: str) -> int:
    """Write the patch, and beside it its size and hash, or why there is none; return 0 unless git failed."""
    try:
        data = make_patch(place)
    except (UnhangError, OSError) as error:
        print(f"unhang: {error}", file=sys.stderr, flush=True)
        checkouts.note_patch(place, b"", {"why": f"no patch could be made: {error}"})
        return 1
    if data is None:
        why = f"the patch is larger than {human_size(LARGEST_PATCH)}, and was not kept"
        print(f"unhang: {why}", file=sys.stderr, flush=True)
        checkouts.note_patch(place, b"", {"why": why})
        return 0
    checkouts.note_patch(place, data, {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    return 0


def make_patch(place: str) -> bytes | None:
    """Return what was changed since the checkout; None: it is too large."""
    tree, own = checkouts.tree_of(place), f"{place}/patch.git"
    base = checkouts.base_of(place)
    if not base:
        raise GitFailed("nothing was checked out")
    removal.remove_tree(own)
    Git(place).call("init", "--quiet", "--bare", "--template=", own)
    os.makedirs(f"{own}/objects/info", exist_ok=True)
    with open(f"{own}/objects/info/alternates", "w", encoding="utf-8") as file:
        file.write(f"{tree}/.git/objects\n")
    git = Git(tree, {"GIT_DIR": own, "GIT_WORK_TREE": tree})
    git.call("read-tree", base)
    git.call("add", "--all", "--", ".")
    process = git.start("diff-index", *_DIFF, "--src-prefix=a/", "--dst-prefix=b/", base)
    assert process.stdout is not None
    with process.stdout as pipe:
        data = pipe.read(LARGEST_PATCH + 1)
        if len(data) > LARGEST_PATCH:
            process.kill()
            process.wait()
            return None
    if process.wait() != 0:
        raise GitFailed(f"git diff-index failed (exit {process.returncode})")
    return data


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
