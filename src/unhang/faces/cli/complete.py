"""What a shell may offer for the word that a person is typing, from the parsers themselves and from the jobs there are.

The scripts of `unhang completion` ask for it at every press of the key, so they never are out of date.
"""

from __future__ import annotations

import argparse
import os
from string import ascii_letters, digits

from unhang.faces.cli.command_module import load
from unhang.faces.cli.main import COMMANDS
from unhang.faces.cli.parser import parser_of

# Instead of candidates: the shell completes these itself.
FILES, DIRS, PROGRAM = ":files", ":dirs", ":program"
# Commands that mean something for running jobs only.
_LIVE = frozenset({"send", "extend", "cancel", "diagnose"})
_FOLLOWED_BY_PROGRAM = frozenset({"run", "start"})
_OF_FILES = frozenset({"FILE", "PATH", "file"})
# commands whose --label chooses among the jobs that are there
_CHOOSES_BY_LABEL = frozenset({"ps", "needs", "cancel", "gc", "wait", "report"})
# What means nothing to a shell, wherever in a word it stands.
_PLAIN = frozenset(ascii_letters + digits + "-_.,:=@%+/")


def candidates(words: list[str]) -> list[str]:
    """Return what may stand in the place of the last word; the first is `unhang` itself."""
    words, cut = _joined(words[1:] or [""])
    *before, current = words
    offered = _offered(before, current)
    if offered and offered[0] in (FILES, DIRS, PROGRAM):
        return offered
    fitting = sorted({word for word in offered if word.startswith(current) and _is_plain(word)})
    return [word[cut:] for word in fitting]


def _is_plain(word: str) -> bool:
    """Return whether a shell can put this word on the command line as it is.

    Bash does: `$(…)` in a label, or in a category of a downloaded project's policy, would run with the next Enter.
    """
    return all(character in _PLAIN or (character > "\x7f" and character.isalnum()) for character in word)


def _joined(words: list[str]) -> tuple[list[str], int]:
    """Put together what bash takes apart at `=`; and how much of the last word it does not count as that word."""
    made: list[str] = []
    cut = 0
    glue = False
    for word in words:
        if word == "=" and made:
            made[-1] += "="
            cut, glue = len(made[-1]), True
        elif glue:
            made[-1] += word
            glue = False
        else:
            made.append(word)
            cut = 0
    return made, cut


def _offered(before: list[str], current: str) -> list[str]:
    if not before:
        return [*COMMANDS, "help", "--help", "--version"]
    name, *before = before
    if name == "help" and not before:
        return list(COMMANDS)
    if name not in COMMANDS:
        return []
    if "--" in before:
        return [PROGRAM if before[-1] == "--" else FILES]
    parser: argparse.ArgumentParser = parser_of(name, load(COMMANDS[name]), "")
    typed: list[str] = []  # the words that are no options, since the last verb
    waiting: argparse.Action | None = None
    for word in before:
        if waiting is not None:
            waiting = None
        elif word.startswith("-"):
            waiting = _takes_value(parser, word)
        else:
            verbs = _verbs(parser)
            if word in verbs:
                parser, typed = verbs[word], []
            else:
                typed.append(word)
    if waiting is not None:
        return _values(name, waiting)
    if current.startswith("-"):
        return [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
    if typed and name in _FOLLOWED_BY_PROGRAM:
        return [FILES]
    return _positional(name, parser, len(typed))


def _takes_value(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    """Return the option whose value comes next; None if it has none, or has it already (--idle=5m)."""
    for action in parser._actions:
        if word in action.option_strings and action.nargs != 0:
            return action
    return None


def _verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _positional(name: str, parser: argparse.ArgumentParser, at: int) -> list[str]:
    """Return what may stand as the argument number `at`."""
    verbs = _verbs(parser)
    if verbs:
        return list(verbs)
    actions = [action for action in parser._actions if not action.option_strings]
    if not actions:
        return []
    action = actions[min(at, len(actions) - 1)]
    if at >= len(actions) and action.nargs not in ("*", "+"):
        return []
    if action.dest == "command" and name in _FOLLOWED_BY_PROGRAM:
        return [PROGRAM]
    return _values(name, action)


def _values(name: str, action: argparse.Action) -> list[str]:
    """Return the values that an option or an argument can have."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.dest == "job" or metavar in ("JOB", "JOB…"):
        return _jobs(live=name in _LIVE)
    if action.dest == "client":
        from unhang.installers import known_mcp_clients

        return list(known_mcp_clients.known(dict(os.environ)))
    if action.dest == "agent":
        from unhang.agents.acp import catalogue

        return list(catalogue.NAMES)
    if action.dest == "label":
        return _labels() if name in _CHOOSES_BY_LABEL else []
    if action.dest == "category":
        return _categories()
    if metavar in ("DIR", "PATH"):
        return [DIRS]
    return [FILES] if metavar in _OF_FILES or action.dest == "file" else []


def _jobs(*, live: bool) -> list[str]:
    from unhang.jobs.home import state_home
    from unhang.jobs.listing import list_jobs

    rows = list_jobs(state_home(), running_only=live)
    return [*(row.name for row in rows if row.name), *(row.id for row in rows), "@last"]


def _labels() -> list[str]:
    from unhang.jobs.home import state_home
    from unhang.jobs.listing import list_jobs

    return [f"{name}={value}" for row in list_jobs(state_home()) for name, value in row.labels.items()]


def _categories() -> list[str]:
    from unhang.jobs.policy import find_policy

    return list(find_policy(None, os.getcwd()).categories)
