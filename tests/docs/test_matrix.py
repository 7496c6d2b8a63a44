"""The tables of docs/agents.md: every row names its tests, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.places import ROOT, TESTS

_NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def _lines() -> list[str]:
    return (ROOT / "docs" / "agents.md").read_text(encoding="utf-8").splitlines()


def rows() -> list[tuple[Path, str]]:
    """The rows of the tables with a column of tests, each with the folder that their names begin at."""
    found: list[tuple[Path, str]] = []
    folder = TESTS
    inside = False
    for line in _lines():
        if line.startswith("## "):
            folder = TESTS / "sessions" if line.startswith("## Sessions") else TESTS
        if line.endswith("| tests |"):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            found.append((folder, line))
    return found


@pytest.mark.parametrize(("folder", "row"), rows(), ids=lambda given: given[2:40] if isinstance(given, str) else "")
def test_every_row_names_tests_that_exist(folder: Path, row: str) -> None:
    named = _NAMED.findall(row.split(" | ")[-1])
    assert named
    for file, test in named:
        assert f"def {test}(" in (folder / file).read_text(encoding="utf-8")


def test_both_tables_say_what_the_model_is_told() -> None:
    heads = [line for line in _lines() if line.endswith("| tests |") and "| hang |" in line]
    assert len(heads) == 2
    assert all("the model is told" in head for head in heads)


def test_all_tables_are_read() -> None:
    assert len(rows()) >= 40
