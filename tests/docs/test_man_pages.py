"""The man pages: one for each command, made from the parsers, and man(1) has nothing to complain about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.programs import need_command
from unhang.faces.cli.main import COMMANDS

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


def test_there_is_a_page_for_every_command_and_one_for_all(pages: Path) -> None:
    assert {page.name for page in pages.iterdir()} == {"unhang.1", *(f"unhang-{name}.1" for name in COMMANDS)}


def test_every_page_renders_without_a_warning_in_80_columns(pages: Path) -> None:
    text = rendered(*sorted(pages.iterdir()))
    for name in COMMANDS:
        assert f"UNHANG-{name.upper()}(1)" in text
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_the_check_itself_sees_a_warning(tmp_path: Path) -> None:
    page = tmp_path / "odd.1"
    page.write_text(".TH ODD 1\n.SH NAME\nodd \\- odd\n.NOSUCH macro\n")
    rendered(page, complaint="NOSUCH")


def test_a_page_has_every_option_of_its_command_and_of_its_verbs(pages: Path) -> None:
    text = rendered(pages / "unhang-policy.1", pages / "unhang-run.1")
    for section in cli_docs.sections():
        if section.name in ("unhang policy", "unhang run"):
            for each in (section, *section.verbs):
                assert each.name in text
                assert all(argument.name.partition(" ")[0] in text for argument in each.arguments)


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
