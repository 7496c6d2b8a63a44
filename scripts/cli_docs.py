"""Writes docs/cli.md from the parsers themselves; a test fails when it is out of date.

Own layout instead of argparse's: that one changes between versions of Python.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from unhang.faces.cli.main import COMMANDS, EPILOG
from unhang.faces.cli.parser import load, parser_of

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"


INTRODUCTION = """\
JOB is an id, a unique prefix of one, the name of a job, or `@last`. Durations: `90`, `90s`, `5m`, `1h30m`, `500ms`,
`0.5`; a bare number is seconds. `--stdin @FILE` takes a regular file or `/dev/null`; for a pipe or a device:
`cat PIPE | unhang run …`. stdout is data, stderr is talk; `NO_COLOR`, or a stderr that is no terminal, switches
colours off. Environment: `UNHANG_HOME` (state directory), `UNHANG_POLICY` (policy file), `UNHANG_DEBUG=1` (a keeper's
traceback)."""


def options(parser: argparse.ArgumentParser) -> list[str]:
    lines: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                lines += ["", f"### {parser.prog} {name}", "", below.description or "", ""]
                lines += options(below)
            continue
        metavar = action.metavar if isinstance(action.metavar, str) else None
        if action.option_strings:
            value = "" if action.nargs == 0 else f" {metavar or '|'.join(map(str, action.choices or ['VALUE']))}"
            name = ", ".join(action.option_strings) + value
        else:
            name = metavar or action.dest
        text = (action.help or "").replace("|", "\\|")
        shown = name.replace("|", "\\|")
        lines.append(f"| `{shown}` | {text} |")
    head = next((i for i, line in enumerate(lines) if line.startswith("|")), None)
    if head is not None:
        lines[head:head] = ["| option | meaning |", "|---|---|"]
    return lines


def text() -> str:
    lines = ["# The command line", "", "Made by `scripts/cli_docs.py` from the commands themselves.", ""]
    lines += [f"- [`unhang {name}`](#unhang-{name}) — {load(module).SUMMARY}" for name, module in COMMANDS.items()]
    lines += ["", INTRODUCTION, "", EPILOG.replace("\n", " ")[0].upper() + EPILOG.replace("\n", " ")[1:] + ".", ""]
    for name, module_name in COMMANDS.items():
        module = load(module_name)
        lines += [f"## unhang {name}", "", module.SUMMARY[0].upper() + module.SUMMARY[1:] + ".", ""]
        lines += [*options(parser_of(name, module, "")), ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    sys.exit(0)
