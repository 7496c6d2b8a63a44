"""The command lines of unhang that documents show, checked against the parsers without running them."""

from __future__ import annotations

import argparse
import re
import shlex

from unhang.errors import UsageError
from unhang.faces.cli.command_module import load
from unhang.faces.cli.main import COMMANDS
from unhang.faces.cli.parser import parser_of

_CODE = re.compile(r"`(unhang [^`\n]+)`")
# not a command of ours, but of what stands around it
_STOPS = frozenset({"&&", "||", ";", "|", "&", "(", ")", ">", "<", ">>", ">&"})


def in_shell(text: str) -> list[list[str]]:
    """The words of every call of unhang in a shell block."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:  # a quotation that goes on in the next line
            continue
        for at, word in enumerate(words):
            if word == "unhang" and (at == 0 or words[at - 1] in _STOPS | {"$", "exec"} or "=" in words[at - 1]):
                call = words[at + 1 :]
                end = next((i for i, each in enumerate(call) if each in _STOPS), len(call))
                redirected = call[end : end + 1] == [">"] and call[end - 1 : end] == ["2"]
                # a variable may stand for a job or a number
                found.append([re.sub(r"^\$[!$\w]+$", "1", each) for each in call[: end - redirected]])
    return found


def in_prose(text: str) -> list[str]:
    """The calls of unhang in code spans."""
    without = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return _CODE.findall(without)


def complaint(words: list[str]) -> str:
    """What is wrong with a call of unhang; empty if its command exists and takes these words."""
    if not words or words[0] in ("--help", "--version", "-V", "help"):
        return ""
    name = words[0]
    if name not in COMMANDS:
        return f"no command {name}"
    parser = parser_of(name, load(COMMANDS[name]), "")
    rest = words[1:]
    if "--" in rest:
        rest = rest[: rest.index("--")]
    if {"-h", "--help"} & set(rest):
        return ""
    try:
        parser.parse(rest)
    except UsageError as error:
        return str(error)
    except SystemExit:
        return ""
    return ""


def options(name: str) -> set[str]:
    """Every option of a command and of its verbs."""

    def of(parser: argparse.ArgumentParser) -> set[str]:
        found: set[str] = set()
        for action in parser._actions:
            found |= set(action.option_strings)
            if isinstance(action, argparse._SubParsersAction):
                for below in action.choices.values():
                    found |= of(below)
        return found

    return of(parser_of(name, load(COMMANDS[name]), ""))
