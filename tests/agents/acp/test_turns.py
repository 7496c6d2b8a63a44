"""Every real agent, end to end: an answer, a tool, a refusal, a session that goes on."""

from __future__ import annotations

import json

import pytest

from tests.agents.acp.test_recordings import OF_VENDORS
from tests.support.acp_agents import programs
from tests.support.acp_agents.harness import PATIENT, Bench
from tests.support.engine import wait_until

# Which of them ask before they run a command, as they are configured here; Codex in this mode only.
MODES = {"codex": ("--mode", "workspace-write")}
MARK = "touch marker"


@pytest.mark.parametrize("name", programs.NAMES)
def test_two_tasks_are_done_in_one_session_an_answer_and_a_tool_call(bench: Bench, name: str) -> None:
    bench.equip(name)
    turn = bench.turn(
        name,
        "[[text:a plain answer]]",
        "--then",
        f"[[shell:{MARK}; echo made]]",
        *PATIENT,
        "--permissions",
        "allow",
        record=f"{name}-success",
    )
    assert turn.code == 0, (turn.err, turn.result["stderr"])
    assert turn.result["status"] == "success"
    agent = turn.about
    assert (agent["stopReason"], agent["error"], agent["budget"], agent["ladder"]) == ("end_turn", None, None, [])
    assert agent["version"]
    assert agent["sessionId"]
    assert agent["text"].startswith("a plain answer\ndone: ")
    assert turn.result["stdout"] == agent["text"] + "\n"
    assert (bench.workspace / "marker").exists()
    assert "made" in bench.fake.results[-1] or name == "codex"
    (tool,) = agent["toolCalls"]
    assert (tool["kind"], tool["status"]) == ("execute", "completed")
    assert MARK in (tool["command"] or tool["title"])
    assert [one["decision"] for one in agent["permissions"]] == ([] if name == "codex" else ["allowed"])
    assert [event["phase"] for event in turn.told if event.get("stopReason")] == ["completed", "completed"]
    assert {event["method"] for event in turn.told if event["phase"] == "unknown"} <= OF_VENDORS
    if name not in ("kimi", "qwen"):  # the two that do not sum up their tokens
        assert agent["usage"]["inputTokens"] > 0
    assert bench.fake.strangers == []


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_refused_permission_is_said_and_held_to(bench: Bench, name: str) -> None:
    bench.equip(name)
    words = (*PATIENT, *MODES.get(name, ()))
    turn = bench.turn(name, f"[[escalate:{MARK}]]", *words, record=f"{name}-refused")
    assert not (bench.workspace / "marker").exists()
    (asked,) = turn.about["permissions"]
    assert (asked["decision"], asked["by"]) == ("denied", "policy")
    assert MARK in asked["request"]  # wherever the agent says it: Kimi's title names the tool alone
    assert turn.said("denied", "warning")["request"] == asked["request"]
    assert (turn.result["status"], turn.about["stopReason"]) in (("success", "end_turn"), ("error", "cancelled"))
    assert turn.code == (0 if turn.about["stopReason"] == "end_turn" else 1)
    assert turn.about["budget"] is None


@pytest.mark.parametrize("name", ["claude", "gemini"])
def test_a_question_is_put_to_a_person_and_the_answer_holds(bench: Bench, name: str) -> None:
    """Gemini says nothing of the call before it asks, Claude has announced it by then."""
    bench.equip(name)
    job = bench.begun(name, f"[[shell:{MARK}]]", *PATIENT, "--permissions", "ask")
    asked = wait_until(
        lambda: next((e for e in job.events() if e["phase"] == "needs_approval"), None), "it asks", timeout=100
    )
    assert f"unhang send {job.id} yes (or no" in asked["message"]
    status = bench.said("status", job.id)
    assert MARK in status["needsInput"]["prompt"]
    assert f"unhang send {job.id} yes\n" in bench.call("status", job.id).out.decode()
    found = bench.said("diagnose", job.id)
    assert (found["cause"], MARK in found["reason"]) == ("input", True), "it waits for a person, and for no tool"
    assert bench.call("send", job.id, "what is that?").code == 0
    wait_until(lambda: sum(e["phase"] == "needs_approval" for e in job.events()) == 2, "it asks again")
    assert not (bench.workspace / "marker").exists()
    assert bench.call("send", job.id, "yes\n").code == 0
    result = job.wait(60)
    assert result.status == "success", result.stderr
    assert (bench.workspace / "marker").exists()
    decided = [event for event in job.events() if event.get("decision")]
    assert [(event["decision"], event["by"]) for event in decided] == [("allowed", "answer")]


