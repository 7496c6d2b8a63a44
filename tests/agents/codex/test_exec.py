"""The other way to talk to Codex, `codex exec --json`: no deltas, so silence is judged by the model's socket."""

from __future__ import annotations

from tests.support.codex.harness import PATIENT, Bench

EXEC = ("--via", "exec")


def test_a_turn_with_a_command_reports_its_exit_code_and_its_thread_goes_on(bench: Bench) -> None:
    turn = bench.turn("[[shell:echo hello; exit 3]]", *EXEC, *PATIENT, record="exec-tool")
    assert turn.code == 0
    assert turn.result["stdout"] == "done\n"
    assert turn.said("Exited with 3")["exitCode"] == 3
    assert "unknown" not in turn.phases
    assert turn.about["threadId"]
    again = bench.turn("again", *EXEC, *PATIENT, "--thread", turn.about["threadId"])
    assert again.about["threadId"] == turn.about["threadId"]


def test_bytes_on_the_socket_are_life_where_nothing_is_printed(bench: Bench) -> None:
    # the idle limit holds for the start of Codex, too, and is shorter than the reply
    turn = bench.turn("[[slow:18]]", *EXEC, "--idle", "12", "--hard", "100")
    assert turn.code == 0, turn.result


def test_a_silent_socket_is_a_hang_and_sigint_ends_it(bench: Bench) -> None:
    turn = bench.turn("[[hang]]", *EXEC, "--idle", "12", "--hard", "100", "--grace", "30", record="exec-hang")
    assert turn.code == 124
    assert turn.steps() == {"SIGINT": True}
    assert turn.result["diagnosis"]["cause"] == "network"


def test_a_failed_turn_exits_with_1_and_the_error_of_the_service(bench: Bench) -> None:
    turn = bench.turn("[[429]]", *EXEC, *PATIENT, record="exec-429")
    assert turn.code == 1
    assert "429 Too Many Requests" in turn.about["error"]["message"]


def test_a_name_that_is_no_thread_is_refused_and_not_a_new_thread(bench: Bench) -> None:
    turn = bench.turn("hello", *EXEC, *PATIENT, "--thread", "my-thread")
    assert turn.code == 1
    assert "another thread" in turn.about["error"]["message"]


def test_an_overflowing_context_is_recognised_by_its_words_and_recovered_from(bench: Bench) -> None:
    turn = bench.turn("[[ctx]]", *EXEC, *PATIENT, record="exec-overflow")
    assert turn.code == 1
    assert turn.about["error"]["info"] == "contextWindowExceeded"
    assert f"unhang codex recover {turn.job.id}" in turn.result["recovery"]["suggestions"][0]
    done = bench.codex("recover", turn.job.id, "--prompt", "smaller", "--wait", *PATIENT)
    assert (done.code, done.out) == (0, b"pong\n"), done.err
