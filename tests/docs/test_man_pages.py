"""The man pages: one for each command, made from the parsers, and man(1) has nothing to complain about."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.programs import need_command
from unhang.faces.cli.command_module import load
from unhang.faces.cli.main import COMMANDS
from unhang.faces.cli.parser import parser_of

sys.path.insert(0, str(ROOT / "scripts"))

import cli_docs


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    cli_docs.write_man_pages(folder)
    return folder


def rendered(*pages: Path, complaint: str = "") -> str:
    need_command("man")
    words = ["man", "--warnings=w", "-E", "UTF-8", "-l", *map(str, pages)]
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat", "PAGER": "cat"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0
    assert (complaint in done.stderr) if complaint else done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def every_page(pages: Path) -> str:
    return rendered(*sorted(pages.iterdir()))


def options_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The options of a command and of the verbs below it, but for --help and those that are kept from people."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from options_of(below)
        elif not isinstance(action, argparse._HelpAction) and action.help != argparse.SUPPRESS:
            for option in action.option_strings:
                yield parser.prog, option


def test_there_is_a_page_for_every_command_and_one_for_all(pages: Path) -> None:
    assert {page.name for page in pages.iterdir()} == {"unhang.1", *(f"unhang-{name}.1" for name in COMMANDS)}


def test_every_page_renders_without_a_warning_in_80_columns(every_page: str) -> None:
    for name in COMMANDS:
        assert f"UNHANG-{name.upper()}(1)" in every_page
    assert [line for line in every_page.splitlines() if len(line) > 80] == []


def test_the_check_itself_sees_a_warning(tmp_path: Path) -> None:
    page = tmp_path / "odd.1"
    page.write_text(".TH ODD 1\n.SH NAME\nodd \\- odd\n.NOSUCH macro\n")
    rendered(page, complaint="NOSUCH")


def test_a_page_has_every_option_of_its_command_and_of_its_verbs(every_page: str) -> None:
    # man(1) begins each page with its title; a verb has a heading of its own, and its options below it
    begun = re.split(r"^UNHANG-([A-Z-]+)\(1\) .*", every_page, flags=re.MULTILINE)[1:]
    pages = {title.lower(): text for title, text in zip(begun[::2], begun[1::2], strict=True)}
    assert {*pages} == {*COMMANDS}
    missing = []
    for command, module in COMMANDS.items():
        words_of: dict[str, set[str]] = {}
        section = f"unhang {command}"
        for line in pages[command].splitlines():
            if line.startswith(f"   unhang {command} "):
                section = line.strip()
            words_of.setdefault(section, set()).update(word.strip(",") for word in line.split())
        options = options_of(parser_of(command, load(module), ""))
        missing += [each for each in options if each[1] not in words_of.get(each[0], ())]
    assert missing == []


def test_nothing_in_the_reference_is_without_a_meaning() -> None:
    def empty(section: cli_docs.Section) -> list[str]:
        own = [f"{section.name} {argument.name}" for argument in section.arguments if not argument.meaning.strip()]
        own += [section.name] if not section.text else []
        return own + [name for verb in section.verbs for name in empty(verb)]

    assert [name for section in cli_docs.sections() for name in empty(section)] == []


def test_the_reference_has_no_table_header_twice() -> None:
    lines = cli_docs.text().splitlines()
    for first, second in zip(lines, lines[2:], strict=False):
        assert not (first.startswith("| option ") and second.startswith("| option "))


def test_markup_in_a_text_does_not_act_on_the_page(tmp_path: Path) -> None:
    section = cli_docs.Section(
        "unhang odd",
        ".TH is no request, 'so' neither.",
        "unhang odd [options]",
        (cli_docs.Argument("--back\\slash", "'tis `a\\b` – ünïcode"),),
        (),
    )
    page = tmp_path / "unhang-odd.1"
    page.write_text(cli_docs._command_page(section), encoding="ascii")
    text = rendered(page)
    assert ".TH is no request, 'so' neither." in text
    assert "--back\\slash" in text
    assert "'tis a\\b – ünïcode" in text
