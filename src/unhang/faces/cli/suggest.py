"""What a person meant who typed a command or an option that does not exist."""

from __future__ import annotations

import difflib
import os

from unhang.core.spec import quote

# The words that people try, and what they look for.
OTHER_WORDS = {
    "stop": "cancel",
    "kill": "cancel",
    "end": "cancel",
    "terminate": "cancel",
    "abort": "cancel",
    "ls": "ps",
    "list": "ps",
    "jobs": "ps",
    "rm": "gc",
    "remove": "gc",
    "delete": "gc",
    "clean": "gc",
    "prune": "gc",
    "attach": "logs -f",
    "tail": "logs -f",
    "follow": "logs -f",
    "fg": "logs -f",
    "log": "logs",
    "output": "logs",
    "cat": "logs",
    "info": "status",
    "show": "status",
    "inspect": "status",
    "describe": "status",
    "answer": "send",
    "input": "send",
    "write": "send",
    "rerun": "restart",
    "retry": "restart",
    "inbox": "needs",
    "todo": "needs",
    "why": "diagnose",
    "explain": "policy explain",
    "limits": "policy explain",
    "exec": "run --",
    "bg": "start --",
    "spawn": "start --",
    "submit": "start --",
    "check": "doctor",
    "more": "extend",
    "version": "--version",
}


def instead_of_command(argv: list[str], commands: list[str]) -> str:
    """Return what to type instead of a command line whose first word is no command."""
    name, rest = argv[0], " ".join(map(quote, argv[1:]))
    word = OTHER_WORDS.get(name.lower())
    if word is None and name.lower() in commands:
        word = name.lower()
    if word is not None:
        return f"use: unhang {word} {rest}".rstrip()
    close = difflib.get_close_matches(name, commands, 1, 0.7)
    if close:
        return f"did you mean: unhang {close[0]} {rest}".rstrip()
    if _is_program(name):
        return f"to run a program: unhang run -- {quote(name)} {rest}".rstrip()
    exchanged = [each for each in commands if sorted(each) == sorted(name)]
    if exchanged:
        return f"did you mean: unhang {exchanged[0]} {rest}".rstrip()
    return "see: unhang --help"


def instead_of_option(message: str, options: list[str]) -> str:
    """Return "; did you mean --idle?" for argparse's message about an option that is nearly one of these; else ""."""
    words = [word.partition("=")[0] for word in message.replace(",", " ").split() if word.startswith("-")]
    named = {option.lstrip("-"): option for option in options}  # the dashes that all have make no two alike
    for word in words if message.startswith(("unrecognized", "unknown")) else []:
        close = difflib.get_close_matches(word.lstrip("-"), named, 1, 0.6)
        if close:
            return f"; did you mean {named[close[0]]}?"
    return ""


# How programs say that they do not know an option.
_NOT_KNOWN = ("unrecogni", "unknown", "invalid", "illegal", "no such", "not recogni", "unexpected", "not defined")


def option_behind(command: list[str], options: list[str], said: str) -> str:
    """Return the option of unhang that stands behind the command it was meant for; else "".

    Many programs have an option of the same name: it is one of ours if the program said that it does not know it.
    """
    given = [word.partition("=")[0] for word in command[1:] if word.startswith("--")]
    lines = [line for line in said.splitlines() if any(word in line.lower() for word in _NOT_KNOWN)]
    return next((name for name in given if name in options and any(name in line for line in lines)), "")


def instead_of_choice(message: str, choices: list[str], prog: str) -> str:
    """Return argparse's message about a word that is none of these choices, with the one that was meant.

    `prog`: the command whose verbs they are; empty: they are values of an option.
    """
    _, found, rest = message.partition("invalid choice: '")
    word = rest.partition("'")[0]
    if not found:
        return message
    close = difflib.get_close_matches(word, choices, 1, 0.6)
    meant = f"; did you mean {prog + ' ' if prog else ''}{close[0]}?" if close else ""
    if prog:
        return f"{prog.removeprefix('unhang ')} has no {word!r}{meant or '; it has ' + ', '.join(choices)}"
    return message + meant


def _is_program(name: str) -> bool:
    if "/" in name:
        return os.access(name, os.X_OK) and os.path.isfile(name)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(os.path.join(folder, name), os.X_OK) for folder in folders if folder)
