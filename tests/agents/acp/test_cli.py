"""The command line around it: what is asked for wrongly is said in one line; the list; the background; the result."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.support.acp_agents.harness import PATIENT, Bench
from tests.support.places import SUPPORT
from unhang.agents.acp import catalogue

STANDIN = SUPPORT / "acp_agents" / "standin.py"
COMMAND = ("--command", shlex.join([sys.executable, str(STANDIN)]))


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (("nobody", "x"), 127, "'nobody'"),
        (("goose", "x"), 127, "goose"),
        (("x", "x", "--command", "'"), 2, "--command"),
        (("x", "x", "--command", ""), 2, "--command"),
        (("x", "x", "--command", "no-such-program --acp"), 127, "no-such-program"),
        (("x", " ", *COMMAND), 2, "task"),
        (("x", "x", "--then", "", *COMMAND), 2, "task"),
        (("x", "x", "--startup", "off", *COMMAND), 2, "--startup"),
        (("x", "x", "--tool", "soon", *COMMAND), 2, "--tool"),
        (("x", "x", "--mcp", "nonsense", *COMMAND), 2, "--mcp"),
        (("x", "x", "--record", "/no/such/place", *COMMAND), 2, "--record"),
        (("x", "x", "--cwd", "/no/such/place", *COMMAND), 125, "/no/such/place"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(bench: Bench, words: tuple[str, ...], code: int, named: str) -> None:
    bench.env["PATH"] = "/usr/bin:/bin"
    assert named in bench.refused("agent", "run", *words, code=code)


def test_the_list_says_what_is_there_and_how_to_get_the_rest(bench: Bench) -> None:
    place = bench.folder / "bin"
    place.mkdir()
    (place / "gemini").symlink_to("/bin/true")
    bench.env["PATH"] = str(place)
    listed = {entry["agent"]: entry for entry in bench.said("agent", "list")}
    assert tuple(listed) == catalogue.NAMES
    assert len(listed) == 8
    assert (listed["gemini"]["program"], listed["kimi"]["program"]) == (str(place / "gemini"), None)
    lines = bench.call("agent", "list").out.decode().splitlines()
    assert lines[0].split() == ["AGENT", "STARTED", "AS", "PROGRAM"]
    assert any("npm install -g @moonshot-ai/kimi-code" in line for line in lines)


def test_in_the_background_the_id_is_printed_and_the_result_is_there_later(bench: Bench) -> None:
    job = bench.begun("mine", "do it", *COMMAND, *PATIENT)
    assert job.wait(60).stdout == "turn 3\n"
    listed = bench.said("ps", "--all")
    assert [entry["labels"] for entry in listed] == [{"agent": "mine"}]
    found = bench.said("result", job.id)
    assert (found["agent"]["name"], found["agent"]["text"]) == ("stand-in", "turn 3")
    status = json.loads(bench.agent("mine", "again", *COMMAND, *PATIENT, "--json").out)
    assert status["agent"]["stopReason"] in (None, "end_turn")
    bench.handle(status["jobId"]).wait(60)


def test_in_the_foreground_the_text_is_on_stdout_and_quiet_leaves_stderr_empty(bench: Bench) -> None:
    done = bench.agent("mine", "do it", "--wait", *COMMAND, *PATIENT)
    assert (done.code, done.out) == (0, b"turn 3\n")
    quiet = bench.agent("mine", "do it", "--wait", "--quiet", "--cwd", bench.folder, *COMMAND, *PATIENT)
    assert (quiet.code, quiet.out, quiet.err) == (0, b"turn 3\n", b"")


def test_a_task_is_read_from_stdin(bench: Bench) -> None:
    (bench.folder / "task").write_text("from a file")
    with (bench.folder / "task").open() as file:
        words = ("agent", "run", "mine", "-", "--wait", *COMMAND, *PATIENT)
        done = bench.finish(bench.popen(*words, stdin=file))
    assert (done.code, done.out) == (0, b"turn 3\n")
