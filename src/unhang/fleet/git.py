"""Calls git, in a session of its own: without a terminal neither git nor ssh can ask a person anything."""

from __future__ import annotations

import os
import subprocess

from unhang.core.fleet.checkout import git_command, git_environment
from unhang.errors import UnhangError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SSH = "GIT_SSH_COMMAND"


class GitFailed(UnhangError):
    """A git command failed; what it said is in the output of the job."""


class Git:
    """Git in a directory. `own`: variables of git's that are set for every command."""

    def __init__(self, folder: str, own: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._env = git_environment(os.environ, own)
        if _SSH not in self._env and "GIT_SSH" not in self._env and not self.ask("config", "core.sshCommand"):
            self._env[_SSH] = "ssh -o BatchMode=yes"

    def call(self, *words: str, stdin: int = subprocess.DEVNULL) -> None:
        """Run a command whose words go to stderr; raise GitFailed."""
        process = self.start(*words, stdin=stdin, stdout=2)
        if process.wait() != 0:
            raise GitFailed(f"git {words[0]} failed (exit {process.returncode})")

    def ask(self, *words: str) -> str:
        """Return the line that a command prints; empty if it fails."""
        process = self.start(*words, stderr=subprocess.DEVNULL)
        said = process.communicate()[0].decode("utf-8", "surrogateescape").strip()
        return said if process.returncode == 0 else ""

    def names(self, *words: str) -> list[bytes]:
        """Return what a command prints, each with a NUL behind it; raise GitFailed."""
        process = self.start(*words)
        said = process.communicate()[0]
        if process.returncode != 0:
            raise GitFailed(f"git {words[0]} failed (exit {process.returncode})")
        return said.split(b"\0")[:-1]

    def start(
        self,
        *words: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a command."""
        try:
            return subprocess.Popen(
                git_command(*words),
                cwd=self._folder,
                env=self._env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise GitFailed("--checkout needs git, and this machine has none") from None
