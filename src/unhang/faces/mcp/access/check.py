"""An allow list and a deny list of commands and directories, both empty by default.

The lists keep an honest model from mistakes. They are no sandbox: a program that is allowed can do anything, and
scripts are not examined. A line that cannot be read is never allowed: if it is not certain which programs a line
starts, it is refused. So is code for an interpreter that stands on the line itself.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence

from unhang.core.policy.builtin import command_name
from unhang.core.policy.shell import strict_reader
from unhang.core.policy.shell.strict_reader import HOLE, Uncertain, Word
from unhang.errors import UsageError
from unhang.faces.mcp.access import wrappers
from unhang.faces.mcp.settings import Settings

# How deep lines may be nested in lines and wrappers in wrappers, and how many commands one line may have.
_DEEPEST = 8
_MOST = 5000
# Variables whose values shells run or the dynamic linker loads.
_STEERING = frozenset({"ENV", "BASH_ENV", "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS"})
_STEERING_PREFIXES = ("LD_", "DYLD_", "BASH_FUNC_")


class AccessRefused(UsageError):
    """The lists of this server forbid the command or the directory."""


def check_access(
    settings: Settings, command: str | Sequence[str], cwd: str, environ: Mapping[str, str] | None = None
) -> None:
    """Raise AccessRefused, with one line that names the list, unless the lists allow the command in this directory.

    `environ`: the variables that the caller wants to set.
    """
    _check_directory(settings, cwd)
    if settings.allow_commands or settings.deny_commands:
        try:
            _Lists(settings).check(command, environ or {})
        except Uncertain as why:
            raise AccessRefused(f"refused: cannot tell what this runs: {why}") from None


class _Lists:
    def __init__(self, settings: Settings) -> None:
        self._allow = settings.allow_commands
        self._deny = settings.deny_commands
        self._judged = 0

    def check(self, command: str | Sequence[str], environ: Mapping[str, str]) -> None:
        for name in environ:
            self._variable(name)
        if isinstance(command, str):
            if not self._line(command, 0) and self._allow:
                raise AccessRefused("refused: no command is recognised in this line, and only listed ones are allowed")
        else:
            self._words(tuple(Word(word) for word in command), None, 0)

    def _line(self, line: str, depth: int) -> int:
        """Check a shell line, and return how many commands it has."""
        if depth > _DEEPEST:
            raise Uncertain("lines are nested too deep")
        commands = strict_reader.read(line, depth)
        for command in commands:
            for name in command.assigned:
                self._variable(name)
            if command.words:
                self._words(command.words, command.body, depth)
        return sum(1 for command in commands if command.words)

    def _variable(self, name: str) -> None:
        if name in _STEERING or name.startswith(_STEERING_PREFIXES) or (name == "PATH" and self._allow):
            raise Uncertain(f"{name} changes what is run")

    def _words(self, words: tuple[Word, ...], body: str | None, depth: int) -> None:
        """Check one simple command and the commands that it runs in its turn."""
        self._judged += 1
        if depth > _DEEPEST or self._judged > _MOST:
            raise Uncertain("commands are nested too deep, or there are too many")
        name = _name(words[0])
        self._denied(words)
        inner = wrappers.commands_inside(name, words, body)
        if inner.code and not self._allowed(words):
            raise Uncertain(f"{inner.code}; only an interpreter that is on the allow list may be given code")
        if not inner.transparent and self._allow and not self._allowed(words):
            raise AccessRefused(
                f"refused: {_shown(words)!r} is not among the allowed commands: {', '.join(self._allow)}"
            )
        for variable in inner.variables:
            self._variable(variable)
        for line in inner.lines:
            self._line(line, depth + 1)
        for further in inner.commands:
            self._words(further, None, depth + 1)
        if inner.perhaps:
            if self._allow and not inner.optional:
                raise Uncertain(f"an option of {name} is not known here")
            self._denied(inner.perhaps)

    def _denied(self, words: tuple[Word, ...]) -> None:
        """Raise AccessRefused if the deny list has this command.

        A pattern is the name of a command (`git`), or the beginning of its line with wildcards (`git push*`).
        """
        texts = _texts(words)
        for pattern in self._deny:
            if fnmatch.fnmatchcase(texts[0], pattern) or fnmatch.fnmatchcase(" ".join(texts), pattern):
                raise AccessRefused(f"refused: {_shown(words)!r} matches the denied command {pattern!r}")
            if not all(word.certain for word in words[1:]) and _could_match(pattern, texts, words):
                raise Uncertain(f"{_shown(words)!r} may turn out to match the denied command {pattern!r}")

    def _allowed(self, words: tuple[Word, ...]) -> bool:
        texts = _texts(words)
        line = " ".join(texts)
        return any(fnmatch.fnmatchcase(texts[0], one) or fnmatch.fnmatchcase(line, one) for one in self._allow)


def _name(word: Word) -> str:
    if word.bare and word.text in strict_reader.GRAMMAR:  # in bash after `time`, which is a program in other shells
        raise strict_reader.of_one_shell(word.text)
    if not word.named or "\\" in word.text:
        raise Uncertain(f"{_shown((word,))!r} is not the written-out name of a command")
    return command_name(word.text)


def _texts(words: tuple[Word, ...]) -> list[str]:
    """Return the texts of the words, the first without its directory.

    A hole becomes two characters, so that the wildcard ? does not match it.
    """
    return [command_name(words[0].text), *(word.text.replace(HOLE, HOLE * 2) for word in words[1:])]


def _could_match(pattern: str, texts: list[str], words: tuple[Word, ...]) -> bool:
    """Whether a line whose words are not all known may match: a known word before the first unknown one decides."""
    tokens = pattern.split(" ")
    for number, token in enumerate(tokens):
        if number >= len(words):
            return False
        if number > 0 and not words[number].certain:
            return True
        wild = min((token.index(char) for char in "*?[" if char in token), default=-1)
        if wild >= 0:
            return texts[number].startswith(token[:wild])
        if texts[number] != token:
            return False
    return len(tokens) > 1


def _shown(words: tuple[Word, ...]) -> str:
    return " ".join(word.text.replace(HOLE, "…") for word in words)[:80]


def _check_directory(settings: Settings, cwd: str) -> None:
    real = os.path.realpath(cwd)
    for folder in settings.deny_dirs:
        if _inside(real, folder):
            raise AccessRefused(f"refused: {cwd} is inside the denied directory {folder}")
    if settings.allow_dirs and not any(_inside(real, folder) for folder in settings.allow_dirs):
        raise AccessRefused(f"refused: {cwd} is not inside an allowed directory: {', '.join(settings.allow_dirs)}")


def _inside(real: str, folder: str) -> bool:
    allowed = os.path.realpath(os.path.expanduser(folder))
    return real == allowed or real.startswith(allowed.rstrip("/") + "/")
