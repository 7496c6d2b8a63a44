"""An allow and a deny list of commands and directories, off by default.

It keeps an honest model on the path. It is no sandbox: an allowed program can start any other one, and a shell has
many ways to write a command down. What must not happen has to be prevented by the system (users, containers).
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence

from unhang.core.policy.builtin import command_name
from unhang.core.policy.pieces import pieces_of
from unhang.errors import UsageError
from unhang.faces.mcp.settings import Settings


class Refused(UsageError):
    """The server's own lists say no."""


def check(settings: Settings, command: str | Sequence[str], cwd: str) -> None:
    """Raises Refused with one line that names the list."""
    _check_directory(settings, cwd)
    if not (settings.allow_commands or settings.deny_commands):
        return
    parts = pieces_of(command)
    if settings.allow_commands and not parts:
        raise Refused("refused: no command is recognised in this line, and only listed ones are allowed")
    for part in parts:
        # as written and after each wrapper: `sudo rm` is both `sudo` and `rm`
        layers = [words for words, _ in part.layers if words]
        denied = _first(settings.deny_commands, layers)
        if denied is not None:
            raise Refused(f"refused: {' '.join(layers[-1])[:80]!r} matches the denied command {denied!r}")
        if settings.allow_commands and not all(_first(settings.allow_commands, [words]) for words in layers):
            raise Refused(
                f"refused: {' '.join(layers[-1])[:80]!r} is not among the allowed commands: "
                + ", ".join(settings.allow_commands)
            )


def _first(patterns: tuple[str, ...], layers: list[tuple[str, ...]]) -> str | None:
    """A pattern is a command's name (`git`), or the beginning of its line with wildcards (`git push*`)."""
    for pattern in patterns:
        for words in layers:
            line = " ".join((command_name(words[0]), *words[1:]))
            if fnmatch.fnmatchcase(command_name(words[0]), pattern) or fnmatch.fnmatchcase(line, pattern):
                return pattern
    return None


def _check_directory(settings: Settings, cwd: str) -> None:
    real = os.path.realpath(cwd)
    for folder in settings.deny_dirs:
        if _inside(real, folder):
            raise Refused(f"refused: {cwd} is inside the denied directory {folder}")
    if settings.allow_dirs and not any(_inside(real, folder) for folder in settings.allow_dirs):
        raise Refused(f"refused: {cwd} is not inside an allowed directory: {', '.join(settings.allow_dirs)}")


def _inside(real: str, folder: str) -> bool:
    allowed = os.path.realpath(os.path.expanduser(folder))
    return real == allowed or real.startswith(allowed.rstrip("/") + "/")
