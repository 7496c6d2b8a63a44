"""Whatever a job prints is passed on byte for byte, kept within bounds, and never breaks anything."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.engine import Engine, actor, read_line
from unhang.store.output import BUDGET
from unhang.testing.liveness import RollCall

MIB = 1 << 20

ODD = {
    "invalid UTF-8": (b"\xff\xfe caf\xe9 \xc3\n", "\ufffd\ufffd caf\ufffd \ufffd\n"),
    "a NUL byte": (b"a\0b\n", "a\0b\n"),
    "no newline at the end": (b"one\ntwo", "one\ntwo"),
    "nothing": (b"", ""),
    "escape sequences": (b"\x1b[31mred\x1b[0m\r\n", "\x1b[31mred\x1b[0m\r\n"),
    "only newlines": (b"\n" * 10, "\n" * 10),
    "many scripts": ("žluťoučký 馬 🐎\n".encode(), "žluťoučký 馬 🐎\n"),
}


@pytest.mark.parametrize(("data", "text"), ODD.values(), ids=list(ODD))
def test_odd_output_is_passed_on_unchanged_and_reported_as_text(
    engine: Engine, tmp_path: Path, data: bytes, text: str
) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(data)
    done = engine.run("--", "sh", "-c", f"cat {odd}; cat {odd} >&2")
    assert (done.code, done.out, done.err) == (0, data, data)
    result = engine.json("--", "sh", "-c", f"cat {odd}; cat {odd} >&2")
    assert (result["status"], result["stdout"], result["stderr"], result["truncated"]) == ("success", text, text, False)


def test_one_line_of_200_mb_is_passed_on_whole_and_kept_within_the_budget(engine: Engine) -> None:
    size = 200 * 1000 * 1000
    running = engine.start("--hard", "100", "--", "sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x")
    assert running.stdout is not None
    got, others = 0, 0
    while chunk := running.stdout.read(MIB):
        got += len(chunk)
        others += len(chunk) - chunk.count(b"x")
    done = engine.finish(running)
    assert (done.code, done.err, got, others) == (0, b"", size, 0)
    [job] = engine.jobs()
    kept = Path(job.stream("stdout")).read_bytes()
    assert len(kept) <= BUDGET + 100
    left_out = re.fullmatch(rb"x{%d}\n\[unhang: (\d+) bytes left out here\]\n(x+)" % (BUDGET // 2), kept)
    assert left_out is not None
    assert BUDGET // 2 + int(left_out[1]) + len(left_out[2]) == size
    assert len(left_out[2]) >= 64 << 10


def test_long_output_is_reported_with_its_beginning_and_its_end(engine: Engine) -> None:
    result = engine.json("--", "sh", "-c", "echo first; head -c 20000000 /dev/zero; echo last; exit 1")
    assert (result["status"], result["truncated"]) == ("error", True)
    assert result["stdout"].startswith("first\n")
    assert result["stdout"].endswith("last\n")
    assert "left out" in result["stdout"]
    assert len(result["partial"]["stdoutTail"].encode()) <= 64 << 10
    assert result["partial"]["stdoutTail"].endswith("last\n")


def test_both_streams_come_through_in_full_when_both_flood(engine: Engine) -> None:
    wanted = hashlib.sha256(b"y\n" * (8 * MIB)).hexdigest()
    line = "yes | head -c 16777216 & yes | head -c 16777216 >&2; wait"
    done = engine.run("--hard", "100", "--", "sh", "-c", line)
    assert done.code == 0
    assert hashlib.sha256(done.out).hexdigest() == wanted
    assert hashlib.sha256(done.err).hexdigest() == wanted


def test_a_child_that_closes_its_output_and_runs_on_is_waited_for(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--json", "--", *actor("puppet", roll.path), stdin=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(b"print open\nclose\n")
    running.stdin.flush()
    roll.wait_for("close")
    time.sleep(1)  # longer than a leak is waited for
    assert roll.alive()
    running.stdin.write(b"exit 3\n")
    result = engine.finish(running).result
    assert (result["exitCode"], result["leaked"], result["stdout"]) == (3, False, "open\n")


def test_a_reader_that_goes_away_ends_the_job_quietly(engine: Engine, roll: RollCall) -> None:
    """`unhang run -- yes | head -1`"""
    command = ["sh", "-c", 'exec 9>"$1"; echo $$ leader >&9; exec yes', "sh", roll.path]
    running = engine.start("--", *command)
    roll.wait_for("leader")
    assert running.stdout is not None
    assert read_line(running.stdout.fileno()) == b"y\n"
    running.stdout.close()
    assert running.wait(30) == 141
    assert running.stderr is not None
    assert running.stderr.read() == b""
    assert roll.is_empty()


def test_a_reader_that_goes_away_while_it_blocked_ends_the_job_too(engine: Engine, roll: RollCall) -> None:
    """The job prints more than our reader's pipe holds, then is silent for ever: nobody writes again to get EPIPE."""
    line = 'exec 9>"$1"; head -c 65536 /dev/zero; printf x; echo $$ leader >&9; exec sleep 1000'
    running = engine.start("--idle", "off", "--stall", "off", "--hard", "off", "--", "sh", "-c", line, "sh", roll.path)
    roll.wait_for("leader")
    assert running.stdout is not None
    running.stdout.close()
    assert running.wait(30) == 141
    assert roll.is_empty()


