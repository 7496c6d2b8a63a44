"""What the documents show can be pasted, and does what they show."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.docs.blocks import Block, alike, blocks, documents, scenes, stage, transcript
from tests.support.docs.commands import complaint, in_prose, in_shell, options
from tests.support.places import ROOT
from unhang.faces.cli.main import COMMANDS

CODE = ("sh", "python", "console", "bash", "shell")
ALL = [block for document in documents() for block in blocks(document)]


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: next(block.name for block in scene if block.runs))
def test_a_code_block_does_what_it_shows(scene: list[Block], tmp_path: Path) -> None:
    with stage(tmp_path) as made:
        for block in scene:
            made.play(block)
        assert made.running() == [], "a block leaves a job running"


@pytest.mark.parametrize("block", [b for b in ALL if b.language in CODE], ids=lambda block: block.name)
def test_a_block_of_code_is_run_or_says_what_it_needs(block: Block) -> None:
    assert block.language in ("sh", "python", "console")
    assert block.runs or block.value("needs") or block.value("file") or "recorded" in block.words


@pytest.mark.parametrize("block", [b for b in ALL if b.language in ("sh", "console")], ids=lambda block: block.name)
def test_every_call_of_unhang_in_a_block_is_one_that_it_understands(block: Block) -> None:
    text = block.text
    if block.language == "console":
        text = "\n".join(command for command, _ in transcript(text))
    assert [(words, complaint(words)) for words in in_shell(text) if complaint(words)] == []


@pytest.mark.parametrize("block", [b for b in ALL if b.language == "python"], ids=lambda block: block.name)
def test_python_in_a_document_is_python(block: Block) -> None:
    compile(block.text, block.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_and_option_that_a_document_names_exists(document: Path) -> None:
    wrong = []
    for call in in_prose(document.read_text(encoding="utf-8")):
        name = call.split()[1]
        if not re.fullmatch(r"[a-z]+", name) or name in ("help",):
            continue
        if name not in COMMANDS:
            wrong.append(call)
            continue
        asked = {word.partition("=")[0] for word in call.partition(" -- ")[0].split() if word.startswith("--")}
        wrong += [call for option in asked if option not in options(name) | {"--", "--help"}]
    assert wrong == []


def test_a_shape_is_the_same_whatever_the_numbers_are() -> None:
    assert alike("job 5cpfb5dvpc after 4.2s\n", "job abcdefghij after 41s\n", {"abcdefghij"})
    assert alike("a\n…\nz\n", "a\nb\nc\nz\n", set())
    assert alike("waits for …, pid 12\n", "waits for input, pid 4711\n", set())
    assert not alike("a\nb\n", "a\n", set())
    assert not alike("a\n", "a\nb\n", set())
    assert not alike("a 1\n", "b 1\n", set())
