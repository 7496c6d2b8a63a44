"""Makes the reference of the command line from the parsers themselves: docs/cli.md, and one man page for each command.

    python scripts/cli_docs.py            writes docs/cli.md; a test fails when it is out of date
    python scripts/cli_docs.py man DIR    writes DIR/unhang.1, DIR/unhang-run.1 …; `make man` and an install do so

Own layout instead of argparse's: that one changes between versions of Python.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import unhang
from unhang.faces.cli.command_module import load
from unhang.faces.cli.main import COMMANDS, EPILOG
from unhang.faces.cli.parser import parser_of

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"

INTRODUCTION = """\
JOB is an id, a unique prefix of one, the name of a job, or `@last`. Durations: `90`, `90s`, `5m`, `1h30m`, `500ms`,
`0.5`; a bare number is seconds. `--stdin @FILE` takes a regular file or `/dev/null`; for a pipe or a device:
`cat PIPE | unhang run …`. stdout is data, stderr is talk; `NO_COLOR`, or a stderr that is no terminal, switches
colours off."""

ENVIRONMENT = (
    ("UNHANG_HOME", "the state directory (default: `$XDG_STATE_HOME/unhang`, else `~/.local/state/unhang`)"),
    ("UNHANG_POLICY", "the policy file, as with --policy"),
    (
        "UNHANG_STALL",
        "the stall time, as with --stall, of every job and turn for which none is given, instead of a policy's",
    ),
    ("UNHANG_DEBUG", "1: print a keeper's traceback"),
    ("NO_COLOR", "any value: no colours"),
)


@dataclass(frozen=True)
class Argument:
    """One option or word of a command, with its meaning."""

    name: str
    meaning: str


@dataclass(frozen=True)
class Section:
    """One command or one verb of it: what it does, what it takes, and its own verbs."""

    name: str
    text: str
    synopsis: str
    arguments: tuple[Argument, ...]
    verbs: tuple[Section, ...]


def sections() -> list[Section]:
    """Every command, in the order of `unhang --help`."""
    found = []
    for name, module_name in COMMANDS.items():
        module = load(module_name)
        found.append(_section(parser_of(name, module, ""), module.SUMMARY))
    return found


def _section(parser: argparse.ArgumentParser, text: str) -> Section:
    arguments: list[Argument] = []
    verbs: list[Section] = []
    words: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help for choice in action._choices_actions}
            for name, below in action.choices.items():
                verbs.append(_section(below, below.description or summaries.get(name) or ""))
            words.append("COMMAND" if action.required else "[COMMAND]")
            continue
        arguments.append(Argument(_name(action), (action.help or "").replace("%%", "%")))
        if not action.option_strings:
            words.append(_word(action))
    options = ["[options]"] if any(argument.name.startswith("-") for argument in arguments) else []
    synopsis = " ".join([parser.prog, *options, *words])
    return Section(parser.prog, _sentence(text), synopsis, tuple(arguments), tuple(verbs))


def _name(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else None
    if not action.option_strings:
        return metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if action.nargs == 0:
        return ", ".join(action.option_strings)
    value = metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    return f"{', '.join(action.option_strings)} {f'[{value}]' if action.nargs == '?' else value}"


def _word(action: argparse.Action) -> str:
    name = _name(action)
    return f"[{name}]" if action.nargs in ("?", "*") and not name.startswith("[") else name


def _sentence(text: str) -> str:
    """The text with a capital at its beginning and a full stop at its end."""
    return text[:1].upper() + text[1:].removesuffix(".") + "." if text else ""


# -- docs/cli.md


def text() -> str:
    """Return the whole of docs/cli.md."""
    found = sections()
    lines = [
        "# The command line",
        "",
        "Made by `scripts/cli_docs.py` from the commands themselves, as the man pages are (`man unhang-run`).",
        "",
    ]
    lines += [f"- [`{section.name}`](#{section.name.replace(' ', '-')}) — {section.text}" for section in found]
    lines += ["", INTRODUCTION, "", _sentence(EPILOG), ""]
    lines += ["| variable | meaning |", "|---|---|", *(f"| `{name}` | {meaning} |" for name, meaning in ENVIRONMENT)]
    for section in found:
        lines += ["", *_markdown(section, "##")]
    return "\n".join(lines) + "\n"


def _markdown(section: Section, heading: str) -> list[str]:
    lines = [f"{heading} {section.name}", "", section.text, "", f"`{section.synopsis}`"]
    if section.arguments:
        lines += ["", "| option | meaning |", "|---|---|"]
        lines += [f"| `{_cell(a.name)}` | {_cell(a.meaning)} |" for a in section.arguments]
    for verb in section.verbs:
        lines += ["", *_markdown(verb, heading + "#")]
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# -- man pages


def man_pages() -> dict[str, str]:
    """File name → text of every man page: unhang.1, and one for each command."""
    found = sections()
    pages = {"unhang.1": _overview_page(found)}
    for section in found:
        pages[f"{section.name.replace(' ', '-')}.1"] = _command_page(section)
    return pages


def _overview_page(found: list[Section]) -> str:
    lines = [*_head("unhang", "run commands and agents so that nothing hangs unnoticed")]
    lines += [
        ".SH SYNOPSIS",
        r"\fBunhang\fR \fICOMMAND\fR \[u2026]",
        ".br",
        r"\fBunhang\fR \fICOMMAND\fR \fB\-\-help\fR",
    ]
    lines += [".SH DESCRIPTION", *_paragraph(INTRODUCTION), ".SH COMMANDS"]
    for section in found:
        lines += [".TP", rf"\fB{_roff(section.name.replace(' ', '-'))}\fR(1)", *_paragraph(section.text)]
    return "\n".join([*lines, *_tail(("unhang-run", "unhang-start", "unhang-policy"))]) + "\n"


def _command_page(section: Section) -> str:
    lines = _head(section.name.replace(" ", "-"), section.text.removesuffix("."))
    lines.append(".SH SYNOPSIS")
    for each in section.verbs or (section,):
        lines += [f".B {_roff(each.name)}", _roff(each.synopsis.removeprefix(each.name).strip()), ".br"]
    lines.pop()
    lines += [".SH DESCRIPTION", *_paragraph(section.text)]
    if section.arguments:
        lines += [".SH OPTIONS", *_options(section)]
    if section.verbs:
        lines.append(".SH COMMANDS")
        for verb in section.verbs:
            lines += _verb(verb)
    return "\n".join([*lines, *_tail(("unhang",))]) + "\n"


def _verb(section: Section) -> list[str]:
    lines = [f".SS {_roff(section.name)}", *_paragraph(section.text), *_options(section)]
    for verb in section.verbs:
        lines += _verb(verb)
    return lines


def _options(section: Section) -> list[str]:
    lines: list[str] = []
    for argument in section.arguments:
        lines += [".TP", rf"\fB{_roff(argument.name)}\fR", *_paragraph(argument.meaning)]
    return lines


def _head(name: str, summary: str) -> list[str]:
    title = f'.TH {name.upper()} 1 "" "unhang {unhang.__version__}" "unhang"'
    return [
        r".\" Made by scripts/cli_docs.py.",
        title,
        ".ad l",
        ".nh",
        ".SH NAME",
        f"{_roff(name)} \\- {_roff(_lower(summary))}",
    ]


def _lower(text: str) -> str:
    """A summary in lower case at its beginning, as whatis(1) shows it, unless it begins with a name."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _tail(see_also: tuple[str, ...]) -> list[str]:
    lines = [".SH EXIT STATUS", *_paragraph(_sentence(EPILOG.removeprefix("exit codes: ")))]
    lines.append(".SH ENVIRONMENT")
    for name, meaning in ENVIRONMENT:
        lines += [".TP", f".B {name}", *_paragraph(_sentence(meaning))]
    pages = [*see_also, "timeout"]
    return [*lines, ".SH SEE ALSO", ", ".join(rf"\fB{_roff(page)}\fR(1)" for page in pages)]


def _paragraph(text: str) -> list[str]:
    """Lines of running text: Markdown's code marks become bold, and no line is taken for a request."""
    shown = re.sub(r"`([^`]+)`", lambda found: rf"\fB{_roff(found[1])}\fR", _roff_but_marks(text))
    return [rf"\&{line}" if line.startswith((".", "'")) else line for line in shown.split("\n") if line.strip()]


def _roff_but_marks(text: str) -> str:
    """Escape what stands outside of code marks; what stands inside is escaped with its mark."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part.startswith("`") else _roff(part) for part in parts)


def _roff(text: str) -> str:
    shown = (
        text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("^", r"\(ha").replace("~", r"\(ti")
    )
    return re.sub(r"[^\x00-\x7f]", lambda found: rf"\[u{ord(found[0]):04X}]", shown)


def write_man_pages(folder: Path) -> None:
    """Write every man page into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in man_pages().items():
        (folder / name).write_text(page, encoding="ascii")


if __name__ == "__main__":
    if sys.argv[1:2] == ["man"]:
        write_man_pages(Path(sys.argv[2]))
    else:
        TARGET.write_text(text(), encoding="utf-8")
    sys.exit(0)
