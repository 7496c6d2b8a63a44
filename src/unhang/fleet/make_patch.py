"""Writes what a job has changed in its checkout: `python -m unhang.fleet.make_patch PLACE`, a job of its own.

The files are compared with the commit that was checked out, so what the job has committed is in the patch, too. The
checkout's own `.git` is not used but for its objects: the job may have set filters, hooks and programs there.
"""

from __future__ import annotations

import hashlib
import os
import stat as modes
import sys

from unhang.core.fleet.checkout import LARGEST_PATCH, object_format
from unhang.core.plain_text import quoted
from unhang.core.sizes import human_size
from unhang.errors import UnhangError
from unhang.fleet import checkouts
from unhang.fleet.git import Git, GitFailed
from unhang.store import removal

# Of more than this no small patch can be expected; it is not even looked at.
_LARGEST_FILES = 32 * LARGEST_PATCH
# A submodule, as the index names its kind.
_SUBMODULE = b"160000 "
# So many of what is not in a patch are named.
_NAMED = 5
_DIFF = ("--cached", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")


def main(place: str) -> int:
    """Write the patch, and beside it its size and hash, or why there is none; return 0 unless git failed."""
    try:
        data, left_out = make_patch(place)
    except PatchTooLarge as error:
        print(f"unhang: {error}", file=sys.stderr, flush=True)
        checkouts.note_patch(place, b"", {"why": str(error)})
        return 0
    except (UnhangError, OSError) as error:
        print(f"unhang: {error}", file=sys.stderr, flush=True)
        checkouts.note_patch(place, b"", {"why": f"no patch could be made: {error}"})
        return 1
    about = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    checkouts.note_patch(place, data, about | ({"why": left_out} if left_out else {}))
    return 0


class PatchTooLarge(UnhangError):
    """The job has changed more than is kept."""


def make_patch(place: str) -> tuple[bytes, str]:
    """Return what was changed since the checkout, and what is not in it. Raises PatchTooLarge and GitFailed."""
    tree, own = checkouts.tree_of(place), f"{place}/patch.git"
    base = checkouts.base_of(place)
    if not base:
        raise GitFailed("nothing was checked out")
    if os.path.islink(tree):
        raise GitFailed("the job has put a link in the place of its checkout")
    removal.remove_tree(own)
    _refuse_pipes(os.fsencode(tree))
    Git("/").call("init", "--quiet", "--bare", "--template=", f"--object-format={object_format(base)}", own)
    os.makedirs(f"{own}/objects/info", exist_ok=True)
    with open(f"{own}/objects/info/alternates", "w", encoding="utf-8") as file:
        file.write(f"{tree}/.git/objects\n")
    git = Git(tree, {"GIT_DIR": own, "GIT_WORK_TREE": tree})
    git.call("read-tree", base)
    changed = git.names("ls-files", "-z", "--others", "--modified", "--exclude-standard")
    if (size := _size(changed, tree)) > _LARGEST_FILES:
        raise PatchTooLarge(f"new and changed files of {human_size(size)} are too large for a patch: none was kept")
    left_out = [name.removesuffix(b"/") for name in changed if name.endswith(b"/")]
    _add_all(git, own, left_out)
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
    return data, _said_of(left_out)


def _refuse_pipes(tree: bytes) -> None:
    """Raise GitFailed for a pipe, or a link to one, where git reads a file: it would wait for a writer.

    Git reads its own files (`.gitattributes` and the like) in every folder, and those of repositories. It passes over
    pipes that are called otherwise.
    """
    folders = [(tree, False)]
    while folders:
        folder, in_repository = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue  # git says what it cannot read
        for entry in entries:
            of_git = in_repository or entry.name.startswith(b".git")
            if entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, in_repository or entry.name == b".git"))
            elif of_git and _is_pipe(entry.path):
                name = quoted(os.path.relpath(entry.path, tree).decode("utf-8", "replace"), 200)
                raise GitFailed(f"the job has left a pipe in the place of a file that git reads: {name}")


def _is_pipe(path: bytes) -> bool:
    try:
        return modes.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _size(names: list[bytes], tree: str) -> int:
    """Return how large the files are that are new or changed: git would copy all of them before it compares."""
    size = 0
    for name in names:
        try:
            size += os.lstat(os.path.join(os.fsencode(tree), name)).st_size
        except OSError:
            continue  # it was removed
    return size


def _add_all(git: Git, own: str, left_out: list[bytes]) -> None:
    """Take what is in the checkout, but for repositories that the job has made in it.

    A submodule is taken as the commit that it stands at: `git add` would look into it by its own configuration, and run
    the programs which that names.
    """
    submodules = [
        entry.partition(b"\t")[2] for entry in git.names("ls-files", "-z", "--stage") if entry.startswith(_SUBMODULE)
    ]
    paths = f"{own}/paths"
    with open(paths, "wb") as file:
        file.write(b"".join([b".\0", *(b":(exclude,literal)%s\0" % name for name in (*left_out, *submodules))]))
    git.call("add", "--all", f"--pathspec-from-file={paths}", "--pathspec-file-nul")
    if submodules:
        with open(paths, "wb") as file:
            file.write(b"".join(b"%s\0" % name for name in submodules))
        with open(paths, "rb") as file:
            git.call("update-index", "--add", "--remove", "-z", "--stdin", stdin=file.fileno())


def _said_of(left_out: list[bytes]) -> str:
    """Return what the patch does not have; empty: it has all."""
    if not left_out:
        return ""
    names = [quoted(name.decode("utf-8", "replace"), 60) for name in left_out[:_NAMED]]
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    return f"not in the patch, since they are repositories of their own: {', '.join(names)}{more}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
