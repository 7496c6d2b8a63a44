"""Reads a plain command line of `run`, `start` or `mcp` without argparse, whose import takes as long as starting a job.

The options are those that the command's own `configure` adds. A line is plain if every option is written out and has
its value, and nothing is wrong with it. Everything else, such as `--help`, a verb or a mistake, is left to argparse.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any

    from unhang.faces.cli.command_module import Command

# As argparse has it: everything from the first word on that is no option and no value of one.
REST_OF_LINE = "..."
# What an option without a value stands for.
_FLAGS = {"store_true": True, "store_false": False}
_UNSET = object()


class _NotPlain(Exception):
    """The line needs argparse."""


class _Arguments:
    """What a line says, as attributes."""


class _Option:
    """An option of a command."""

    def __init__(self, dest: str, action: str, read: Callable[[str], Any], choices: Sequence[str] | None) -> None:
        self.dest = dest
        self.action = action
        self._read = read
        self._choices = choices

    def value_of(self, word: str) -> Any:
        """Return what a word means as its value; raise _NotPlain if it is none."""
        try:
            value = self._read(word)
        except (TypeError, ValueError):
            raise _NotPlain from None
        if self._choices is not None and value not in self._choices:
            raise _NotPlain
        return value


class PlainLine:
    """Takes the options of a command as a parser of argparse does, and reads plain lines."""

    def __init__(self) -> None:
        self._options: dict[str, _Option] = {}
        self._defaults: dict[str, Any] = {}
        self._rest = ""

    def add_argument_group(self, *_words: str) -> PlainLine:
        """Return what takes the options of a group of the help text."""
        return self

    def add_argument(
        self,
        name: str,
        *,
        action: str = "store",
        type: Callable[[str], Any] = str,
        choices: Sequence[str] | None = None,
        default: Any = _UNSET,
        dest: str = "",
        nargs: str | None = None,
        **_words: str,
    ) -> None:
        """Add an option, or the rest of the line. `_words`: `help` and `metavar`, for the help text."""
        if nargs == REST_OF_LINE:
            self._rest = name
            return
        dest = dest or name.removeprefix("--").replace("-", "_")
        if default is _UNSET:
            default = not _FLAGS[action] if action in _FLAGS else None
        self._defaults.setdefault(dest, default)
        self._options[name] = _Option(dest, action, type, choices)

    def add_subparsers(self, *, dest: str, **_words: str) -> _Verbs:
        """Return what takes the verbs of the command; a line that has one is not plain."""
        self._defaults[dest] = None
        return _Verbs()

    def read(self, words: list[str]) -> argparse.Namespace | None:
        """Return what the line says; None: it is not plain."""
        found: Any = _Arguments()
        vars(found).update(self._defaults)
        try:
            at = 0
            while at < len(words) and words[at].startswith("-"):
                at += self._take(words[at : at + 2], vars(found))
        except _NotPlain:
            return None
        if self._rest:
            setattr(found, self._rest, words[at:])
        elif at < len(words):
            return None
        arguments: argparse.Namespace = found
        return arguments

    def _take(self, words: list[str], found: dict[str, Any]) -> int:
        """Note the option that the first word is, and its value; return how many of the words they are."""
        name, equals, given = words[0].partition("=")
        option = self._options.get(name)
        if option is None:
            raise _NotPlain
        if option.action in _FLAGS:
            if equals:
                raise _NotPlain
            found[option.dest] = _FLAGS[option.action]
            return 1
        if not equals and (len(words) < 2 or words[1].startswith("-")):
            raise _NotPlain
        value = option.value_of(given if equals else words[1])
        found[option.dest] = [*found[option.dest], value] if option.action == "append" else value
        return 1 if equals else 2


class _Verbs:
    """Takes the verbs of a command and their options, and keeps none."""

    def add_parser(self, _name: str, **_words: str) -> _Verbs:
        """Return what takes the options of a verb."""
        return self

    def add_argument(self, *_names: str, **_words: Any) -> None:
        """Take an option."""


def options_of(configure: Callable[[Any], None]) -> list[str]:
    """Return the names of the options that the function adds to a parser."""
    line = PlainLine()
    configure(line)
    return list(line._options)


def read(command: Command, words: list[str]) -> argparse.Namespace | None:
    """Return what the words behind a command say; None: argparse has to read them."""
    line = PlainLine()
    taker: Any = line
    command.configure(taker)
    return line.read(words)
