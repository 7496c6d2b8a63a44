"""The program of an agent: where it is, and which of its versions are known to work."""

from __future__ import annotations

import os

from unhang.core.record import Record
from unhang.errors import SpawnError
from unhang.procs.spawn import find_program


def find(name: str, hint: str) -> str:
    """Return the absolute path of a program. Raises SpawnError with what to do."""
    try:
        return os.path.abspath(find_program(name, os.environ.get("PATH", os.defpath)))
    except SpawnError as error:
        raise SpawnError(f"{error}: {hint}", error.exit_code) from None


def install_hint(install: str, name: str) -> str:
    """Return what to do about a program that is not there. `install`: the command that installs it."""
    return f"install it ({install}), or say where it is with --{name}"


class AgentProgram(Record):
    """The program of an agent: how it is found, which version it has, and what works with it."""

    name: str
    variable: str  # of the environment: where it is
    install: str  # the command that installs it
    needed_for: str
    version_word: int  # of what `--version` prints, the word that is the version
    oldest: tuple[int, ...]  # that was tried
    works: str  # what works with the versions that were tried
    attempt: str  # what to try with a version whose number says nothing

    def find(self, given: str | None = None) -> str:
        """Return the program: as given, by its variable, or on the PATH. Raises SpawnError with what to do."""
        return find(given or os.environ.get(self.variable) or self.name, install_hint(self.install, self.name))

    def version_of(self, path: str) -> tuple[str | None, str]:
        """Return the version that a program prints (None: it prints none), and what works with it."""
        import subprocess

        try:
            argv = [path, "--version"]
            ran = subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            return None, ""
        printed = ran.stdout.decode("utf-8", "replace").split()
        if ran.returncode != 0 or not printed:
            return None, ""
        version = printed[self.version_word]
        try:
            number = tuple(int(part) for part in version.split("-")[0].split("."))
        except ValueError:
            return version, f"an unknown version; try `{self.attempt}`"
        if number < self.oldest:
            return version, f"older than {'.'.join(map(str, self.oldest))}, the oldest version that was tried"
        return version, self.works
