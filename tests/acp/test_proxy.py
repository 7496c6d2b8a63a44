"""`unhang acp proxy` between an editor and an agent that does what it is told, as real processes."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import PUPPET
from tests.support.acp.editor import Editor, Message, Open
from tests.support.engine import wait_until
from tests.support.jobs import Jobs
from unhang.acp.proxy.proxy import Direction
from unhang.acp.proxy.sink import Sink
from unhang.core.lines import Lines
from unhang.jobs.handle import Job
from unhang.procs import tree
from unhang.testing.liveness import Process

# The grace is also what an agent has for leaving when its editor has closed: generous, where no test waits it out.
QUICK = ("--stall", "off", "--idle", "1", "--grace", "30")
DEAF = ("--stall", "off", "--idle", "1", "--grace", "5")


def test_a_turn_goes_through_and_the_end_is_the_agents(editors: Open) -> None:
    editor = editors()
    assert editor.turn("say:hello") == "end_turn"
    assert editor.texts() == ["hello"]
    unknown = editor.answer(editor.ask("something/of_tomorrow", deep={"ü": [1, 2, {"x": None}]}))
    assert unknown["result"]["echo"]["params"] == {"deep": {"ü": [1, 2, {"x": None}]}}
    assert editor.close() == 0


def test_a_turn_that_hangs_is_cancelled_by_the_agents_own_answer(editors: Open) -> None:
    editor = editors(*QUICK)
    assert editor.turn("hang") == "cancelled"
    assert any("[unhang]" in text and "limit 1s" in text for text in editor.texts())
    assert editor.turn("say:next") == "end_turn", "and the next turn is not hit"
    assert editor.close() == 0


def test_a_turn_that_ignores_its_cancel_is_answered_and_the_late_answer_is_dropped(editors: Open) -> None:
    editor = editors(*DEAF)
    dead = editor.prompt("deaf")
    assert editor.answer(dead)["result"] == {"stopReason": "cancelled"}
    next_one = editor.prompt("wake")
    assert editor.answer(next_one)["result"]["stopReason"] == "end_turn"
    assert len(editor.answers(dead)) == 1, "it never comes twice"
    assert editor.texts()[-2:] == ["late words", "new words"], "what it said is not lost"
    heard = (editor.cwd / "heard").read_bytes()
    assert heard.count(b'"session/cancel"') == 1
    assert heard.index(b'"session/cancel"') < heard.index(b'"wake"'), "a cancel never hits the next turn"
    assert editor.turn("say:again") == "end_turn"
    assert editor.close() == 0


def test_an_editors_cancel_that_is_ignored_is_answered(editors: Open) -> None:
    editor = editors("--grace", "5")
    dead = editor.prompt("deaf")
    editor.cancel()
    assert editor.answer(dead)["result"] == {"stopReason": "cancelled"}
    assert editor.close() == 0


def test_a_stall_is_told_once_in_the_turns_own_stream_with_its_reason(jobs: Jobs, editors: Open) -> None:
    editor = editors("--stall", "0.5", "--idle", "300", "--grace", "30")
    prompt = editor.prompt("hang")
    editor.until(lambda m: "[unhang]" in json.dumps(m), "a notice")
    (text,) = editor.texts("agent_thought_chunk")
    assert "stdin" not in text, "that it waits for its editor's next line is no reason"
    assert "cancelled in" in text
    assert editor.answers(prompt) == [], "nothing is touched"
    job = jobs.handle(jobs.job().id)
    stuck = next(event for event in job.watch(timeout=60) if event["phase"] == "stuck")
    assert (stuck["type"], stuck["diagnosis"]["state"], stuck["diagnosis"]["cause"]) == ("watchdog", "hung", "network")
    assert (job.view().phase, job.view().diagnosis) == ("stuck", stuck["diagnosis"])
    assert stuck["diagnosis"]["reason"] in " ".join(jobs.call("needs").out.decode().split())
    assert jobs.said("diagnose", job.id)["reason"] == stuck["diagnosis"]["reason"]
    editor.cancel()
    assert editor.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert len(editor.texts("agent_thought_chunk")) == 1
    wait_until(lambda: job.view().phase == "running", "what it says is the end of it for every reader")
    assert [event["message"] for event in job.events() if event["phase"] == "resumed"] == ["The turn is over."]
    assert [event["phase"] for event in job.events()].count("stuck") == 1
    assert editor.close() == 0


def test_what_is_no_progress_leaves_a_stuck_turn_stuck_for_every_reader(jobs: Jobs, editors: Open) -> None:
    """The rule by which the turn is judged is the rule for the state that lists show."""
    editor = editors("--stall", "0.5", "--idle", "300", "--grace", "30")
    prompt = editor.prompt("hang")
    job = jobs.handle(jobs.job().id)
    stuck = next(event for event in job.watch(timeout=60) if event["phase"] == "stuck")

    def tell(**update: Any) -> None:
        editor.send({"method": "_update", "params": {"sessionId": editor.session, "update": update}})
        kind = update["sessionUpdate"]
        editor.until(lambda m: m.get("params", {}).get("update", {}).get("sessionUpdate") == kind, kind)

    tell(sessionUpdate="usage_update", used=1, size=2)
    printed = next(event for event in job.watch(after_seq=stuck["seq"], timeout=60) if event["type"] == "output")
    assert printed["alive"] is False
    view = job.view()
    assert (view.phase, view.diagnosis, view.last_activity_at) == (
        "stuck",
        stuck["diagnosis"],
        _life_before(job, stuck),
    )
    assert [need["needs"]["kind"] for need in jobs.said("needs")] == ["stuck"]

    tell(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "words"})
    resumed = next(event for event in job.watch(after_seq=stuck["seq"], timeout=60) if event["phase"] == "resumed")
    assert resumed["idleMs"] >= stuck["stallMs"]
    editor.cancel()
    assert editor.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert editor.close() == 0


def _life_before(job: Job, stuck: dict[str, Any]) -> str:
    lives = ("job/started", "output")
    return str([each for each in job.events() if each["type"] in lives and each["seq"] < stuck["seq"]][-1]["ts"])


def test_an_agent_that_is_stopped_is_called_so_also_below_its_launcher(jobs: Jobs, tmp_path: Path) -> None:
    """As Codex, Claude and Qwen are started: by a program that stays above them and runs."""
    launcher = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    words = [sys.executable, "-c", launcher, sys.executable, str(PUPPET), str(tmp_path / "heard")]
    editor = Editor(jobs.command("acp", "proxy", "--stall", "3", "--grace", "30", "--", *words), jobs.env, tmp_path)
    try:
        editor.begin()
        (agent,) = tree.children(jobs.handle(jobs.job().id).view().pid or 0)
        editor.prompt("hang")
        wait_until(lambda: b'"hang"' in (tmp_path / "heard").read_bytes(), "it has got its task")
        assert Process(agent).send(signal.SIGSTOP)
        editor.until(_is_notice, "a notice")
        (text,) = editor.texts("agent_thought_chunk")
        assert f"[{agent}]" in text
        found = jobs.said("diagnose", jobs.job().id)
        assert (found["state"], found["cause"], found["evidence"]) == ("hung", "stopped", {"pid": agent})
        assert Process(agent).send(signal.SIGCONT)
        assert editor.close() == 0
    finally:
        editor.drop()
        editor.process.kill()
        editor.process.wait()


def test_a_stall_is_a_message_where_that_is_asked_for(jobs: Jobs, editors: Open) -> None:
    jobs.env["UNHANG_STALL"] = "0.3"
    editor = editors("--idle", "50", "--grace", "30", "--notices", "message")
    prompt = editor.prompt("hang")
    editor.until(_is_notice, "a notice")
    editor.cancel()
    assert editor.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert _kinds_of_notices(editor) == ["agent_message_chunk"]
    assert editor.close() == 0


@pytest.mark.parametrize(("how", "stall"), [("thought", "off"), ("message", "off"), ("off", "0.3")])
def test_why_a_turn_was_cancelled_is_a_message_whatever_is_asked_for(editors: Open, how: str, stall: str) -> None:
    editor = editors("--stall", stall, "--idle", "2", "--grace", "30", "--notices", how)
    assert editor.turn("hang") == "cancelled"
    assert _kinds_of_notices(editor) == ["agent_message_chunk"]
    assert editor.close() == 0


def _is_notice(message: Message) -> bool:
    return "[unhang]" in json.dumps(message)


def _kinds_of_notices(editor: Editor) -> list[str]:
    return [message["params"]["update"]["sessionUpdate"] for message in editor.heard if _is_notice(message)]


def test_while_a_person_is_asked_nothing_is_cancelled(editors: Open) -> None:
    editor = editors(*QUICK, permit=None)
    turn = editor.prompt("ask")
    ask = editor.until(lambda m: m.get("method") == "session/request_permission")
    began = time.monotonic()
    while time.monotonic() - began < 2.5:  # longer than the idle limit: this *is* the silence under test
        editor.read(0.2)
    assert editor.answers(turn) == []
    assert b'"session/cancel"' not in (editor.cwd / "heard").read_bytes()
    editor.send({"id": ask["id"], "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
    assert editor.answer(turn)["result"]["stopReason"] == "end_turn"
    assert editor.close() == 0


def test_a_tool_in_flight_has_its_own_limit(editors: Open) -> None:
    editor = editors("--stall", "off", "--idle", "0.5", "--tool", "2", "--grace", "30")
    began = time.monotonic()
    assert editor.turn("tool:npm test") == "cancelled"
    assert time.monotonic() - began >= 2
    assert any("npm test" in text and "limit 2s" in text for text in editor.texts())
    assert editor.close() == 0


def test_an_agent_that_never_answers_initialize_is_an_error(editors: Open) -> None:
    editor = editors("--start", "1", agent=("--mute",), begin=False)
    answer = editor.answer(editor.ask("initialize", protocolVersion=1))
    assert "initialize" in answer["error"]["message"]
    assert editor.close() == 0


@pytest.mark.parametrize(("how", "code"), [("die:3", 3), ("half", 5)])
def test_an_agent_that_dies_answers_everything_that_is_open(editors: Open, how: str, code: int) -> None:
    editor = editors()
    other = editor.prompt("hang", "other")
    dead = editor.prompt(how)
    for id in (dead, other):
        error = editor.answer(id)["error"]
        assert (error["code"], f"exited with {code}" in error["message"]) == (-32603, True)
    assert editor.close() == code


def test_an_agent_that_cannot_be_started_is_one_line(jobs: Jobs) -> None:
    done = jobs.call("acp", "proxy", "--", "no-such-agent")
    assert (done.code, done.out) == (127, b"")
    [line] = done.err.decode().splitlines()
    assert "no-such-agent" in line
    jobs.refused("acp", "proxy", code=2)
    assert "--idle" in jobs.refused("acp", "proxy", "--idle", "soon", "--", "true", code=2)


def test_stderr_is_drained_and_passed_on(editors: Open) -> None:
    editor = editors(stderr=subprocess.PIPE)
    flood = editor.prompt("stderr:2000000")
    assert editor.process.stderr is not None
    got = 0
    while got < 2_000_000:
        got += len(os.read(editor.process.stderr.fileno(), 1 << 16))
    assert editor.answer(flood)["result"]["stopReason"] == "end_turn"
    assert editor.close() == 0


def test_bytes_that_are_no_messages_go_through_untouched(editors: Open) -> None:
    """Invalid lines, other encodings, carriage returns, a batch, numbers of any size, a line of megabytes."""
    odd = b"\n".join(
        [
            b"not json",
            b"\xff\xfe\x00",
            b'{"a": 1}\r',
            b"",
            b"[]",
            b'[{"jsonrpc":"2.0","id":1,"method":"x"}]',
            b'{"jsonrpc" : "2.0" , "method":"_x", "params":{"n":1e400,"big":123456789012345678901234567890}}',
            b'{"dup":1,"dup":2,"text":"\\ud800"}',
            b'{"pad":"' + b"x" * 3_000_000 + b'"}',
            b"",
        ]
    )
    editor = editors()
    before = len(editor.transcript)
    assert editor.turn("raw:" + base64.b64encode(odd).decode()) == "end_turn"
    lines = [said.line for said in editor.transcript[before:] if said.who == "agent"]
    assert b"".join(lines[:-1]) == odd
    heard = (editor.cwd / "heard").read_bytes()
    editor.write(odd)
    assert editor.turn("say:after") == "end_turn"
    assert (editor.cwd / "heard").read_bytes()[len(heard) :].startswith(odd)
    assert editor.close() == 0


def test_a_line_beyond_every_measure_goes_through_both_ways(editors: Open) -> None:
    editor = editors("--stall", "off")
    huge = b'{"pad":"' + b"y" * 20_000_000 + b'"}\n'
    editor.write(huge)
    turn = editor.prompt("begin:20000000")
    editor.send({"method": "_finish"})
    assert editor.answer(turn)["result"]["stopReason"] == "end_turn"
    assert huge in [said.line for said in editor.transcript if said.who == "agent"]
    assert huge in (editor.cwd / "heard").read_bytes()
    assert editor.close() == 0


def test_what_we_say_stands_between_whole_lines() -> None:
    reads, writes = os.pipe()
    way = Direction(Sink(writes, own=True))
    way.lines = Lines(4)

    def fed(data: bytes) -> bytes:
        rest, lines = way.lines.feed(data)
        way.forward(rest)
        way.forward(b"".join(lines))
        try:
            return os.read(reads, 1000)
        except BlockingIOError:
            return b""

    os.set_blocking(reads, False)
    way.say(b"first\n")
    assert fed(b"ab") == b"first\n", "a line that is held has not begun for the reader"
    way.say(b"second\n")
    assert fed(b"c\n123456") == b"second\nabc\n123456"
    way.say(b"third\n")
    assert fed(b"789") == b"789", "in the middle of a line nobody speaks"
    assert fed(b"0\nxy\n") == b"0\nthird\nxy\n"
    way.lines.feed(b"end")
    way.last_words([b"last\n"])
    assert os.read(reads, 1000) == b"end\nlast\n"
    os.close(reads)
    way.sink.close()


def test_many_messages_keep_their_order(editors: Open) -> None:
    editor = editors()
    assert editor.turn("flood:5000") == "end_turn"
    assert [int(text.split()[0]) for text in editor.texts()] == list(range(5000))
    assert editor.close() == 0


def test_an_agent_that_never_stops_talking_meets_the_hard_limit(editors: Open) -> None:
    editor = editors("--hard", "1", "--grace", "20")
    assert editor.turn("endless") == "cancelled"
    assert any("[unhang]" in text and "limit 1s" in text for text in editor.texts())
    assert editor.turn("say:next") == "end_turn"
    assert editor.close() == 0


def test_an_editor_that_does_not_read_costs_no_memory_and_no_turn(editors: Open, jobs: Jobs) -> None:
    """30 MB wait with the agent and not with us; that nothing is heard of it meanwhile is not its silence."""
    editor = editors("--idle", "1", "--grace", "30", "--stall", "off")
    turn = editor.prompt("flood:30000")
    job = jobs.handle(jobs.job().id)
    seen: list[int] = []

    def stuck() -> bool:
        time.sleep(0.1)  # nobody tells that nothing happens
        seen.append(job.printed())
        return len(seen) > 15 and len(set(seen[-15:])) == 1

    wait_until(stuck, "the flood has come to a halt, for longer than the idle limit")
    assert 0 < seen[-1] < 25_000_000
    status = Path(f"/proc/{editor.process.pid}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0])
    assert peak < 60_000, f"{peak} kB"
    assert editor.answer(turn)["result"]["stopReason"] == "end_turn"
    assert [int(text.split()[0]) for text in editor.texts()] == list(range(30_000))
    assert editor.close() == 0


@pytest.mark.parametrize("kind", ["pipe", "socket", "file"])
def test_bytes_are_bytes_whatever_the_editor_is_connected_by(jobs: Jobs, tmp_path: Path, kind: str) -> None:
    """Node connects its children by sockets. No newline at the end, and more than any buffer holds."""
    data = bytes(range(256)) * 10_000 + b"no newline at the end"
    (tmp_path / "in").write_bytes(data)
    argv = jobs.command("acp", "proxy", "--", "cat")
    if kind == "file":
        with open(tmp_path / "in", "rb") as source, open(tmp_path / "out", "wb") as target:
            subprocess.run(argv, stdin=source, stdout=target, env=jobs.env, check=True, timeout=60)
        assert (tmp_path / "out").read_bytes() == data
        return
    if kind == "pipe":
        done = subprocess.run(argv, input=data, stdout=subprocess.PIPE, env=jobs.env, check=True, timeout=60)
        assert done.stdout == data
        return
    ours, theirs = socket.socketpair()
    with subprocess.Popen(argv, stdin=theirs.fileno(), stdout=theirs.fileno(), env=jobs.env) as process:
        theirs.close()

        def feed() -> None:
            ours.sendall(data)
            ours.shutdown(socket.SHUT_WR)

        feeding = threading.Thread(target=feed)
        feeding.start()
        got = b""
        while chunk := ours.recv(1 << 16):
            got += chunk
        feeding.join()
        ours.close()
        assert process.wait(60) == 0
    assert got == data
