"""An agent's program as a child of its driver: what it writes may be anything, and costs at most the line it is in."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from unhang.agents.base import child
from unhang.agents.base.jsonrpc import Recorder, RpcError
from unhang.agents.claude.child import ClaudeChild


class Heard:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.troubles: list[tuple[str, str]] = []

    def take(self, message: dict[str, Any]) -> None:
        if message.get("type") == "defect":
            raise KeyError("of ours")
        self.messages.append(message)

    def trouble(self, text: str, raw: str) -> None:
        self.troubles.append((text, raw))


def run(code: str, record: str | None = None) -> tuple[Heard, ClaudeChild]:
    """Everything that a program has said, to its end."""
    heard = Heard()

    async def listen() -> ClaudeChild:
        recorder = Recorder(record)
        started = await ClaudeChild.start([sys.executable, "-c", code], recorder, heard.take, heard.trouble)
        await started.gone.wait()
        await started.exit()
        await started.done()
        recorder.close()
        return started

    return heard, asyncio.run(listen())


ODD = r"""
import sys
put = sys.stdout.buffer.write
put(b'{"type": "first"}\n')
put(b"\xff\xfe\n\n[1]\n" + b"[" * 100_000 + b'\n{"type": ' + b"9" * 5000 + b"}\n")
put(b'{"type": "defect", "deep": [[1]]}\n')
put(b'{"type": "latin", "text": "\xe4"}\n')
put(b"[" + b"{}," * 1_200_000 + b"1]\n")
put(b'{"type": "last"}')
"""


def test_what_cannot_be_read_costs_its_own_line() -> None:
    heard, started = run(ODD)
    assert [message["type"] for message in heard.messages] == ["first", "latin", "last"]
    ((text, raw),) = heard.troubles
    assert "KeyError" in text
    assert raw == '{"type":"defect","deep":[[1]]}'
    assert started.failure == ""


def test_a_line_that_is_too_long_is_passed_over_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_LONGEST_LINE", 1 << 20)
    code = (
        "import sys; put = sys.stdout.buffer.write\n"
        "for _ in range(2):\n"
        '    put(b\'{"type": "long", "pad": "\' + b"x" * 3_000_000 + b\'"}\\n{"type": "after"}\\n\')'
    )
    heard, _ = run(code)
    assert [message["type"] for message in heard.messages] == ["after", "after"]
    assert len(heard.troubles) == 2
    assert heard.troubles[0][1].startswith('{"type": "long"')


def test_a_line_that_never_ends_ends_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_LONGEST_LINE", 1 << 18)
    monkeypatch.setattr(child, "_ENDLESS", 1 << 22)
    heard = Heard()

    async def listen() -> None:
        endless = [sys.executable, "-c", "import os\nwhile True: os.write(1, b'x' * 60_000)"]
        started = await ClaudeChild.start(endless, Recorder(None), heard.take, heard.trouble)
        await started.gone.wait()
        assert not started.exited
        started.process.kill()
        await started.exit()
        await started.done()

    asyncio.run(listen())
    assert len(heard.troubles) == 1


def test_an_agent_that_asks_and_does_not_read_is_not_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers would pile up in our memory."""
    monkeypatch.setattr(child, "_MOST_UNREAD", 1 << 20)
    code = 'import os\nwhile True: os.write(1, b\'{"type": "control_request"}\\n\')'

    async def listen() -> None:
        def heard(_: dict[str, Any]) -> None:
            started._output.send({"pad": "x" * 10_000})

        started = await ClaudeChild.start([sys.executable, "-c", code], Recorder(None), heard, lambda *_: None)
        waiting = started._writer.transport.get_write_buffer_size
        while waiting() < 1 << 20:
            await asyncio.sleep(0)
        for _ in range(200):
            await asyncio.sleep(0)
        assert waiting() < 2 << 20
        started.process.kill()
        await started.exit()
        await started.done()

    asyncio.run(listen())


def test_a_recording_that_cannot_be_written_ends_and_the_conversation_goes_on(tmp_path: Path) -> None:
    heard, _ = run(ODD, record="/dev/full")
    assert [message["type"] for message in heard.messages] == ["first", "latin", "last"]
    target = tmp_path / "lines"
    run('print(\'{"type": "\\\\ud800"}\')', record=str(target))
    assert target.read_text(encoding="utf-8").count("\n") == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"message": "no", "code": 5, "data": "because"}, "no: because"),
        ({"message": "no", "data": {"details": "d"}}, "no: d"),
        ({"message": ["x"]}, '{"message":["x"]}'),
        ("text", "text"),
        (5, "5"),
        ({"message": "x" * 5000, "data": []}, "x" * 1000),
        ([[[]]] * 3, "[[[]],[[]],[[]]]"),
    ],
    ids=repr,
)
def test_an_error_of_any_shape_is_one_in_words(error: Any, message: str) -> None:
    found = RpcError("x/y", error)
    assert found.message == message
    assert found.to_json()["code"] in (5, None)
