"""An alarm without a handler: what names one may be ended by it, and no proof stands against that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.diagnosis.build import look, process, thread
from tests.zoo.recording import MOST_COMMAND, everything, read
from unhang.core.diagnosis.alarms import in_text, may_have_alarm
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import FullSample, ProcessSample

HUNG = [path for path in everything() if read(path).verdict().state == "hung"]


@pytest.mark.parametrize(
    "text",
    [
        "perl -e 'alarm shift; exec @ARGV' 300 make",
        "signal.alarm(80)",
        "setitimer(ITIMER_REAL, 5)",
        "ualarm 500",
        "pcntl_alarm(80);",
        "alarm",
        "signal.signal(signal.SIGALRM, signal.SIG_DFL); signal.alarm(80)",
        "$SIG{ALRM} = 'DEFAULT'; alarm 80",
        "import signal; from signal import alarm",
    ],
)
def test_a_text_names_an_alarm(text: str) -> None:
    assert in_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "eval { local $SIG{ALRM} = sub { die }; alarm 50; work(); alarm 0 }",
        "make fire-alarm",
        "cat alarm.txt",
        "alarms",
        "alarm_clock()",
        "disalarm",
        "",
        "sleep 300",
        "alarm-off",
    ],
)
def test_a_text_names_none(text: str) -> None:
    assert not in_text(text)


def _with(sample: FullSample, pid: int) -> FullSample:
    process = sample.processes[pid]._replace(sets_alarm=True)
    return sample._replace(processes=sample.processes | {pid: process})


@pytest.mark.parametrize("path", HUNG, ids=lambda path: path.stem)
def test_no_job_is_called_hung_whose_process_may_have_an_alarm(path: Path) -> None:
    seen = read(path)
    terminal = seen.after.terminal
    editing = terminal is not None and not terminal.canonical
    for pid, one in seen.after.processes.items():
        edits = editing and (one.catches_other or one.catches_all)
        if one.state in ("Z", "X") or one.hidden or edits:
            continue  # an editor has alarms for its own housekeeping, and of what is hidden nothing is known
        verdict = diagnose(_with(seen.before, pid), _with(seen.after, pid))
        assert verdict.state != "hung", (pid, verdict)


def _sample(**commands: str) -> FullSample:
    pids = {name: pid for pid, name in enumerate(commands, 10)}
    processes = {pids[name]: ProcessSample(pids[name], pids[name] - 1, cmd=cmd) for name, cmd in commands.items()}
    return FullSample(1.0, 100, processes, leader=10)


def test_an_alarm_outlives_what_set_it_and_is_not_handed_on_any_further() -> None:
    shell = "sh -c \"perl -e 'alarm 80; exec @ARGV' cat; true\""
    assert may_have_alarm(_sample(shell=shell, cat="cat", below="cat")) == {10, 11}
    assert may_have_alarm(_sample(cat="cat")) == frozenset()


def test_the_jobs_first_process_is_what_the_job_was_started_as() -> None:
    command = "perl -e 'alarm shift; exec @ARGV' 80 cat"
    assert may_have_alarm(_sample(cat="cat", other="cat")._replace(command=command)) == {10}
    assert may_have_alarm(_sample(cat="cat")._replace(command=command, leader=None)) == frozenset()
    assert len(command) < MOST_COMMAND


def test_the_alarm_is_named_where_nothing_else_may_end_the_wait() -> None:
    shell = process(2, thread(2, "wait4"), comm="sh", cmd="perl -e 'alarm 300; exec @ARGV' sh")
    below = process(3, thread(3, "wait4"), ppid=2), process(4, thread(4, "pause"), ppid=3)
    found = diagnose(look(0, shell, *below), look(3, shell, *below))
    assert (found.state, found.cause) == ("unsure", "timer")
    assert "alarm" in found.reason
    asleep = process(2, thread(2, "nanosleep", timeout=100.0, remaining=50.0), cmd="alarm 300")
    assert "alarm" not in diagnose(look(0, asleep), look(3, asleep)).reason
