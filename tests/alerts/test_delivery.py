"""Alerts of real jobs to real receivers: what arrives, how often, and what happens when it does not."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.alerts import FAIL, NEVER, SLOW, Receiver, deliverers, rules
from tests.support.jobs import STILL, Jobs, keeper_of, wait_until
from tests.support.places import ROOT
from unhang.alerts.deliverer import minute_of_day
from unhang.alerts.targets import signature
from unhang.core.alerts.ledger import SPACING, Ledger
from unhang.core.alerts.occasions import AlertSubject, Occasion
from unhang.core.alerts.settings import QuietHours, parse
from unhang.store import alert_news
from unhang.testing.liveness import Process


def test_a_failed_job_is_told_once_signed_with_its_reason_and_the_command_to_paste(
    jobs: Jobs, alerts: Path, receiver: Receiver, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    alerts.write_text(rules(receiver.url, "failed", more=f'secret_file = "{tmp_path}/secret"'))
    job = jobs.begin("--label", "team=a", "--", "sh", "-c", "exit 3")
    wait_until(lambda: receiver.requests, "the alert has come")
    headers, body = receiver.requests[0]
    assert headers["x-unhang-signature"] == signature(b"s3cret", headers["x-unhang-timestamp"], body)
    assert abs(int(headers["x-unhang-timestamp"]) - time.time()) < 600
    (alert,) = json.loads(body)["alerts"]
    assert (alert["kind"], alert["jobId"], alert["labels"]["team"]) == ("failed", job.id, "a")
    assert headers["idempotency-key"].startswith(f"{job.id}:{alert['seq']}:failed")
    assert alert["paste"] == f"unhang result {job.id}"
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver")
    assert len(receiver.requests) == 1
    status = jobs.said("alerts", "status")
    assert [(each["state"], each["attempts"]) for each in status["deliveries"]] == [("sent", 1)]
    assert status["waiting"]["pending"] == status["waiting"]["held"] == status["waiting"]["unread"] == 0


def test_a_prompt_is_told_and_its_answer_and_what_was_resolved_in_time_is_not(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    alerts.write_text(rules(receiver.url, "needs_input", "recovered", "failed"))
    asks = ("sh", "-c", 'printf "Name? "; read x; sleep 3600')
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *asks)
    wait_until(lambda: receiver.kinds() == [["needs_input"]], "the prompt is told")
    (alert,) = receiver.values()[0]["alerts"]
    assert "Name?" in alert["what"]
    assert alert["paste"] == f"unhang send {job.id} ANSWER"
    assert job.cancel().status == "cancelled"
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver")
    assert receiver.kinds() == [["needs_input"]], "a person who cancels knows of it"


def test_a_receiver_that_fails_is_tried_again_and_one_that_never_answers_holds_up_no_other(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    mute = Receiver()
    mute.answers = [NEVER] * 10
    receiver.answers = [FAIL]
    second = f'[target.mute]\nkind = "webhook"\nurl = "{mute.url}"\n'
    alerts.write_text(second + rules(receiver.url, "failed").replace('["hook"]', '["hook", "mute"]'))
    jobs.begin("--", "false")
    wait_until(lambda: len(receiver.requests) == 2, "it is tried again")
    first, second = (headers["idempotency-key"] for headers, _ in receiver.requests)
    assert first == second
    states = [(each["target"], each["state"]) for each in jobs.said("alerts", "status")["deliveries"]]
    assert ("hook", "retry") in states
    wait_until(lambda: mute.requests, "the other one has its message, too")
    wait_until(lambda: jobs.said("alerts", "status")["waiting"]["pending"] == 1, "only that one waits for its answer")
    mute.close()


def test_what_becomes_due_while_another_target_takes_its_time_is_sent(
    jobs: Jobs, alerts: Path, receiver: Receiver, tmp_path: Path
) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    waits = ["sh", "-c", f"touch {begun}; until [ -e {go} ]; do sleep 0.1; done"]
    slow = f'[target.slow]\nkind = "command"\ncommand = {json.dumps(waits)}\n'
    rule = '[[rule]]\non = ["failed"]\nto = ["slow"]\nlabel = { to = "slow" }\n'
    alerts.write_text(slow + rules(receiver.url, "failed") + 'label = { to = "hook" }\n' + rule)
    jobs.begin("--label", "to=slow", "--", "false")
    wait_until(begun.exists, "a message is on its way")
    jobs.begin("--label", "to=hook", "--", "false")
    wait_until(lambda: receiver.kinds() == [["failed"]], "the other target is told")
    assert [each for each in jobs.said("alerts", "status")["deliveries"] if each["target"] == "slow"] == []
    go.touch()
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver")
    noted = [(each["target"], each["state"]) for each in jobs.said("alerts", "status")["deliveries"]]
    assert noted == [("hook", "sent"), ("slow", "sent")]


def test_a_slow_receiver_is_waited_for_and_one_without_an_answer_is_tried_again_with_the_same_key(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    mute = Receiver()
    mute.answers, receiver.answers = [NEVER], [SLOW]
    second = f'[target.mute]\nkind = "webhook"\nurl = "{mute.url}"\n'
    alerts.write_text(second + rules(receiver.url, "failed").replace('["hook"]', '["hook", "mute"]'))
    jobs.begin("--", "false")
    wait_until(lambda: receiver.requests, "the slow one has its message")
    assert jobs.said("alerts", "status")["waiting"]["pending"] >= 1
    receiver.release()
    wait_until(lambda: len(mute.requests) == 2, "the mute one was given up, and asked again", timeout=120)
    first, again = (headers["idempotency-key"] for headers, _ in mute.requests)
    assert first == again
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver")
    noted = [(each["target"], each["state"], each["attempts"]) for each in jobs.said("alerts", "status")["deliveries"]]
    assert sorted(noted) == [("hook", "sent", 1), ("mute", "retry", 1), ("mute", "sent", 2)]
    mute.close()


def test_what_quiet_hours_have_held_back_is_one_message_when_they_end() -> None:
    noon = 1_800_014_400.0
    begin = int(minute_of_day(noon))
    file = {"target": {"phone": {"kind": "desktop"}}, "rule": [{"on": ["failed"], "to": ["phone"]}]}
    settings = parse(file, "f").replace(quiet=QuietHours(begin, (begin + 60) % 1440))
    book = Ledger(settings, {}, minute_of_day)
    for n in range(50):
        book.take(Occasion(AlertSubject(f"j{n}", "a", "make"), "failed", 1, 0.0, "", "", ""), noon + n * 0.37)
    assert book.ready(noon + 3599.9) == []
    assert [len(each.occasions) for each in book.ready(noon + 3600)] == [50]


def test_a_message_on_its_way_does_not_hold_the_place_of_a_deliverer_that_was_killed(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    receiver.answers = [NEVER]
    alerts.write_text(rules(receiver.url, "failed"))
    jobs.begin("--", "false")
    wait_until(lambda: receiver.requests, "it is being sent")
    pid = int((jobs.home / "alerts" / "lock").read_text().split()[0])
    killed = Process(pid, "deliverer")
    killed.send(signal.SIGKILL)
    assert killed.wait_gone()
    killed.close()
    assert not alert_news.is_delivering(str(jobs.home))
    jobs.begin("--", "true")
    wait_until(lambda: len(receiver.requests) == 2, "the next one sends it again")
    assert receiver.kinds() == [["failed"]] * 2


def test_a_deliverer_sleeps_until_the_next_try_and_leaves_when_it_is_told_to(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    receiver.answers = [FAIL] * 9
    alerts.write_text(rules(receiver.url, "failed"))
    jobs.begin("--", "false").wait()

    def alone() -> list[int]:  # its child, who sends, is another one
        found = deliverers(jobs.home)
        return found if receiver.requests and len(found) == 1 else []

    (pid,) = wait_until(alone, "the first try")
    before = user_and_system(pid)
    wait_until(lambda: len(receiver.requests) == 2, "the second, seconds later")
    assert user_and_system(pid) - before < 0.5, "it does not ask again and again whether it is time"
    deliverer = Process(pid)
    assert deliverer.send(signal.SIGTERM)
    assert deliverer.wait_gone(), "long before the third"
    assert len(receiver.requests) == 2


def user_and_system(pid: int) -> float:
    """The seconds of processor time that a process has used itself."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_killed_deliverer_loses_nothing_and_a_mark_without_one_waits_for_the_next(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    alerts.write_text(rules(receiver.url, "failed", "lost"))
    running = jobs.begin(*STILL, "--", "sleep", "3600")
    (pid,) = wait_until(lambda: deliverers(jobs.home), "a deliverer runs beside the job")
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not deliverers(jobs.home), "it is gone")
    keeper, guard = keeper_of(running.place)
    keeper.send(signal.SIGKILL)
    assert guard.wait_gone()
    assert alert_news.marks(str(jobs.home)) == [running.id]
    assert jobs.said("alerts", "status")["waiting"]["unread"] == 1
    jobs.begin("--", "true")
    wait_until(lambda: receiver.kinds() == [["lost"]], "the next job has it delivered")


