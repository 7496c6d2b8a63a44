"""Builds the parser of one command."""

from __future__ import annotations

import argparse
import importlib

from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Protocol, cast

    from unhang.jobs.launcher import Launcher

    class Command(Protocol):
        """What a module of a command offers."""

        SUMMARY: str

        def configure(self, parser: argparse.ArgumentParser) -> None: ...
        def main(self, args: argparse.Namespace) -> int: ...

    class LaunchingCommand(Protocol):
        """What a module of a command offers that starts a job by the launcher it is given."""

        def main(self, args: argparse.Namespace, launcher: Launcher) -> int: ...


class Parser(argparse.ArgumentParser):
    """Errors are one line: what is wrong, and where to look."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Options may stand anywhere among the words, except where the rest of the line belongs to a command."""
        fixed = any(action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in self._actions)
        return self.parse_args(words) if fixed else self.parse_intermixed_args(words)


def load(module: str) -> Command:
    """The module of a command."""
    found = importlib.import_module(f"unhang.faces.cli.commands.{module}")
    return cast("Command", found) if TYPE_CHECKING else found


def load_launching(module: str) -> LaunchingCommand:
    """The module of a command that is given a launcher."""
    found = importlib.import_module(f"unhang.faces.cli.commands.{module}")
    return cast("LaunchingCommand", found) if TYPE_CHECKING else found


def parser_of(name: str, command: Command, epilog: str) -> Parser:
    parser = Parser(prog=f"unhang {name}", description=command.SUMMARY, epilog=epilog, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    command.configure(parser)
    return parser
