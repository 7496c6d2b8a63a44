"""The tutorial is a recording, and the terminal still shows what it shows."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.docs.blocks import stage, transcript
from tests.support.places import ROOT
from tests.support.programs import need_command

sys.path.insert(0, str(ROOT / "scripts"))

import first_hour


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_tutorial_and_the_readme_play_as_they_are_written(tmp_path: Path) -> None:
    """The terminal shows what the tutorial shows; else run: python scripts/first_hour.py --here --write.

    Then the README is pasted at the same terminal. Every command ends with the exit code that its block says.
    """
    need_command("tmux")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    played = [block for block in first_hour.recorded(first_hour.TUTORIAL) if "install" not in block.words]
    # a short path, as a person's is: a long one would be broken where the recording has it whole
    with (
        tempfile.TemporaryDirectory(prefix="h", ignore_cleanup_errors=True) as home,
        stage(tmp_path, Path(home)) as made,
        first_hour.terminal(tmp_path, made.home, path) as term,
    ):
        wrong = [first_hour.play(block, term)[1] for block in played]
        wrong += [first_hour.paste(block, term) for block in first_hour.pasted()]
        assert made.running() == []
    assert "\n".join(filter(None, wrong)) == ""


def test_the_tutorial_fits_80_columns_and_shows_output() -> None:
    blocks = first_hour.recorded(first_hour.TUTORIAL)
    assert len(blocks) > 10
    for block in blocks:
        assert [line for line in block.text.splitlines() if len(line) > 80] == []
    shown = [output for block in blocks for _, output in transcript(block.text)]
    assert sum(bool(output) for output in shown) > len(shown) / 2


def test_a_step_that_looks_different_is_found() -> None:
    block = next(b for b in first_hour.recorded(first_hour.TUTORIAL) if "unhang policy explain" in b.text)
    assert first_hour.difference(block, block.text) == ""
    changed = "".join(f"$ {command}\nsomething else\n" for command, _ in transcript(block.text))
    assert first_hour.difference(block, changed) != ""
    assert first_hour.difference(block, block.text.replace("category", "kind", 1)) != ""


def test_in_a_live_step_a_label_that_has_changed_is_found() -> None:
    """How far things have come may differ there; what its lines are called may not."""
    block = next(b for b in first_hour.recorded(first_hour.TUTORIAL) if "unhang status first" in b.text)
    assert "live" in block.words
    assert first_hour.difference(block, block.text.replace("running", "stopping").replace("4m 52s", "3m")) == ""
    for label, other in (("ENDS IN", "LEFT"), ("has run", "duration"), ("directory ", "folder    ")):
        assert label in block.text
        assert first_hour.difference(block, block.text.replace(label, other, 1)) != "", label
    lines = block.text.splitlines(keepends=True)
    assert first_hour.difference(block, "".join(line for line in lines if not line.startswith("pid"))) != ""
