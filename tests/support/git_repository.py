"""A Git repository on disk, and what git says of it; nothing of the user's configuration is read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.programs import need_command


class Repository:
    """A repository with one commit on `main`: `kept`, `changed`, `removed`, and a `.gitignore` of `*.o`."""

    def __init__(self, folder: Path) -> None:
        need_command("git")
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        for name in ("kept", "changed", "removed"):
            (folder / name).write_text(f"{name}\n")
        (folder / ".gitignore").write_text("*.o\n")
        self.commit("first")

    def git(self, *words: str, **env: str) -> str:
        """What a git command prints, in this repository."""
        return git(self.folder, *words, **env)

    def commit(self, message: str) -> str:
        """Commit all that is there; the commit's number."""
        self.git("add", "--all")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def commit_of(self, name: str, text: str) -> str:
        """Commit a file; the commit's number."""
        (self.folder / name).write_text(text)
        return self.commit(name)

    def patched(self, folder: Path, patch: bytes, revision: str = "main") -> dict[str, bytes]:
        """The files of a revision with a patch: names and contents."""
        git(folder.parent, "clone", "-q", str(self.folder), str(folder))
        git(folder, "checkout", "-q", "--detach", revision)
        if patch:
            subprocess.run(["git", "apply", "--index", "-"], cwd=folder, input=patch, check=True)
        return files_in(folder)


def git(folder: Path, *words: str, **env: str) -> str:
    """What a git command prints, as a person who is called nothing in particular."""
    person = {f"GIT_{role}_{what}": "x@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    plain = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=dict(os.environ) | person | plain | env, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def files_in(folder: Path) -> dict[str, bytes]:
    """The files of a checkout, without git's own."""
    found = [path for path in folder.rglob("*") if ".git" not in path.relative_to(folder).parts and path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