def test_a_storm_is_a_few_messages_that_tell_of_all(jobs: Jobs, alerts: Path, receiver: Receiver) -> None:
    alerts.write_text(rules(receiver.url, "failed"))
    began = time.monotonic()
    code = "import unhang\nfor n in range(60): unhang.start(['false'])"
    assert jobs.finish(jobs.popen_program(sys.executable, "-c", code)).code == 0
    wait_until(lambda: sum(map(len, receiver.kinds())) >= 60, "all are told")
    told = [alert["jobId"] for value in receiver.values() for alert in value["alerts"]]
    assert len(told) == len(set(told)) == 60
    assert len(receiver.requests) <= 2 + (time.monotonic() - began) / SPACING, "messages keep their distance"


def test_a_job_names_its_own_target_and_an_unknown_one_is_refused(jobs: Jobs, alerts: Path, receiver: Receiver) -> None:
    alerts.write_text(f'[target.hook]\nkind = "webhook"\nurl = "{receiver.url}"\n')
    refused = jobs.call("start", "--notify", "pager", "--", "true")
    assert refused.code == 2
    assert b"pager" in refused.err
    jobs.begin("--", "false")
    job = jobs.begin("--notify", "hook", "--", "true")
    wait_until(lambda: receiver.requests, "its end is told")
    assert [(each["jobId"], each["kind"]) for each in receiver.values()[0]["alerts"]] == [(job.id, "finished")]


