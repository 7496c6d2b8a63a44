"""What became of each message survives a power cut in the middle of a line."""

from __future__ import annotations

from pathlib import Path

from unhang.alerts import deliveries
from unhang.store.alert_news import FOLDER


def test_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "sent.ndjson").write_bytes(b'{"state":"sent"}\n{"state":"fai\n\xff\xfe\n[1]\n{"state":"failed"}\n{"sta')
    assert [each["state"] for each in deliveries.read(str(tmp_path))] == ["sent", "failed"]