@pytest.mark.parametrize("name", ["claude", "codex", "kimi", "qwen"])
def test_a_session_goes_on_where_it_was(bench: Bench, name: str) -> None:
    bench.equip(name)
    first = bench.turn(name, "[[text:the word is heron]]", *PATIENT)
    assert first.code == 0, first.result["stderr"]
    session = first.about["sessionId"]
    again = bench.turn(name, "[[text:it goes on]]", *PATIENT, "--session", session, record=f"{name}-resume")
    assert again.code == 0, again.result["stderr"]
    assert again.about["sessionId"] == session
    assert again.about["text"] == "it goes on"  # what was replayed is not said again
    assert "the word is heron" in str(bench.fake.requests[-1])  # the model is told what was said before


def test_a_session_that_is_not_found_is_said_in_the_agents_own_words(bench: Bench) -> None:
    """Gemini has session/load only, and 0.61.0 finds none of its own sessions again."""
    bench.equip("gemini")
    turn = bench.turn("gemini", "[[text:x]]", *PATIENT, "--session", "11111111-2222-4333-8444-555555555555")
    assert turn.code == 1
    assert turn.about["error"]["message"].startswith("session/load: ")
    assert "No previous sessions found" in turn.about["error"]["message"]
    assert bench.fake.asked == []


def test_a_mode_is_set_by_what_the_agent_offers(bench: Bench) -> None:
    bench.equip("gemini")  # session/set_mode
    turn = bench.turn("gemini", f"[[shell:{MARK}]]", *PATIENT, "--mode", "YOLO")
    assert (turn.code, turn.about["permissions"]) == (0, [])
    assert (bench.workspace / "marker").exists()
    refused = bench.turn("gemini", "[[text:x]]", *PATIENT, "--mode", "nonsense")
    assert refused.code == 1
    assert "has no mode 'nonsense'; it offers: default, autoEdit, yolo, plan" in refused.about["error"]["message"]
    assert refused.result["stderr"].count("unhang: ") == 1


def test_a_model_is_set_by_a_configuration_option(bench: Bench) -> None:
    bench.equip("claude")
    turn = bench.turn("claude", "[[text:small]]", *PATIENT, "--model", "haiku")
    assert turn.code == 0, turn.result["stderr"]
    assert "haiku" in bench.fake.requests[-1]["model"]


def test_files_go_through_unhang_only_if_allowed_and_only_below_the_directory(bench: Bench) -> None:
    """Gemini asks its client for files, where the client offers them. (A new one it does not make: 0.61.0 takes the
    answer that there is none for a failure.)"""
    bench.equip("gemini")
    inside, outside = bench.workspace / "there.txt", bench.folder / "outside.txt"
    inside.write_text("old")
    words = (*PATIENT, "--permissions", "allow", "--fs", "write")
    turn = bench.turn("gemini", f"[[write:{inside}:written by it]]", *words, record="gemini-files")
    assert turn.code == 0
    assert inside.read_text() == "written by it"
    assert turn.said("asks to read .*: served", "running")["method"] == "fs/read_text_file"
    assert turn.said("asks to write .*: served", "running")["method"] == "fs/write_text_file"
    bench.turn("gemini", f"[[write:{outside}:no]]", *words)
    assert not outside.exists()


def test_two_codex_that_start_at_once_in_a_new_home_both_work(bench: Bench) -> None:
    """One of them fails on Codex's own database, and is started again."""
    bench.equip("codex")
    words = ("agent", "run", "codex", "[[text:hello]]", *PATIENT, "--wait", "--json")
    both = [bench.popen(*words, cwd=bench.workspace) for _ in range(2)]
    results = [json.loads(bench.finish(process, 110).out) for process in both]
    assert [result["status"] for result in results] == ["success"] * 2, [result["error"] for result in results]
