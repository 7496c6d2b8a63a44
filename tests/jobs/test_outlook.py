"""`ps` and `status`: what needs a person first, within the width of the terminal, and nothing left out of the JSON."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import struct
import sys
import termios
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from fcntl import ioctl

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.support.jobs import STILL, Jobs, over, wait_until
from unhang.core.attention import KINDS, Attention
from unhang.core.values import moment
from unhang.faces.cli import times
from unhang.faces.cli.commands import ps
from unhang.jobs.outlook import Outlook
from unhang.store.index import Row

ASKS = (*STILL, "--stdin", "pipe", "--", "sh", "-c", 'printf "Really go on? "; read x')
LISTENS = (
    "import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
    "print(s.getsockname()[1], flush=True); time.sleep(100)"
)
# A zone of the test's own, five and a half hours ahead of UTC.
ZONE, AHEAD = "TEST-5:30", timezone(timedelta(hours=5, minutes=30))


@pytest.fixture
def local_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", ZONE)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("local_zone")
def test_times_are_local_have_the_date_of_another_day_and_are_utc_if_asked_for() -> None:
    at = datetime(2026, 1, 2, 18, 29, 59, tzinfo=UTC).timestamp()  # a second before midnight here
    assert times.format_time(at, utc=False) == "2026-01-02 23:59:59"
    assert times.format_time(at, utc=True) == "2026-01-02 18:29:59Z"
    assert times.format_time(at, utc=False, now=at) == "23:59:59"
    assert times.format_time(at, utc=False, now=at + 1) == "2026-01-02 23:59:59", "the day is another here"
    assert times.format_time(at, utc=True, now=at + 1) == "18:29:59Z", "and the same there"
    assert times.with_age("2026-01-02T18:29:59.000Z", utc=False, now=at + 60) == "2026-01-02 23:59:59 (1m ago)"
    assert times.with_age(None, utc=False, now=at) == ""


def _on_a_terminal(jobs: Jobs, columns: int, *words: str) -> list[str]:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = jobs.popen(*words, stdout=theirs)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:  # the other side is closed
        pass
    finally:
        os.close(ours)
    assert jobs.finish(process).code == 0
    return seen.decode().replace("\r", "").splitlines()


@pytest.mark.parametrize("columns", [40, 80])
def test_the_list_fits_the_terminal_and_begins_with_what_needs_a_person(jobs: Jobs, columns: int) -> None:
    asks = jobs.begin("--name", "migrate", *ASKS)
    jobs.begin("--name", "a-server-with-a-long-name", *STILL, "--", "sh", "-c", f"sleep 100 # {'x' * 200}")
    wait_until(lambda: jobs.said("status", asks.id)["needsInput"], "the prompt is noticed")
    lines = _on_a_terminal(jobs, columns, "ps")
    assert max(map(len, lines)) <= columns
    if columns == 80:
        assert len(lines) == 3
        assert re.match(r"JOB +STATE", lines.pop(0))
        assert "waits for" in lines[0]
    else:  # lines of its own for each job, and what it asks is legible
        assert [line[0] == " " for line in lines] == [False, True, True, False, True]
        assert '"Really go on?"' in lines[1]
    assert lines[0].split()[:2] == ["migrate", "needs"]


def test_bad_ends_are_counted_below_the_list_until_they_are_said_to_be_seen(jobs: Jobs) -> None:
    bad = [jobs.begin("--label", f"part={name}", "--", "sh", "-c", "exit 3").id for name in ("a", "b", "c")]
    wait_until(lambda: {need["jobId"] for need in jobs.said("needs")} == set(bad), "all have ended")
    assert len(lines := _on_a_terminal(jobs, 80, "ps")) == 3
    assert " ".join(lines[1:]).startswith("3 jobs ended badly")
    assert b"badly" not in jobs.call("ps").out, "for people alone"
    assert [need["jobId"] for need in jobs.said("needs", "--seen", "--label", "part=a")] == bad[:1]
    assert {need["jobId"] for need in jobs.said("needs")} == set(bad[1:]), "no other than those that were listed"
    assert jobs.call("needs", "--seen").code == 0
    assert jobs.said("needs") == []
    assert jobs.call("tmux-status").out.strip() == b""
    assert len(_on_a_terminal(jobs, 80, "ps")) == 1


def test_several_jobs_are_shown_by_one_status(jobs: Jobs) -> None:
    bad = [jobs.begin("--name", name, "--", "sh", "-c", "exit 3") for name in ("one", "two")]
    wait_until(lambda: len(jobs.said("needs")) == 2, "both have ended")
    said = jobs.call("status", "one", "two", "--json").out.splitlines()
    assert [json.loads(line)["jobId"] for line in said] == [job.id for job in bad]
    assert jobs.said("needs") == [], "each was looked at"
    shown = jobs.call("status", "two", "one").out.decode().split("\n\n")
    assert [part.splitlines()[0].split()[1] for part in shown] == ["two", "one"]
    assert jobs.call("status", "one", "none").code == 125


def test_the_list_says_why_and_when_it_ends_and_can_be_narrowed(jobs: Jobs) -> None:
    over(jobs.begin("--label", "a=b", "--", "sh", "-c", "kill -SEGV $$"))
    over(jobs.begin("--label", "a=c", "--", "sh", "-c", "exit 3"))
    over(jobs.begin("--", "true"))
    live = jobs.begin("--idle", "off", "--hard", "1h", "--", "sleep", "100")
    text = jobs.call("ps", "--all").out.decode()
    assert "segmentation fault" in text
    assert "failed (3)" in text
    (row,) = jobs.said("ps")
    assert row["jobId"] == live.id
    head, line = jobs.call("ps").out.decode().splitlines()
    assert re.match(r"(59m|1h)", line[head.index("ENDS IN") :]), line
    assert 3_500_000 < row["endsInMs"] <= 3_600_000
    assert len(jobs.said("ps", "--status", "error")) == 2
    assert len(jobs.said("ps", "--status", "ended")) == 3
    assert len(jobs.said("ps", "--status", "success")) == 1
    for word, status in {"done": "success", "failed": "error", "timed out": "timeout", "timed-out": "timeout"}.items():
        assert jobs.call("ps", "-q", "--status", word).out == jobs.call("ps", "-q", "--status", status).out
    assert jobs.call("ps", "--status", "nonsense").code == 2
    assert len(jobs.said("ps", "--all", "--label", "a=b")) == 1
    assert len(jobs.said("ps", "--all", "--limit", "2")) == 2
    assert [row["jobId"] for row in jobs.said("ps", "--all", "--sort", "oldest")][-1] == live.id
    assert jobs.said("ps", "--all")[0]["jobId"] == live.id


def test_the_list_is_in_the_order_that_is_asked_for(jobs: Jobs) -> None:
    old = jobs.begin("--name", "b", "--idle", "off", "--hard", "2h", "--", "sleep", "300").id
    done = over(jobs.begin("--name", "a", "--", "echo")).id
    new = jobs.begin("--idle", "off", "--hard", "1h", "--", "sleep", "200").id

    def listed(order: str) -> list[str]:
        return jobs.call("ps", "--all", "--quiet", "--sort", order).out.decode().split()

    assert listed("newest") == [new, done, old]
    assert listed("oldest") == [old, done, new]
    assert listed("ends") == [new, old, done]
    assert listed("name") == [done, old, new], "those without a name are the last"
    assert listed("command") == [done, new, old]
    wait_until(lambda: listed("took") == [old, new, done], "the new one has run longer than the one that ended")


def test_the_list_is_shown_anew_until_it_is_stopped(jobs: Jobs) -> None:
    watching = jobs.popen("ps", "--watch", "100ms")
    assert watching.stdout is not None
    seen = [watching.stdout.readline() for _ in range(2)]
    assert [line.split()[:1] for line in seen] == [[b"JOB"], [b"JOB"]]
    watching.terminate()
    jobs.finish(watching)


def test_a_list_that_is_shown_anew_keeps_its_first_lines_in_the_window() -> None:
    lines = ["JOB", "asks", "b", "c", "d"]
    assert ps.in_window(lines, 6) == lines
    assert ps.in_window(lines, 5) == ["JOB", "asks", "b", "… 2 more"]
    assert ps.in_window(lines, 1) == ["JOB", "… 4 more"]


def test_ports_are_found_and_shown(jobs: Jobs) -> None:
    job = jobs.begin("--name", "web", *STILL, "--", "sh", "-c", f'{sys.executable} -c "{LISTENS}"; true')
    wait_until(lambda: b"\n" in job.output().data, "it listens")
    port = int(job.output().data)
    with socket.create_connection(("127.0.0.1", port)):
        assert jobs.said("status", "web")["ports"] == [f"127.0.0.1:{port}"]
        assert jobs.said("ps")[0]["ports"] == [f"127.0.0.1:{port}"]
    assert f":{port}" in jobs.call("ps").out.decode()
    assert f"127.0.0.1:{port}" in jobs.call("status", "web").out.decode()


def test_status_says_everything_that_its_json_says(jobs: Jobs) -> None:
    job = jobs.begin("--label", "a=b", "--idle", "off", "--hard", "1h", "--", "sh", "-c", "sleep 100; exit 3")
    said = jobs.said("status", job.id)
    text = jobs.call("status", job.id).out.decode()
    for word in (job.id, "a=b", str(said["pid"]), "running", "'sleep 100; exit 3'"):
        assert word in text
    assert said["command"] == "sh -c 'sleep 100; exit 3'"
    assert (said["labels"], said["cwd"]) == ({"a": "b"}, os.getcwd())
    assert re.search(r"^ends in +(59m|1h)", text, re.MULTILINE)
    here = jobs.call("status", job.id, env=jobs.env | {"TZ": ZONE}).out.decode()
    began = datetime.fromtimestamp(moment(said["startedAt"]) or 0, AHEAD)
    assert re.search(rf"^started +({began:%Y-%m-%d} )?{began:%H:%M:%S} \(", here, re.MULTILINE), here
    assert re.search(r"^started .*Z \(", jobs.call("status", job.id, "--utc").out.decode(), re.MULTILINE)
    job.cancel()
    failed = over(jobs.begin("--", "sh", "-c", "exit 7"))
    assert "failed (7)" in jobs.call("status", failed.id).out.decode()
    crashed = over(jobs.begin("--", "sh", "-c", "kill -SEGV $$"))
    assert "SIGSEGV" in jobs.call("status", crashed.id).out.decode()


def test_a_child_that_was_ended_by_a_signal_is_named(jobs: Jobs) -> None:
    job = over(jobs.begin("--", "sh", "-c", "sh -c 'kill -SEGV $$'; exit $?"))
    message = json.loads(jobs.call("result", job.id, "--json").out)["exitCode"], job.result().outcome["message"]
    assert message[0] == 139
    assert "SIGSEGV" in message[1]


_ROW = st.builds(
    Row,
    id=st.text("abc", min_size=10, max_size=10),
    created=st.just("2026-01-02T03:04:05.000Z"),
    command=st.text(max_size=60),
    cwd=st.just("/"),
    labels=st.sampled_from([{}, {"name": "web"}, {"name": "a-very-long-name-of-a-job-indeed"}]),
    kind=st.just("command"),
    status=st.sampled_from(["running", "success", "error", "timeout", "cancelled"]),
    phase=st.sampled_from(["running", "needs_input", "quiet", "lost", "elsewhere"]),
    started=st.none(),
    ended=st.none(),
    exit_code=st.none() | st.integers(-5, 300),
    bytes=st.just(0),
    final=st.booleans(),
)
_OUTLOOK = st.builds(
    Outlook,
    row=_ROW,
    attention=st.none() | st.builds(Attention, st.sampled_from(KINDS), st.text(max_size=50), st.just(""), st.just("x")),
    why=st.text(max_size=80),
    ends_at=st.none() | st.floats(0, 2e9),
    ports=st.lists(st.sampled_from(["127.0.0.1:80", "[::1]:65535"]), max_size=3),
)


@settings(max_examples=100)
@given(jobs=st.lists(_OUTLOOK, max_size=6), width=st.integers(30, 200))
def test_no_line_of_the_list_is_wider_than_the_terminal(jobs: list[Outlook], width: int) -> None:
    lines = ps.lines_of(jobs, 1.8e9, width)
    assert all(len(line) <= width for line in lines)
    if lines and not lines[0].startswith("JOB "):  # too narrow for a table
        lines = ["", *(line for line in lines if not line.startswith(" "))]
    assert len(lines) == len(jobs) + (1 if lines else 0)
    assert all(line.startswith(job.row.called[:9]) for line, job in zip(lines[1:], jobs, strict=True))


@pytest.mark.parametrize("texts", [("w" * 40, "make"), ("no room", "c" * 40), ("w" * 60, "c" * 60)])
def test_the_columns_of_text_use_the_whole_line_between_them(texts: tuple[str, str]) -> None:
    why, command = texts
    row = Row("a1b2c3d4e5", "", command, "/", {}, "command", "running", "running", None, None, None, 0, False)
    line = ps.table([Outlook(row=row, attention=None, why=why, ends_at=None, ports=[])], 1.8e9, 80)[1]
    assert all(text in line for text in texts) or len(line) == 80, line


def test_what_is_wrong_has_more_room_than_the_command_and_a_cut_is_shown() -> None:
    why, command = "word " * 40 + "end", "=" * 60
    row = Row("a1b2c3d4e5", "", command, "/", {}, "command", "running", "running", None, None, None, 0, False)
    job = Outlook(row=row, attention=None, why=why, ends_at=None, ports=[])
    line = ps.table([job], 1.8e9, 80)[1]
    assert len(line.partition("=")[0].partition("word")[2]) > line.count("=") >= 12
    _, *reason, last = ps.lines_of([job], 1.8e9, 40)
    assert [text[-1] for text in (*reason, last)] == ["d", "…", "…"], reason


def test_a_plain_exit_leaves_the_room_of_its_reason_to_others() -> None:
    """The state and the time say all of it."""

    def ended(code: int, why: str) -> Outlook:
        row = Row("a1b2c3d4e5", "", "=" * 60, "/", {}, "command", "error", "failed", None, None, code, 0, True)
        return Outlook(row=row, attention=None, why=why, ends_at=None, ports=[], ran_ms=20)

    names = ps.table([ended(3, "exited with 3 after 20ms")], 1.8e9, 80)[0].split()
    assert names == ["JOB", "STATE", "RAN", "COMMAND"]
    for more in ("exited with 139, as after SIGSEGV (a crash) after 20ms", "exited with 139 after 20ms; left running"):
        assert more in " ".join(ps.table([ended(139, more)], 1.8e9, 200))


def test_when_a_job_ended_is_told_in_one_unit_and_leaves_room_to_the_reason() -> None:
    ended = "2027-01-15T07:52:42.000Z"  # 438 seconds before
    row = Row("a1b2c3d4e5", "", "=" * 60, "/", {}, "command", "timeout", "timed_out", None, ended, None, 0, True)
    names, line = ps.table([Outlook(row=row, attention=None, why="word " * 40, ends_at=None, ports=[])], 1.8e9, 80)
    assert line[names.index("ENDED") :].startswith("7m ago  ")
    assert line.index("=") - names.index("WHY") >= 30


def test_status_does_not_say_of_a_running_job_what_it_took(jobs: Jobs) -> None:
    def names(of: str) -> set[str]:
        return {line[:10].rstrip() for line in jobs.call("status", of).out.decode().splitlines()}

    job = jobs.begin("--", "sleep", "1000")
    assert "has run" in names(job.id)
    assert "took" not in names(job.id)
    job.cancel()
    job.wait()
    assert "took" in names(job.id)
    assert "has run" not in names(job.id)


def test_status_says_how_a_job_ended_that_did_not_end_well(jobs: Jobs) -> None:
    job = jobs.begin("--", "sh", "-c", "kill -SEGV $$")
    job.wait()
    status = jobs.said("status", job.id)
    assert "SIGSEGV" in status["ending"]
    assert f"how        {status['ending']}\n" in jobs.call("status", job.id).out.decode()
    well = jobs.begin("--", "true")
    well.wait()
    assert "how " not in jobs.call("status", well.id).out.decode()


@pytest.mark.parametrize("columns", [40, 80])
def test_what_a_newcomer_asks_first_fits_the_terminal_by_words(jobs: Jobs, columns: int) -> None:
    none = _on_a_terminal(jobs, columns, "ps")
    assert none[0].startswith("no job runs"), "not a table without rows"
    assert max(map(len, none)) <= columns
    fails = jobs.begin("--name", "fails", "--", "sh", "-c", "echo one two three four five six seven >&2; exit 3")
    fails.wait()
    asks = jobs.begin("--name", "asks", *ASKS)
    wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    for words in (("status", "fails"), ("status", "asks"), ("needs",), ("history",), ("policy", "check")):
        assert max(map(len, _on_a_terminal(jobs, columns, *words))) <= columns, words
    for words in (("events", "fails"), ("diagnose", "asks"), ("doctor",), ("gc", "--dry-run")):
        shown = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in _on_a_terminal(jobs, columns, *words)]
        assert max(map(len, shown)) <= columns, words
        assert words[0] != "events" or " ".join(shown).split() == jobs.call(*words).out.decode().split(), (
            "no word is broken"
        )
    assert _on_a_terminal(jobs, 20, "needs")[0].startswith("asks: "), "nothing stands above it"
    shown = _on_a_terminal(jobs, 80, "policy", "explain", "make")
    assert max(map(len, shown)) <= 80
    assert " ".join(shown).split() == jobs.call("policy", "explain", "make").out.decode().split(), "no word is broken"
    asks.cancel()


def test_the_title_of_the_terminal_says_what_needs_a_person_and_is_given_back(jobs: Jobs) -> None:
    jobs.begin("--name", "asks", *ASKS)
    wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (2, 80))  # no room for the job below the names of the columns
    process = jobs.popen("ps", "--watch", "--title", stdout=theirs)
    os.close(theirs)
    seen = b""
    try:
        while b"\x1b]2;1 run \xc2\xb7 1 needs you: asks \xc2\xb7 unhang\x07" not in seen:
            seen += os.read(ours, 4096)  # fails where the other side is closed
        process.send_signal(signal.SIGINT)
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:
        pass
    finally:
        os.close(ours)
    jobs.finish(process)
    assert seen.startswith(b"\x1b[22;2t")
    assert seen.endswith(b"\x1b[23;2t")
    assert "… 1 more\r\n" in seen.decode()
    assert b"\x1b]" not in jobs.call("ps").out
    assert jobs.call("ps", "--title").code == 2