def test_a_reader_that_does_not_read_is_no_reason_to_end_the_job(engine: Engine) -> None:
    """The job is blocked by us, not silent: the idle clock stands still until somebody reads on."""
    running = engine.start("--idle", "1", "--liveness", "output", "--", "head", "-c", "3000000", "/dev/zero")
    engine.wait_for_event("output")
    time.sleep(2.5)
    assert running.poll() is None
    done = engine.finish(running)
    assert (done.code, len(done.out), done.err) == (0, 3_000_000, b"")


def test_the_idle_clock_runs_on_when_a_blocked_reader_reads_again(engine: Engine) -> None:
    line = "head -c 1000000 /dev/zero; exec sleep 1000"
    running = engine.start("--idle", "1", "--liveness", "output", "--grace", "0.2", "--", "sh", "-c", line)
    engine.wait_for_event("output")
    time.sleep(1.5)
    done = engine.finish(running)
    assert (done.code, len(done.out)) == (124, 1_000_000)


def test_the_end_is_recorded_even_if_the_last_words_wait_for_a_slow_reader(engine: Engine) -> None:
    # more than the pipe to us holds, less than that and the job's own together: else the job itself would wait
    running = engine.start("--", "sh", "-c", "head -c 120000 /dev/zero")
    last = engine.wait_for_event("job/exited")
    assert last["status"] == "success"
    done = engine.finish(running)
    assert (done.code, len(done.out)) == (0, 120_000)


def test_output_reaches_a_file_and_a_closed_descriptor_costs_nothing(engine: Engine, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        assert engine.run("--", "echo", "hello", stdout=out).code == 0
    assert (tmp_path / "out").read_bytes() == b"hello\n"
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *engine.command("run", "--", "echo", "hello")],
        env=engine.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (closed.returncode, closed.stdout, closed.stderr) == (0, b"", b"")


def high_water_mark(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


@pytest.mark.slow
@pytest.mark.timeout(400)  # it takes as long as the machine needs for so much
def test_four_gigabytes_of_output_take_no_more_memory_than_one_megabyte(engines: list[Engine]) -> None:
    """Both keepers have looked at a silent job before: the code for that costs memory once, however much is printed,
    and on a busy machine a flood may falter for so long that one of them needs it."""
    peaks: list[int] = []
    for engine, size in zip(engines, (MIB, 4 << 30), strict=False):
        line = f"read begin; head -c {size} /dev/zero; echo done >&2; read wait"
        limits = ("--quiet", "--stall", "0.5", "--hard", "1h")
        with open(os.devnull, "wb") as null:
            running = engine.start(*limits, "--", "sh", "-c", line, stdout=null, stdin=subprocess.PIPE)
        assert running.stdin is not None
        assert running.stderr is not None
        engine.wait_for_event("watchdog")
        running.stdin.write(b"now\n")
        running.stdin.flush()
        assert read_line(running.stderr.fileno(), 300) == b"done\n"
        peaks.append(high_water_mark(engine.keeper().pid))
        running.stdin.close()
        running.wait(30)
        [job] = engine.jobs()
        assert engine.events()[-1]["bytes"]["stdout"] == size
        assert os.stat(job.stream("stdout")).st_size <= BUDGET + 100
    assert abs(peaks[1] - peaks[0]) <= 2 * MIB, peaks


def test_a_keeper_that_asks_the_history_does_not_load_openssl() -> None:
    """Each does so after ten seconds. hashlib would add 4 MiB: as much as half of the keeper."""
    code = "from unhang.store import profiles; profiles.read('/nowhere', 'make', '/'); import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    assert "unhang.store.profiles" in loaded.split()
    assert not {"hashlib", "_hashlib"} & set(loaded.split())
