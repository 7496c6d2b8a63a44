"""What stands around a turn: programs that are not Codex, `cloud` as it is passed on, what `doctor` says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.codex.harness import Bench


def stub(folder: Path, text: str) -> str:
    """`codex cloud` needs an account and the network; what is passed on can be seen without."""
    program = folder / "codex-stub"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def test_cloud_is_passed_on_without_a_limit(bench: Bench) -> None:
    bench.env["UNHANG_CODEX"] = stub(bench.folder, 'echo "$@"; echo talk >&2; exit 7')
    done = bench.call("codex", "cloud", "exec", "--env", "E", "do it")
    assert (done.code, done.out, done.err) == (7, b"cloud exec --env E do it\n", b"talk\n")
    limits = bench.handle(bench.jobs()[0].id).result().limits
    assert [limits[name]["value"] for name in ("idleMs", "hardMs", "stallMs")] == [None, None, None]


def test_the_doctor_says_which_codex_and_what_works(bench: Bench) -> None:
    checks = {check["check"]: check for check in json.loads(bench.call("doctor", "--json").out)["checks"]}
    assert checks["codex"]["ok"]
    assert checks["codex"]["message"].startswith("0.166.0 (")
    assert "app server" in checks["codex"]["message"]


def test_the_doctor_names_the_package_where_there_is_no_codex_and_finds_no_fault(bench: Bench) -> None:
    bench.env["UNHANG_CODEX"] = str(bench.folder / "nothing")
    checks = {check["check"]: check for check in json.loads(bench.call("doctor", "--json").out)["checks"]}
    assert checks["codex"]["ok"]
    assert "npm install" in checks["codex"]["message"]


def test_a_program_that_never_greets_is_ended_by_sigterm(bench: Bench) -> None:
    bench.env["UNHANG_CODEX"] = stub(bench.folder, "exec sleep 1005")
    # the limit leaves the driver the time to begin: it is in the idle limit, too
    turn = bench.turn("hello", "--idle", "9", "--hard", "100", "--grace", "8")
    assert turn.code == 124
    assert turn.about["cause"] == "Codex has not answered; it was waiting for Codex to greet"
    assert turn.steps() == {"close": False, "terminate": True}


def test_a_program_that_talks_nonsense_and_leaves_fails_in_words(bench: Bench) -> None:
    bench.env["UNHANG_CODEX"] = stub(bench.folder, "echo hello; echo '[1]'; echo '{\"id\": 99}'; exit 4")
    turn = bench.turn("hello", "--idle", "30", "--hard", "100")
    assert turn.code == 1
    assert turn.about["error"]["message"] == ("Codex's app server ended while waiting for Codex to greet (exit code 4)")


# Something of its own lives on and holds its output open, as a server that a tool has started does.
HOLDER = "sleep 1006 & "


def test_an_app_server_that_leaves_a_process_on_its_output_has_ended(bench: Bench) -> None:
    bench.env["UNHANG_CODEX"] = stub(bench.folder, HOLDER + "exit 4")
    turn = bench.turn("hello", "--idle", "60", "--hard", "100")
    assert turn.code == 1
    assert turn.about["error"]["message"] == ("Codex's app server ended while waiting for Codex to greet (exit code 4)")
    assert [left["command"] for left in turn.events[-1]["leftovers"]] == ["sleep 1006"]


def test_an_exec_that_leaves_a_process_on_its_output_has_ended(bench: Bench) -> None:
    lines = [
        {"type": "thread.started", "thread_id": "t1"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "i1", "type": "agent_message", "text": "all done"}},
        {"type": "turn.completed", "usage": {}},
    ]
    said = "".join(f"echo '{json.dumps(line)}'; " for line in lines)
    bench.env["UNHANG_CODEX"] = stub(bench.folder, HOLDER + said + "exit 0")
    turn = bench.turn("hello", "--via", "exec", "--idle", "60", "--hard", "100")
    assert turn.result["stdout"] == "all done\n"
    assert turn.about["threadId"] == "t1"
    assert (turn.code, turn.result["timeoutReason"]) == (0, None)