@pytest.mark.usefixtures("alerts")
def test_without_rules_nothing_is_made_and_nothing_is_started(jobs: Jobs) -> None:
    jobs.begin("--", "false").wait()
    assert not (jobs.home / "alerts").exists()
    assert deliverers(jobs.home) == []


def test_without_rules_a_run_costs_two_looks_for_the_file_and_no_process(jobs: Jobs, tmp_path: Path) -> None:
    programs.need_command("strace")
    trace = tmp_path / "trace"
    words = ["strace", "-f", "-qq", "-e", "trace=%file,%process", "-o", str(trace), *jobs.command("run", "--", "true")]
    assert jobs.finish(jobs.popen_program(*words), 60).code == 0
    lines = trace.read_text(errors="replace").splitlines()
    for folder in (tmp_path, ROOT, sys.prefix, sys.base_prefix):  # each may have any name
        lines = [line.replace(str(folder), "") for line in lines]
    looks = [line for line in lines if "alert" in line and "/core/alerts" not in line and "alert_news" not in line]
    assert len(looks) == 2, looks
    assert all("stat" in line and "alerts.toml" in line for line in looks)
    assert [line for line in lines if "execve(" in line and '"/bin/sh"' in line] == []


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_rules_that_others_may_write_are_not_believed(jobs: Jobs, alerts: Path, receiver: Receiver, mode: int) -> None:
    alerts.write_text(rules(receiver.url, "failed"))
    alerts.chmod(mode)
    jobs.begin("--", "false").wait()
    assert not (jobs.home / "alerts").exists()
    for words, code in (
        (("alerts", "list"), 2),
        (("start", "--notify", "desktop", "--", "true"), 2),
        (("doctor",), 125),
    ):
        done = jobs.call(*words)
        assert (done.code, str(alerts).encode() in done.out + done.err) == (code, True)


def test_a_project_cannot_bring_rules(jobs: Jobs, receiver: Receiver, tmp_path: Path) -> None:
    for name in ("alerts.toml", ".unhang/alerts.toml"):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rules(receiver.url, "failed"))
    jobs.begin("--cwd", tmp_path / "project", "--", "false").wait()
    assert not (jobs.home / "alerts").exists()


def test_an_edited_file_is_taken_over_and_a_mistake_in_it_is_named_by_the_doctor(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    alerts.write_text(rules(receiver.url, "finished"))
    running = jobs.begin(*STILL, "--", "sleep", "3600")
    wait_until(lambda: deliverers(jobs.home), "a deliverer runs beside the job")
    alerts.write_text("rules = []\n")
    (found,) = [each for each in jobs.said("doctor", code=125)["checks"] if each["check"] == "alerts"]
    assert not found["ok"]
    assert "'rules'" in found["message"]
    assert jobs.call("alerts", "list").code == 2
    alerts.write_text(rules(receiver.url, "failed"))
    jobs.begin("--", "false")
    wait_until(lambda: receiver.kinds() == [["failed"]], "the new rule holds")
    running.cancel()


def test_news_waits_while_the_file_cannot_be_read(jobs: Jobs, alerts: Path, receiver: Receiver) -> None:
    (alerts.parent / "folder").mkdir(0o700)
    ways: list[Callable[[], object]] = [
        lambda: alerts.write_text("rules = []\n"),
        lambda: os.mkfifo(alerts, 0o600),
        lambda: alerts.symlink_to(alerts.parent / "folder"),
        lambda: alerts.write_text("#" * (1 << 20)),
        lambda: alerts.write_bytes(b"# \xe4\n"),
    ]
    alerts.write_text("rules = []\n")
    job = jobs.begin("--", "false")
    job.wait()
    wait_until(lambda: alert_news.marks(str(jobs.home)) == [job.id], "there is news")
    wait_until(lambda: not deliverers(jobs.home), "who was to deliver has given up")
    alerts.unlink()
    for number, make in enumerate(ways):
        make()
        done = jobs.call("alerts", "deliver")
        assert (done.code, done.err.count(b"\n"), str(alerts).encode() in done.err) == (2, 1, True), number
        alerts.unlink()
    alerts.write_text("rules = []\n")
    assert str(alerts).encode() in jobs.call("alerts", "status").out
    alerts.write_text(rules(receiver.url, "failed"))
    assert jobs.call("alerts", "deliver", timeout=120).code == 0
    assert receiver.kinds() == [["failed"]]
