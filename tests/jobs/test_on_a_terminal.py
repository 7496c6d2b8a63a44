"""On a terminal only the colours of a job act; everything else is shown. A file or a pipe gets the bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import Jobs, over
from unhang.jobs.handle import Job

# a title, a cleared screen, an answer-back, a link, hidden text, a cursor that moves, an 8-bit control, an open string
NASTY = (
    b"x\x1b]0;TITLE\x07\x1b[2J\x1b[6n\x1b]8;;http://evil/\x1b\\link\x1b]8;;\x1b\\\x1b[8mhidden\x1b[0m\x1b[1A\b\xc2\x9b31m"
    b"\x1b[31mred\x1b[0m \xff\x1b]52;c;"
)


@pytest.fixture
def nasty(jobs: Jobs, tmp_path: Path) -> Job:
    (tmp_path / "nasty").write_bytes(NASTY + b"after\nlast line\n")
    return over(jobs.begin("--shell", f"cat {tmp_path}/nasty; cat {tmp_path}/nasty >&2"))


def _on_terminal(jobs: Jobs, *words: object, **options: Any) -> bytes:
    """What the command writes to a terminal that is its stdout and stderr."""
    master, slave = os.openpty()
    process = jobs.popen(*words, stdout=slave, stderr=slave, **options)
    os.close(slave)
    said = b""
    try:
        while chunk := os.read(master, 1 << 16):
            said += chunk
    except OSError:
        pass  # EIO: the other end is closed
    finally:
        os.close(master)
    process.wait(60)
    return said


def _check(said: bytes) -> None:
    text = said.decode()
    left = text
    for colour in ("\x1b[31m", "\x1b[0m", "\x1b[33m", "\x1b[36m", "\x1b[32m"):
        left = left.replace(colour, "")
    assert all(c in "\r\n" or c.isprintable() for c in left), ascii(left)


@pytest.mark.parametrize("words", [("result",), ("logs",), ("logs", "--tail", "4"), ("logs", "--follow")], ids=" ".join)
def test_what_a_job_printed_is_harmless_on_a_terminal(jobs: Jobs, nasty: Job, words: tuple[str, ...]) -> None:
    said = _on_terminal(jobs, *words, nasty.id)
    _check(said)
    assert said.count(b"\x1b[31mred\x1b[0m") == 2, "colours pass"
    assert said.count(b"hidden") == 2
    assert said.count(b"after") == 2, "an open string hides nothing behind it"
    assert said.count(b"last line") == 2
    assert b"TITLE" not in said
    raw = _on_terminal(jobs, *words, nasty.id, "--raw")
    assert raw.count(NASTY.replace(b"\n", b"\r\n")) == 2


def test_a_file_or_a_pipe_gets_the_bytes(jobs: Jobs, nasty: Job) -> None:
    printed = NASTY + b"after\nlast line\n"
    done = jobs.call("result", nasty.id)
    assert (done.out, done.err) == (printed, printed)
    assert jobs.call("logs", nasty.id).out == printed + printed
    assert jobs.call("logs", nasty.id, "--stream", "stderr").out == printed


@pytest.mark.parametrize(
    "words", [("status",), ("events",), ("ps", "-a"), ("wait", "--any"), ("cancel",)], ids=" ".join
)
def test_our_own_lines_are_harmless_everywhere(jobs: Jobs, words: tuple[str, ...]) -> None:
    line = "printf 'x\\033]0;TITLE\\a\\033[2Jlast'; : \x1b]0;TITLE\x07\x1b[2J\x9b"
    job = over(jobs.begin("--label", "k=\x1b[2J", "--shell", line))
    given = words if words[0] == "ps" else (*words, job.id)
    _check(_on_terminal(jobs, *given))
    done = jobs.call(*given)
    _check(done.out + done.err)


@pytest.mark.parametrize(
    "policy",
    [
        'version = "\\u001b]0;TITLE\\u0007"',
        'version = "1.0"\n[env]\n"X" = "\\u001b[2J"',
        'version = "1.0"\n[categories."\\u001b[2J"]\nx = 1',
        'version = "1.0"\n[command_patterns]\n"\\u001b[2J" = ["x"]',
        'version = "1.0"\n"\\u001b[2J" = 1',
        "\x1b[2J",
    ],
)
def test_a_policy_of_a_downloaded_project_cannot_act_on_the_terminal(jobs: Jobs, tmp_path: Path, policy: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".unhang.toml").write_text(policy)
    for words in (("run", "--", "true"), ("policy", "explain", "true"), ("policy", "check", ".unhang.toml")):
        said = _on_terminal(jobs, *words, cwd=folder)
        assert b"\x1b" not in said
        assert b"\x07" not in said


def test_a_word_of_the_command_line_cannot_act_on_the_terminal(jobs: Jobs) -> None:
    for words in (
        ("\x1b[2J",),
        ("status", "\x1b[2J"),
        ("run", "--\x1b[2J"),
        ("run", "--", "/\x1b[2J"),
        ("gc", "--age", "\x1b"),
    ):
        said = _on_terminal(jobs, *words)
        assert said
        _check(said)
        assert b"\x1b[2J" not in said
