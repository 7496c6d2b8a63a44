"""The deliverer is stopped or killed, the disk is full, too much comes at once: each alert arrives, or is listed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from json import dumps, loads
from pathlib import Path

import pytest

from tests.jobs.test_full_disk import Disk, disk, fill
from tests.support.alerts import Receiver, deliverers, rules
from tests.support.engine import Done
from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.namespaces import in_pid_namespace, need_namespaces
from unhang.alerts import deliveries
from unhang.alerts.backlog import backlog_of
from unhang.core.alerts.ledger import MOST_HELD, Delivery, Outcome
from unhang.store import alert_news
from unhang.store.session_log import SessionLog

__all__ = ["disk"]
SESSION = "01234567-89ab-4cde-8f01-23456789abcd"


def deliverer_of(jobs: Jobs) -> int:
    """The pid of the deliverer that has begun to work."""

    def signed() -> list[str]:
        return (jobs.home / "alerts" / "lock").read_text().split()

    return int(wait_until(signed, "a deliverer runs beside the job")[0])


@pytest.fixture
def running(jobs: Jobs, alerts: Path, receiver: Receiver) -> Iterator[int]:
    """The pid of a deliverer that stays as long as a job runs."""
    alerts.write_text(rules(receiver.url, "failed", "finished", "gave_up"))
    job = jobs.begin(*STILL, "--", "sleep", "3600")
    yield deliverer_of(jobs)
    job.cancel()


def test_a_deliverer_that_is_stopped_is_named_and_goes_on_with_the_next_news(
    jobs: Jobs, receiver: Receiver, running: int
) -> None:
    os.kill(running, signal.SIGSTOP)
    wait_until(lambda: jobs.said("alerts", "status")["waiting"]["stopped"] == running, "it is seen to be stopped")
    (found,) = [each for each in jobs.said("doctor", code=125)["checks"] if each["check"] == "alerts"]
    assert (found["ok"], f"pid {running}" in found["message"]) == (False, True)
    jobs.begin("--", "false")
    wait_until(lambda: receiver.kinds() == [["failed"]], "the news has woken it")
    wait_until(lambda: deliverers(jobs.home) == [running], "no other stands in its place")
    os.kill(running, signal.SIGSTOP)
    wait_until(lambda: jobs.said("alerts", "status")["waiting"]["stopped"] == running, "once more")
    assert jobs.call("alerts", "deliver").code == 0
    assert jobs.said("alerts", "status")["waiting"]["stopped"] is None


def test_a_stopped_deliverer_of_another_pid_namespace_is_left_alone(jobs: Jobs, running: int) -> None:
    """The /proc of this container is the host's: its numbers are other processes' here, and none is signalled."""
    need_namespaces()
    os.kill(running, signal.SIGSTOP)
    wait_until(lambda: jobs.said("alerts", "status")["waiting"]["stopped"] == running, "it is seen to be stopped")

    def inside(*words: str) -> Done:
        return jobs.finish(jobs.popen_program(*in_pid_namespace(jobs.command(*words), own_proc=False)))

    assert loads(inside("alerts", "status", "--json").out)["waiting"]["stopped"] is None
    done = inside("alerts", "deliver")
    assert (done.code, done.err) == (0, b"")
    assert jobs.said("alerts", "status")["waiting"]["stopped"] == running


def test_news_that_a_killed_deliverer_was_reading_is_read_by_the_next(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    alerts.write_text(rules(receiver.url, "failed"))
    home = str(jobs.home)
    held = alert_news.lock(home)  # nobody delivers for now
    assert held is not None
    job = jobs.begin("--", "false")
    job.wait()
    wait_until(lambda: alert_news.marks(home) == [job.id], "its end is marked")
    alert_news.take(home, job.id)  # and whoever has begun to read it is killed here
    os.close(held)
    assert jobs.said("alerts", "status")["waiting"]["unread"] == 1
    assert jobs.call("alerts", "deliver", timeout=120).code == 0
    assert receiver.kinds() == [["failed"]]
    assert alert_news.marks(home) == []


def test_what_others_have_put_beside_its_files_hinders_no_deliverer(
    jobs: Jobs, alerts: Path, receiver: Receiver, tmp_path: Path
) -> None:
    """Folders, links, pipes and odd values: what is due is told, and the deliverer leaves when all is."""
    alerts.write_text(rules(receiver.url, "failed"))
    victim = tmp_path / "victim"
    victim.write_text("of another file")
    place = jobs.home / "alerts"
    for folder in ("news", "taken", "used", "seen", "pages"):
        for each in (jobs.home, place, place / folder):
            each.mkdir(mode=0o700, exist_ok=True)
        for name in ("0123456789", "folder"):
            (place / folder / name).mkdir()
            os.utime(place / folder / name, (1, 1))
        (place / folder / "1234567890").symlink_to(victim)
        os.mkfifo(place / folder / "2345678901")
    os.mkfifo(place / "sent.ndjson")
    odd = {"cursors": {"x": "y"}, "told": {"a": 5}, "last": {"hook": "x"}, "held": 7, "pending": 7, "counts": [1]}
    (place / "state.json").write_text(dumps(odd))
    for words in (("alerts", "status"), ("alerts", "list"), ("metrics",)):
        assert b"Traceback" not in jobs.call(*words).err
    assert jobs.call("run", "--", "false").code == 1
    wait_until(lambda: receiver.kinds() == [["failed"]], "it is told")
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver")
    assert "sent.ndjson" in jobs.refused("alerts", "status")
    os.unlink(place / "sent.ndjson")
    waiting = jobs.said("alerts", "status")["waiting"]
    assert (waiting["pending"], waiting["held"], waiting["unread"]) == (0, 0, 0)
    assert victim.read_text() == "of another file"


def test_a_session_is_told_of_in_a_home_without_any_job(jobs: Jobs, alerts: Path, receiver: Receiver) -> None:
    alerts.write_text(rules(receiver.url, "gave_up"))
    home = str(jobs.home)
    log = SessionLog(SESSION, home)
    log.append({"type": "watch", "phase": "gave_up", "message": "nothing more can be done", "sessionId": SESSION})
    alert_news.mark(home, alert_news.SESSION + SESSION)
    assert jobs.call("alerts", "deliver", timeout=120).code == 0
    (alert,) = receiver.values()[0]["alerts"]
    assert (alert["kind"], alert["sessionId"]) == ("gave_up", SESSION)


def test_on_a_full_disk_alerts_are_sent_once_and_written_down_when_there_is_room(
    jobs: Jobs, disk: Disk, alerts: Path, tmp_path: Path
) -> None:
    place, told, go = disk("size=2m"), tmp_path / "told", tmp_path / "go"
    line = f"cat >> {told}; while ! [ -e {go} ]; do sleep 0.1; done"
    target = f'[target.file]\nkind = "command"\ncommand = ["/bin/sh", "-c", "{line}"]\n'
    alerts.write_text(f'{target}[[rule]]\non = ["failed", "finished"]\nto = ["file"]\n')
    job = jobs.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "read x; exit 3")
    pid = deliverer_of(jobs)
    fill(place)
    job.send("\n")
    wait_until(lambda: told.exists() and told.read_bytes().endswith(b"\n"), "it is told")
    fill(place)  # what was kept for the job's last words is free now
    go.touch()
    wait_until(lambda: deliverers(jobs.home) == [pid], "whoever told it is gone")
    (place / "filler").unlink()
    later = jobs.begin("--", "true")
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver")
    ends = [(each["kind"], each["jobId"]) for text in told.read_text().splitlines() for each in loads(text)["alerts"]]
    assert ends == [("failed", job.id), ("finished", later.id)], "each once"
    assert [[job.id], [later.id]] == [each["jobs"] for each in deliveries.read(str(jobs.home))]
    assert alert_news.marks(str(jobs.home)) == []


def test_a_storm_of_five_hundred_tells_of_each_once_or_lists_it_in_a_handful_of_messages(
    jobs: Jobs, receiver: Receiver, running: int
) -> None:
    """Ended jobs by their records alone: five hundred real ones would take the machine, not the deliverer."""
    home = jobs.home
    model = jobs.begin("--", "false")
    wait_until(lambda: len(receiver.requests) == 1, "the first is told")
    os.kill(running, signal.SIGSTOP)
    made = [f"storm{number:04d}" for number in range(500)]
    for name in made:
        folder = home / "jobs" / name
        folder.mkdir(mode=0o700)
        for file in ("job.json", "events.ndjson"):
            data = Path(model.place.path, file).read_bytes()
            (folder / file).write_bytes(data.replace(model.id.encode(), name.encode()))
            (folder / file).chmod(0o600)
        alert_news.mark(str(home), name)
    alert_news.wake(str(home))
    wait_until(lambda: backlog_of(str(home)).count == 0, "all is read and sent, or given up", timeout=120)
    told = [alert["jobId"] for value in receiver.values()[1:] for alert in value["alerts"]]
    listed = [job for line in deliveries.read(str(home)) if line["state"] == "failed" for job in line["jobs"]]
    assert len(told) == len(set(told)) == MOST_HELD
    assert len(listed) == len(set(listed)) == len(made) - MOST_HELD
    assert set(told) | set(listed) == set(made)
    assert len(receiver.requests) == 2, "one message for all that it may hold"
    shown = jobs.call("alerts", "status").out.decode().splitlines()
    assert len(shown) <= 22
    assert max(map(len, shown)) < 200


def test_a_line_that_found_no_room_leaves_no_half_of_it(tmp_path: Path) -> None:
    path = tmp_path / "alerts" / "sent.ndjson"
    path.parent.mkdir()
    path.write_bytes(b'{"state":"sent"}\n{"sta')
    deliveries.record(str(tmp_path), Outcome(Delivery("k", "t", ()), "failed", "why"), "now")
    assert [each["state"] for each in deliveries.read(str(tmp_path))] == ["sent", "failed"]
