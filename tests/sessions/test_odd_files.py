"""Status files, transcripts, hooks and tmux's answers may hold anything: the watcher takes no harm, and no detour."""

from __future__ import annotations

import json
import os
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.sessions.test_watcher import person
from tests.support.acp_agents.odd import FEW, ODD, mutated, odd
from tests.support.engine import wait_until
from tests.support.sessions.harness import Place
from unhang.errors import UsageError
from unhang.procs import identity
from unhang.sessions import notify, settings
from unhang.sessions.claude import fact_reader, status_file
from unhang.sessions.claude.transcript import Transcript
from unhang.sessions.state import facts, screen
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.limits import SessionLimits
from unhang.sessions.state.machine import Session
from unhang.sessions.tmux import client
from unhang.sessions.tmux.client import Address, Tmux, TmuxError

ME = os.getpid()
START = identity.start_time(ME) or ""
STATUS = {
    "pid": ME,
    "procStart": START,
    "sessionId": "s-1",
    "cwd": "/x",
    "status": "busy",
    "statusUpdatedAt": 5,
    "startedAt": 4,
    "waitingFor": "w",
    "kind": "k",
    "entrypoint": "cli",
    "name": "n",
}
HOOK = {
    "seq": 1,
    "type": "hook",
    "ts": "2026-01-01T00:00:00.000Z",
    "method": "PreToolUse",
    "toolName": "Bash",
    "toolUseId": "t1",
    "toolInput": {"command": "x", "timeout": 5},
    "backgroundTasks": [{"status": "running"}],
    "agentId": "a",
    "source": "s",
    "pid": ME,
    "procStart": START,
    "configDir": "/x",
    "transcriptPath": "/x",
}
TIMES = ["", "x", "0001-01-01T00:00:00", "9999-12-31T23:59:59Z", "2026-99-99", "-1", "nan", "9" * 5000]

# --- status files -----------------------------------------------------------------------------------------------


def test_a_prompt_beside_a_command_in_the_background_is_free() -> None:
    for status, known in (
        ("shell", "idle"),
        ("idle", "idle"),
        ("busy", "busy"),
        ("waiting", "waiting"),
        ("new", "new"),
    ):
        found = status_file.parse({"pid": ME, "procStart": "5", "sessionId": "s", "status": status}, ME)
        assert found is not None
        assert found.status == known


@given(value=mutated((STATUS,)))
@FEW
def test_a_status_file_is_read_in_its_types(value: dict[str, Any]) -> None:
    found = status_file.parse(value, ME)
    if found is None:
        return
    for name in ("start", "session_id", "cwd", "status", "waiting_for", "kind", "entrypoint", "name"):
        assert len(getattr(found, name)) <= 1000
    assert abs(found.stamp) <= 10**15
    assert isinstance(fact_reader.has_true_stamps(found), bool)


@given(data=st.binary(max_size=200) | st.sampled_from([b"[" * 70_000, b"{" + b'"a":1,' * 20_000, b"\xff" * 70_000]))
@FEW
def test_any_bytes_may_stand_in_a_status_file(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    config = tmp_path_factory.mktemp("config")
    (config / "sessions").mkdir()
    (config / "sessions" / f"{ME}.json").write_bytes(data)
    assert status_file.read(str(config), ME) is None


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_a_path_that_an_agent_names_is_one_for_the_kernel(value: Any) -> None:
    found = status_file.path_of({"p": value}, "p")
    assert found == "" or os.path.isabs(found)
    assert status_file.path_of({"p": "/a\0b"}, "p") == status_file.path_of({"p": "/\ud800"}, "p") == ""
    assert status_file.path_of({"p": "/" + "a" * 5000}, "p") == ""


# --- files in whose place something else stands -------------------------------------------------------------------


def planted(kind: str, path: Path, elsewhere: Path) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(elsewhere)
        case "device":
            path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "device"])
def test_only_a_regular_file_is_opened(kind: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps(STATUS) + '{"type":"assistant"}')
    (tmp_path / "sessions").mkdir()
    path = tmp_path / "sessions" / f"{ME}.json"
    planted(kind, path, elsewhere)
    done = threading.Event()

    def look() -> None:
        assert status_file.open_own(str(path)) is None
        assert status_file.read(str(tmp_path), ME) is None
        transcript = Transcript()
        transcript.follow(str(path))
        for _ in range(2):
            assert transcript.grew() == (False, 0.0)
        assert transcript.answered(["t1"]) == []
        done.set()

    threading.Thread(target=look, daemon=True).start()
    assert done.wait(60), "it waits, or it was opened"


