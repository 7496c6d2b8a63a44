"""A machine that cannot carry a command out says so: who asked is not left waiting."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from unhang.core.fleet.permissions import inbox_of
from unhang.core.fleet.requests import KIND, REFUSED, Request
from unhang.fleet.command_server import CommandServer
from unhang.procs import executable


class _Asker:
    """The connection to one who asks; `said`: the kinds of what came."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def request(self, _subject: str, _data: bytes, headers: dict[str, str]) -> bytes:
        self.said.append(headers[KIND])
        return b""


def test_an_asker_is_told_that_no_process_could_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable, "command_line", lambda *_: [str(tmp_path / "gone")])
    asker = _Asker()
    asked = SimpleNamespace(reply=inbox_of("x") + ".1", data=Request("status", ["k3v9x2m4q8"], []).to_bytes())

    async def ask() -> None:
        server = CommandServer(str(tmp_path), asker)  # type: ignore[arg-type]
        await server.take_question(asked)  # type: ignore[arg-type]
        await asyncio.gather(*server._looking)

    asyncio.run(ask())
    assert asker.said == [REFUSED]
