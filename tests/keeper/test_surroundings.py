"""What a job is given: input, environment, directory, shell; and the one JSON object that comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine import Engine, actor
from unhang.errors import ControlError
from unhang.jobs import control_client
from unhang.testing.liveness import RollCall


def test_stdin_is_ours_by_default(engine: Engine) -> None:
    running = engine.start("--", "cat", stdin=subprocess.PIPE)
    out, err = running.communicate(b"hello\n", timeout=60)
    assert (out, err, running.returncode) == (b"hello\n", b"", 0)


def test_stdin_can_be_nothing(engine: Engine) -> None:
    running = engine.start("--stdin", "null", "--", "cat", stdin=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stdout.read() == b""
    assert running.wait(60) == 0


def test_stdin_can_be_a_file(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"from a file\n")
    done = engine.run("--stdin", f"@{tmp_path / 'input'}", "--", "cat")
    assert (done.code, done.out) == (0, b"from a file\n")


def test_stdin_can_be_a_pipe_that_callers_write_to(engine: Engine) -> None:
    import base64

    running = engine.start("--stdin", "pipe", "--", "cat")
    place = engine.job()
    engine.wait_for_event("job/started")
    assert control_client.ask(place, do="send", data=base64.b64encode(b"sent\n").decode())["bytes"] == 5
    control_client.ask(place, do="send", data="", eof=True)
    done = engine.finish(running)
    assert (done.code, done.out) == (0, b"sent\n")


def test_input_that_a_job_without_a_pipe_is_sent_is_refused(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--", *actor("puppet", roll.path), stdin=subprocess.PIPE)
    roll.wait_for("leader")
    with pytest.raises(ControlError, match="--stdin pipe"):
        control_client.ask(engine.job(), do="send", data="")
    assert engine.finish(running).code == 0


@pytest.mark.parametrize(
    "line", [b"", b"nonsense", b"[]", b"{}", b'{"do":5}', b'{"do":"x"}', b'{"do":"extend","idle":-1}']
)
def test_nonsense_on_the_control_socket_is_answered_in_one_line(engine: Engine, roll: RollCall, line: bytes) -> None:
    import socket

    running = engine.start("--", *actor("puppet", roll.path), stdin=subprocess.PIPE)
    leader = roll.wait_for("leader")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        here = os.open(engine.job().path, os.O_RDONLY)
        client.connect(f"/proc/self/fd/{here}/control")
        os.close(here)
        client.sendall(line + b"\n")
        answer = json.loads(client.makefile().readline())
    assert answer["ok"] is False
    assert "\n" not in answer["error"]
    assert leader.is_alive()
    assert engine.finish(running).code == 0


def test_environment_is_ours_with_additions_and_the_mark_of_the_job(engine: Engine) -> None:
    engine.env["GIVEN"] = "outer"
    line = 'echo "$GIVEN $ADDED"; test -n "$UNHANG_JOB"'
    done = engine.run("--env", "ADDED=a=b c", "--env", "GIVEN=inner", "--", "sh", "-c", line)
    assert (done.code, done.out) == (0, b"inner a=b c\n")


def test_directory_is_the_one_asked_for(engine: Engine, tmp_path: Path) -> None:
    assert engine.run("--cwd", tmp_path, "--", "pwd").out == f"{tmp_path}\n".encode()


def test_a_shell_line_is_run_by_the_shell(engine: Engine) -> None:
    done = engine.run("--shell", "echo a | tr a b; exit 5")
    assert (done.code, done.out) == (5, b"b\n")


def test_words_are_passed_on_as_they_are(engine: Engine) -> None:
    words = ["", "a b", "$HOME", "*", "--", "--json", "\\", "'", "é"]
    done = engine.run("--", sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert done.out.decode() == f"{words}\n"


def test_signal_dispositions_are_those_of_a_fresh_program(engine: Engine) -> None:
    """Python ignores SIGPIPE and SIGXFSZ for itself; a job must not inherit that, nor anything that we block."""
    done = engine.run("--", "grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status")
    _, blocked, _, ignored = done.out.decode().split()
    internal = 0b11 << 31  # 32 and 33 belong to the C library, which ignores them in what it spawns
    assert (int(blocked, 16), int(ignored, 16) & ~internal) == (0, 0)


def test_no_descriptor_of_ours_is_handed_down(engine: Engine) -> None:
    done = engine.run("--", "ls", "/proc/self/fd")  # no shell: one may hold its own pipes while it is looked at
    assert done.out.split() == [b"0", b"1", b"2", b"3"]  # the last is the folder that it lists


@pytest.mark.parametrize("code", [0, 1, 3, 124, 125, 126, 127, 128, 200, 255])
def test_the_exit_code_is_the_commands_own(engine: Engine, code: int) -> None:
    assert engine.run("--", "sh", "-c", f"exit {code}").code == code


@pytest.mark.parametrize("number", [1, 6, 9, 11, 15, 34])
def test_death_by_signal_is_128_and_the_number(engine: Engine, number: int) -> None:
    done = engine.run("--json", "--", "sh", "-c", f"ulimit -c 0; kill -{number} $$")
    assert done.code == 128 + number
    assert (done.result["status"], done.result["exitCode"]) == ("error", None)
    assert done.result["signal"].startswith("SIG")


KEYS = {
    "jobId", "status", "exitCode", "signal", "timeoutReason", "terminationMode", "durationMs", "stdout", "stderr",
    "truncated", "leaked", "limits", "error", "partial", "diagnosis", "recovery",
}  # fmt: skip
ERROR_KEYS = {"code", "kind", "message", "idleMs", "wallClockMs", "pid", "killed", "signal", "survivors"}


@pytest.mark.parametrize("words", [["true"], ["sh", "-c", "exit 3"], ["no-such-command"]], ids=str)
def test_json_is_one_object_with_every_key_and_nothing_else(engine: Engine, words: list[str]) -> None:
    done = engine.run("--json", "--", *words)
    [line] = done.out.decode().splitlines()
    result = json.loads(line)
    assert set(result) == KEYS
    assert result["limits"]["idleMs"]["value"] > 0
    assert result["limits"]["idleMs"]["source"]
    assert set(result["limits"]) >= {"idleMs", "hardMs"}


def test_json_of_a_timeout_has_error_partial_output_limits_diagnosis_and_recovery(engine: Engine) -> None:
    # a reason takes two looks, and a starved keeper may have one in a second
    done = engine.run("--json", "--idle", "4", "--", "sh", "-c", "echo before; echo warned >&2; exec sleep 1000")
    result = done.result
    assert len(done.out.splitlines()) == 1
    assert set(result) == KEYS
    assert set(result["error"]) >= ERROR_KEYS
    assert set(result["partial"]) == {"lastEvents", "stdoutTail", "stderrTail", "lastActivityAt", "eventsCount"}
    assert (result["partial"]["stdoutTail"], result["partial"]["stderrTail"]) == ("before\n", "warned\n")
    assert result["partial"]["eventsCount"] == len(engine.events())
    assert len(result["partial"]["lastEvents"]) <= 50
    assert result["limits"]["idleMs"] == {"value": 4000, "source": "argument"}
    assert result["diagnosis"]["state"] in ("hung", "alive", "unsure")
    assert result["diagnosis"]["reason"]
    assert result["recovery"]["suggestions"]


def test_events_are_numbered_without_a_gap_and_the_last_is_the_end(engine: Engine) -> None:
    engine.run("--idle", "1", "--warn", "0.5", "--", "sh", "-c", "echo one; exec sleep 1000")
    events = engine.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events].count("job/exited") == 1
    assert (events[0]["type"], events[-1]["type"]) == ("job/started", "job/exited")
    for event in events:
        assert {"seq", "ts", "type", "phase", "message"} <= set(event)
        assert "\n" not in event["message"]


def test_the_job_directory_is_private(engine: Engine) -> None:
    engine.run("--", "echo", "secret")
    place = engine.job()
    for path in (str(engine.home), place.path):
        assert os.stat(path).st_mode & 0o077 == 0
    for name in os.listdir(place.path):
        assert os.stat(f"{place.path}/{name}").st_mode & 0o077 == 0
    assert not os.path.exists(place.control)


def test_result_text_that_is_no_ascii_is_printed_whatever_the_locale(engine: Engine) -> None:
    done = engine.run("--json", "--", "printf", "caf\\303\\251", env=engine.env | {"PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert done.result["stdout"] == "café"