@given(data=st.binary(max_size=300), calls=st.lists(st.text(st.characters(exclude_categories=()), max_size=9)))
@FEW
def test_any_transcript_can_be_looked_at(
    data: bytes, calls: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    transcript = Transcript()
    transcript.follow(str(path))
    path.write_bytes(b"")
    transcript.grew()
    path.write_bytes(data)
    os.utime(path, (-1e9, -1e9))
    assert isinstance(transcript.grew()[0], bool)
    assert set(transcript.answered(calls)) <= set(calls)


def test_a_huge_transcript_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.touch()
    transcript = Transcript()
    transcript.follow(str(path))
    transcript.grew()
    os.truncate(path, 1 << 42)
    tracemalloc.start()
    try:
        assert transcript.grew()[0] is True
        assert transcript.answered(["t1"]) == []
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


# --- hooks, as recorded -------------------------------------------------------------------------------------------


@given(events=st.lists(mutated((HOOK,)), max_size=6), ts=st.sampled_from(TIMES) | odd)
@FEW
def test_any_hooks_can_be_replayed(events: list[dict[str, Any]], ts: Any) -> None:
    machine = Session(SessionLimits(), Budget(10), 0.0)
    told = fact_reader.facts_so_far([*events, HOOK | {"ts": ts}], status_file.parse(STATUS, ME), 0.0)
    for fact in told:
        machine.tell(fact)
        if isinstance(fact, facts.Hook):
            assert len(fact.method) + len(fact.tool_name) + len(fact.tool_use_id) + len(fact.agent_id) < 1100
    assert isinstance(machine.wake(1e6), list)
    assert json.dumps(machine.view(1e6), allow_nan=False)
    assert all(at <= time.clock_gettime(time.CLOCK_BOOTTIME) for at in fact_reader.steps([HOOK | {"phase": "step"}]))


def test_subagents_that_never_stop_are_not_kept_for_ever() -> None:
    machine = Session(SessionLimits(), Budget(10), 0.0)
    for number in range(3000):
        machine.tell(fact_reader.hook(HOOK | {"method": "SubagentStart", "agentId": f"a{number}"}, 1.0))
        machine.tell(fact_reader.hook(HOOK | {"agentId": f"b{number}", "toolUseId": f"t{number}"}, 1.0))
    assert len(machine.known.agents) <= 1000
    assert len(machine.known.calls) <= 200


def test_one_bad_session_stops_neither_the_others_nor_the_watcher(place: Place) -> None:
    """A pipe as its stream, a pipe as its status file, and a stream that names impossible things."""
    bad, named, other = place.standin(), place.standin(), place.standin()
    folder = place.home / "sessions" / bad.session
    folder.mkdir(parents=True)
    for made in (place.home, place.home / "sessions", folder):
        made.chmod(0o700)
    os.mkfifo(folder / "events.ndjson")
    os.mkfifo(place.config / "sessions" / "123456.json")
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    for config in ("/\0", "/\ud800", "relative", "/" + "x" * 3000, deep, 7):
        named.hook("PreToolUse", configDir=config, procStart=deep, transcriptPath=config, toolName=deep, toolInput=deep)
        named.hook("PreToolUse", configDir=config, transcriptPath=config, toolUseId="\ud800" * 50, toolName="Read")
    watcher = place.watch()
    watcher.until("found", other.session)
    other.hangs()
    watcher.until("recovered", other.session)
    assert bad.typed() == b""


# --- tmux -----------------------------------------------------------------------------------------------------------

ANSWER = "\x1f".join(["77", "%1", "78", "0", "0", "/dev/pts/1", "80", "24", "0", "2"]) + "\nclient:5 %1 0\n❯ a\n"


@given(
    data=st.data(),
    pieces=st.lists(
        st.sampled_from(["\x1f", "\n", "client:", "client:9", "²", "9" * 5000, "%1", "-1", ""]), max_size=12
    ),
)
@FEW
def test_any_answer_of_tmux_is_read_or_refused(data: st.DataObject, pieces: list[str]) -> None:
    at = data.draw(st.integers(0, len(ANSWER)))
    answer = data.draw(st.sampled_from([ANSWER[:at], ANSWER])) + "".join(pieces) + ANSWER[at:]
    try:
        found = client.parse_pane(answer)
    except TmuxError:
        return
    assert len(found.text.split("\n")) <= 1000
    assert isinstance(screen.read(found.text), screen.AgentScreen)


@pytest.mark.parametrize("text", ["\n" * 4_000_000, "x" * 4_000_000, "❯ 1. \n" * 500_000, "\x1b]" * 1_000_000])
def test_a_huge_answer_is_cut(text: str) -> None:
    found = client.parse_pane(ANSWER + text)
    assert len(found.text) <= 1000 * 4001
    assert isinstance(screen.read(found.text), screen.AgentScreen)


@pytest.mark.parametrize("code", ["while :; do echo xxxxxxxxxxxxxxxx; done", "exec sleep 1000", "exec yes >&2"])
def test_a_tmux_that_never_ends_is_an_error(code: str, tmp_path: Path) -> None:
    program = tmp_path / "tmux"
    program.write_text(f"#!/bin/sh\n{code}\n")
    program.chmod(0o755)
    ours = Tmux(str(program))
    with pytest.raises(TmuxError, match="does not answer"):
        ours.call("/s", "x", timeout=0.5 if "sleep" in code else 60.0)
    with pytest.raises(TmuxError, match="does not answer"):
        ours.call("/s", "x")


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_a_word_that_no_program_can_be_given_is_refused(word: str) -> None:
    with pytest.raises(TmuxError):
        Tmux().call("/nowhere", "display-message", word)


SHOWN = [
    "#(touch {0}/ran)",
    "##(touch {0}/ran)",
    "###(touch {0}/ran)",
    "#{{?1,#(touch {0}/ran),}}",
    "%H:%M %(x) #[fg=red]y",
    "x;#(touch {0}/ran)",
    "#,}}#(touch {0}/ran)",
    "-p #(touch {0}/ran)",
    "ends in ;",
    "ends in \\;",
    "; run-shell 'touch {0}/ran'",
    "run-shell 'touch {0}/ran' ;",
    "$HOME ~ `x` \"'\\",
]


def test_no_text_that_is_shown_in_tmux_is_expanded_or_run(place: Place) -> None:
    seen = place.standin()
    place.tmux("rename-window", "-t", seen.pane, "named")  # else tmux names it after what runs there, a little later
    address = Address(str(place.socket()), place.server_pid(), seen.pane)
    ours = Tmux()
    with person(place):
        for text in SHOWN:
            told = text.format(place.folder)
            ours.show(address, told)
            notify.show(ours, address, "one", f"\x1b[2J{told}\n")
            first, second = _messages(place)[-2:]
            logged = told.replace("#[", "##[")  # tmux keeps these apart from a style until it draws them
            assert (first, second.rstrip()) == (logged, f"unhang: one in {ours.window(address)}:  [2J{logged}")
    assert not (place.folder / "ran").exists()


def _messages(place: Place) -> list[str]:
    """What tmux has shown to the person, oldest first."""
    lines = place.tmux("show-messages").splitlines()
    return [line.partition(" message: ")[2] for line in reversed(lines) if " message: " in line]


def test_no_key_that_is_sent_is_expanded_or_run(place: Place) -> None:
    seen = place.standin()
    address = Address(str(place.socket()), place.server_pid(), seen.pane)
    pane = int(place.tmux("display-message", "-p", "-t", seen.pane, "#{pane_pid}"))
    keys = [text.format(place.folder) for text in SHOWN if not text.startswith("-")]
    keys += ["'; run-shell 'x'; '", "a\\", "{", "}", "#{pid}"]
    for key in keys:
        assert Tmux().send(address, pane, "-l", key)
    wait_until(lambda: seen.typed() == "".join(keys).encode(), "everything has arrived")
    assert not (place.folder / "ran").exists()


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_settings_that_are_no_regular_file_are_an_error_and_not_waited_for(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "watch.toml"
    planted(kind, path, tmp_path)
    with pytest.raises(UsageError):
        settings.load({}, str(path))


@given(value=st.dictionaries(st.sampled_from(["turn", "escapes", "limits", "notify", "config_dirs", "retry"]), odd))
@FEW
def test_any_settings_are_taken_or_refused(value: dict[str, Any]) -> None:
    try:
        found = settings.parse(value, "watch.json")
    except UsageError:
        return
    assert found.limits.turn is None or found.limits.turn < 1e11
