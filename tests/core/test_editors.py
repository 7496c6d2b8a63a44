"""Editors where there is no terminal."""

from __future__ import annotations

import pytest

from unhang.core.editors import refused_editor, way_without


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("git commit", "-m"),
        ("cd x && /usr/bin/git -c a=b commit --amend", "-m"),
        ("git rebase -i HEAD~3", "GIT_SEQUENCE_EDITOR"),
        ("crontab -e", "crontab FILE"),
        ("sudo visudo", "visudo -cf"),
        ("sudoedit /etc/hosts", "sudo tee"),
        ("vipw", "usermod"),
        ("vim notes.txt", "sed -i"),
        ("", "sed -i"),
    ],
)
def test_every_editor_has_a_way_without_it(command: str, word: str) -> None:
    assert word in way_without(command)


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("error: There was a problem with the editor 'false'.\nPlease supply the message using either -m", True),
        ('crontab: "false" exited with status 1; edits left in /tmp/x', True),
        ("expected 'true', got 'false'", False),
        ("the editor could not be found", False),
    ],
)
def test_the_failure_of_the_absent_editor_is_recognised(stderr: str, expected: bool) -> None:
    assert refused_editor(stderr) is expected
