"""What a home knows of its own publisher, asked by others while it comes and goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unhang.fleet import note


def test_who_asks_for_a_publisher_where_none_has_signed_keeps_none_from_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find its place free takes the place for a moment, and one that begins in it would be told that it runs."""
    home = str(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(note, "take_place", lambda _: pytest.fail("its place was taken"))
        assert note.holder(home) is None
    place = note.take_place(home)
    assert place is not None
    note.sign(place)
    assert note.holder(home) == os.getpid()
    note.leave(place)
    os.close(place)
    assert note.holder(home) is None
