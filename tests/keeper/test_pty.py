"""With --pty the program sits at a terminal of its own, and whoever is at ours sits at it."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator

import pytest

from tests.support.engine import Engine, actor, hears_signals, read_line
from unhang.testing.liveness import PATIENCE, RollCall


class Desk:
    """A terminal with `unhang run --pty` as its foreground program: what a person has in front of them."""

    def __init__(self, engine: Engine, *words: object, rows: int = 33, columns: int = 111) -> None:
        self.master, slave = os.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.running = engine.start(
            "--pty", *words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def sees(self, text: str) -> str:
        """The first line with `text` in it; TimeoutError if it does not come."""
        while True:
            line = read_line(self.master).decode().rstrip("\r\n")
            if text in line:
                return line

    def restored(self) -> bool:
        return termios.tcgetattr(self._slave) == self.before

    def close(self) -> None:
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture
def desk(engine: Engine) -> Iterator[Desk]:
    desk = Desk(engine, "--", *actor("screen"))
    yield desk
    desk.close()


def test_the_program_sees_a_terminal_of_our_size_as_its_own(desk: Desk) -> None:
    assert desk.sees("ttys") == "ttys 111 session own size 33x111"
    desk.type(b"\x04")
    assert desk.running.wait(PATIENCE) == 0


def test_the_size_follows_ours(desk: Desk) -> None:
    desk.sees("ttys")
    hears_signals(desk.running, signal.SIGWINCH)
    desk.resize(44, 122)
    assert desk.sees("size") == "size 44x122"
    desk.type(b"\x04")
    assert desk.running.wait(PATIENCE) == 0


def test_ctrl_c_that_is_typed_reaches_the_program_and_not_us(desk: Desk) -> None:
    desk.sees("ttys")
    hears_signals(desk.running, signal.SIGWINCH)
    desk.type(b"\x03")
    assert desk.sees("interrupted")
    desk.type(b"hello\r")
    assert desk.sees("typed hello")
    desk.type(b"\x04")
    assert desk.sees("end of input")
    assert desk.running.wait(PATIENCE) == 0


def test_our_terminal_is_as_it_was_when_the_job_is_over(engine: Engine) -> None:
    desk = Desk(engine, "--idle", "1", "--grace", "0.2", "--", *actor("screen"))
    try:
        assert desk.sees("ttys")
        assert desk.sees("unhang: ")
        assert desk.running.wait(PATIENCE) == 124
        assert desk.restored()
    finally:
        desk.close()


def test_a_terminal_that_goes_away_ends_the_job(engine: Engine, roll: RollCall) -> None:
    desk = Desk(engine, "--grace", "0.2", "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    hears_signals(desk.running)
    desk.close()
    assert desk.running.wait(PATIENCE) != 0
    assert roll.wait_empty()


def test_the_end_of_piped_input_is_an_end_of_input_at_the_terminal(engine: Engine) -> None:
    running = engine.start("--pty", "--", *actor("screen"), stdin=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(b"one\ntwo\n")
    done = engine.finish(running)
    assert done.code == 0
    assert b"typed one\r\ntyped two\r\nend of input\r\n" in done.out.replace(b"one\r\none\r\n", b"")


def test_piped_input_without_a_last_newline_ends_too(engine: Engine) -> None:
    """At a terminal the first Ctrl-D only hands over the unfinished line; the second is the end."""
    running = engine.start("--pty", "--idle", "20", "--", "cat", stdin=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(b"no newline")
    done = engine.finish(running)
    assert done.code == 0
    assert done.out.count(b"no newline") == 2  # echoed and printed


def test_a_lot_of_piped_input_arrives_whole_even_if_it_is_read_slowly(engine: Engine) -> None:
    lines = 20_000
    line = f"stty -echo; sleep 0.5; echo ready; head -n {lines} | wc -lc"
    running = engine.start("--pty", "--hard", "60", "--", "sh", "-c", line, stdin=subprocess.PIPE)
    assert running.stdin is not None
    assert running.stdout is not None
    assert read_line(running.stdout.fileno()) == b"ready\r\n"
    running.stdin.write(b"0123456789012345678901234567890123456789\n" * lines)
    done = engine.finish(running)
    assert done.out.split() == [str(lines).encode(), str(41 * lines).encode()]


def test_without_input_the_terminal_is_at_its_end(engine: Engine) -> None:
    done = engine.run("--pty", "--stdin", "null", "--", *actor("screen"))
    assert done.code == 0
    assert b"end of input" in done.out


def test_both_streams_are_one_at_a_terminal(engine: Engine) -> None:
    result = engine.json("--pty", "--", "sh", "-c", "echo out; echo err >&2")
    assert (result["stdout"], result["stderr"]) == ("out\r\nerr\r\n", "")


def test_everything_printed_before_the_exit_is_read_from_the_terminal(engine: Engine) -> None:
    done = engine.run("--pty", "--", "sh", "-c", "stty -opost; head -c 500000 /dev/zero")
    assert (done.code, len(done.out)) == (0, 500_000)
