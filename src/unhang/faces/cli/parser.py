"""Builds the parser of one command."""

from __future__ import annotations

import argparse
import os

from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from unhang.faces.cli.command_module import Command


class _Help(argparse.RawDescriptionHelpFormatter):
    """Writes the help as wide as the terminal.

    argparse makes a formatter for every option that is added, and its own asks `shutil` for the width, which loads
    the compression libraries: a twentieth of the time that `unhang run -- true` takes.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        """Show the command behind the options, and several jobs, as what they are, where argparse has three dots."""
        if action.nargs == argparse.REMAINDER and isinstance(action.metavar, str):
            return action.metavar
        if isinstance(action.metavar, str) and action.metavar.endswith("…"):
            return f"[{action.metavar}]" if action.nargs == argparse.ZERO_OR_MORE else action.metavar
        return super()._format_args(action, default_metavar)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep the lines as they are, and break those by words that the terminal would break anywhere."""
        from unhang.core.wrap import wrapped  # few ask for help

        lines: list[str] = []
        for line in super()._fill_text(text, width, indent).splitlines():
            margin = line[: len(line) - len(line.lstrip())]
            broken = [line] if len(line) <= width else wrapped(line, width - len(margin), "")
            lines += broken if broken == [line] else [margin + part for part in broken]
        return "\n".join(lines)


def columns() -> int:
    """Return how wide the terminal is that help is written to; 80 where that is no terminal."""
    words = os.environ.get("COLUMNS", "")
    if words.isdecimal() and int(words) > 0:
        return int(words)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line: what is wrong, and which command prints the help.

    argparse makes those of the verbs by calling this class.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Help, **options})

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the message and the command that prints the help."""
        from unhang.faces.cli.suggest import instead_of_choice, instead_of_option

        verbs = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        choices = [str(choice) for action in self._actions for choice in action.choices or ()]
        message = instead_of_choice(message, choices, self.prog if verbs else "")
        if message.startswith("the following arguments are required: JOB"):
            message += "; a job is meant by its name, its id or @last, and unhang ps --all lists them"
        options = [option for action in self._actions for option in action.option_strings]
        raise UsageError(f"{message}{instead_of_option(message, options)} (see: {self.prog} --help)")

    def parse_known_args(  # type: ignore[override]
        self, args: list[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Do as argparse does; a verb names itself what it does not know, since its command knows other options."""
        found, rest = super().parse_known_args(args, namespace)
        if rest and self.prog.count(" ") > 1:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Parse the words; options may stand anywhere, except where the rest of the line belongs to a command."""
        fixed = any(action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in self._actions)
        return self.parse_args(words) if fixed else self.parse_intermixed_args(words)


def add_verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, description: str
) -> argparse.ArgumentParser:
    """Return the parser of one verb of a command; the first sentence of its description is its line in the help."""
    first = description.partition(". ")[0].removesuffix(".") + "."
    return verbs.add_parser(name, help=first, description=description)


def parser_of(name: str, command: Command, epilog: str) -> Parser:
    """Return the parser of one command, with the command's options added."""
    # argparse asks gettext for each of its words. Python has no translations of them, and the search alone loads
    # `locale`: a thirtieth of the time that `unhang run -- true` takes.
    argparse._ = str  # type: ignore[attr-defined]
    parser = Parser(prog=f"unhang {name}", description=command.SUMMARY, epilog=epilog)
    command.configure(parser)
    return parser
