"""A keeper that is stopped or blocked, a guard, a fork server, a finder: limits fire and every command ends."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jobs import STILL, Jobs, actor, check_log, keeper_of, wait_until
from tests.support.tracer import traced
from unhang.jobs.handle import Job
from unhang.procs import identity
from unhang.store import claim, files
from unhang.store.layout import JobDir
from unhang.testing.liveness import Process, RollCall

# A generous bound for what takes some seconds: whatever is longer waits for something that does not come.
BOUND = 45


def _stopped(process: Process) -> Process:
    assert process.send(signal.SIGSTOP)
    wait_until(lambda: (found := identity.find(process.pid)) and found.state == "T", "it is stopped")
    return process


def _begun(jobs: Jobs, roll: RollCall, does: str, *limits: str) -> tuple[Job, Process, Process]:
    """A job that runs this actor; its keeper and its guard."""
    job = jobs.begin(*limits, "--", *actor(does, roll.path))
    roll.wait_for("leader")
    return job, *keeper_of(job.place)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (("--hard", "5", "--idle", "off"), "exec_timeout"),
        (("--idle", "5", "--hard", "off"), "no_output_timeout"),
    ],
)
def test_the_guard_enforces_the_limit_of_a_stopped_keeper_and_says_so(
    limits: tuple[str, ...], reason: str, jobs: Jobs, roll: RollCall
) -> None:
    job, keeper, guard = _begun(jobs, roll, "setsid_child", *limits)
    _stopped(keeper)
    assert guard.wait_gone(BOUND)
    assert roll.wait_empty()
    assert keeper.wait_gone()
    end = check_log(job.place)[-1]
    assert (end["phase"], end["timeoutReason"], end["endedBy"]) == ("timed_out", reason, "guard")
    assert next(e["step"] for e in check_log(job.place) if e["type"] == "signal") == "terminate"
    assert jobs.said("result", job.id, code=124)["error"]["message"] == end["message"]


def test_the_guard_names_the_budget_of_an_agent_that_it_ends(jobs: Jobs) -> None:
    """One that never answers, whose keeper is stopped: it has used up its start, and no idle limit."""
    deaf = 'while read -r line; do echo "$line"; done >&2'
    done = jobs.call("agent", "run", "deaf", "a task", "--command", f"/bin/sh -c {shlex.quote(deaf)}", "--startup", "8")
    assert done.code == 0, done.err
    place = jobs.job()
    keeper, guard = keeper_of(place)
    events = jobs.handle(place.id).events
    wait_until(lambda: any(e["phase"] == "stuck" for e in events()), "its driver has said that it waits")
    _stopped(keeper)
    assert guard.wait_gone(BOUND)
    timeout, end = next(e for e in check_log(place) if e["phase"] == "timeout"), check_log(place)[-1]
    assert (end["phase"], end["endedBy"]) == ("timed_out", "guard")
    assert timeout["budget"] == end["budget"] == {"name": "startup", "limitMs": 8000}


# Cancelled in its own name, and asked to end, it stops its keeper.
_CANCELS_ITSELF = """
import json, os, signal, socket
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.chdir(f"{os.environ['UNHANG_HOME']}/jobs/{os.environ['UNHANG_JOB']}")
keeper = socket.socket(socket.AF_UNIX)
keeper.connect("control")
keeper.sendall(json.dumps({"do": "cancel", "by": "\U0001f600" * 80}).encode() + b"\\n")
signal.sigwait({signal.SIGTERM})
os.kill(os.getppid(), signal.SIGSTOP)
while True:
    signal.sigwait({signal.SIGTERM})
"""


def test_whatever_a_job_is_cancelled_by_its_guard_knows_when_it_must_have_ended(jobs: Jobs) -> None:
    # not by its limit, which is far away: by the time that the cancellation has given it
    job = jobs.begin("--hard", "1h", "--warn", "0", "--grace", "1", "--", sys.executable, "-c", _CANCELS_ITSELF)
    assert jobs.call("wait", job.id, timeout=BOUND).code == 130
    end = check_log(job.place)[-1]
    assert (end["phase"], end["endedBy"]) == ("cancelled", "guard")


_PAUSES_ITSELF = """
import json, os, socket, sys, time
os.chdir(f"{os.environ['UNHANG_HOME']}/jobs/{os.environ['UNHANG_JOB']}")
keeper = socket.socket(socket.AF_UNIX)
keeper.connect("control")
keeper.sendall(json.dumps({"do": sys.argv[1], "force": True}).encode() + b"\\n")
print(json.loads(keeper.makefile().readline())["ok"], flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("what", ["pause", "continue", "press", "signal", "interrupt", "wants"])
def test_a_job_does_nothing_to_itself_that_a_person_does_at_its_terminal(jobs: Jobs, what: str) -> None:
    job = jobs.begin("--hard", "6", "--warn", "0", "--", sys.executable, "-c", _PAUSES_ITSELF, what)
    assert jobs.call("wait", job.id, timeout=BOUND).code == 124
    assert job.tail() == "False\n"


def test_the_guard_kills_what_ignores_the_polite_request(jobs: Jobs, roll: RollCall) -> None:
    job, keeper, guard = _begun(jobs, roll, "ignore_term", "--hard", "5", "--grace", "0.3")
    _stopped(keeper)
    assert guard.wait_gone(BOUND)
    assert roll.wait_empty()
    events = check_log(job.place)
    assert [e["step"] for e in events if e["type"] == "signal"] == ["terminate", "kill"]
    assert events[-1]["terminationMode"] == "hard"


def test_a_job_that_works_is_not_ended_at_its_idle_limit_though_its_keeper_is_stopped(jobs: Jobs) -> None:
    """Its guard looks, as its keeper would; the hard limit holds all the same."""
    # it moves bytes: a look sees them though the machine is so busy that it gets a small share of a core
    work = "import os\nzeroes = os.open('/dev/zero', os.O_RDONLY)\nos.write(1, b'x')\nwhile True: os.read(zeroes, 4096)"
    job = jobs.begin("--idle", "1", "--hard", "12", "--", sys.executable, "-c", work)
    keeper, guard = keeper_of(job.place)
    wait_until(job.printed, "it has begun")
    _stopped(keeper)
    assert guard.wait_gone(BOUND)
    assert check_log(job.place)[-1]["timeoutReason"] == "exec_timeout"


def test_a_keeper_that_was_stopped_for_a_while_is_left_to_its_work(jobs: Jobs, roll: RollCall) -> None:
    job, keeper, guard = _begun(jobs, roll, "setsid_child", "--hard", "60")
    _stopped(keeper)
    keeper.send(signal.SIGCONT)
    assert job.ping()["phase"] == "running"
    assert guard.is_alive()
    job.cancel()
    assert "endedBy" not in check_log(job.place)[-1]


def test_a_start_is_bounded_though_the_job_stops_its_keeper_at_once(jobs: Jobs) -> None:
    """Before or after the keeper has written down that it started: the id is printed only in the second case.

    In the first the guard may have ended it at its limit by the time that `start` gives up: then that is what is said.
    """
    line = "kill -STOP $PPID; exec sleep 1000"
    done = jobs.call("start", "--hard", "3", "--shell", line, timeout=BOUND)
    place = jobs.job()
    assert (done.code, done.out.decode().strip()) in ((0, place.id), (125, ""), (124, ""))
    _, guard = keeper_of(place)
    assert guard.wait_gone(BOUND)
    assert check_log(place)[-1]["endedBy"] == "guard"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_run_ends_the_job_though_its_keeper_is_stopped(
    number: signal.Signals, jobs: Jobs, roll: RollCall
) -> None:
    front = jobs.popen("run", *STILL, "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    keeper = jobs.keeper()
    _stopped(keeper)
    front.send_signal(number)
    assert jobs.finish(front, BOUND).code > 128
    assert roll.wait_empty()
    assert check_log(jobs.job())[-1]["phase"] == "cancelled"


def test_cancel_says_that_the_keeper_does_not_answer_and_force_does_without(jobs: Jobs, roll: RollCall) -> None:
    job, keeper, _ = _begun(jobs, roll, "setsid_child", *STILL)
    _stopped(keeper)
    assert "--force" in jobs.refused("cancel", job.id)
    assert roll.alive()
    assert jobs.call("wait", "--timeout", "0.2", job.id, timeout=BOUND).code == 124
    assert jobs.call("cancel", "--force", job.id, timeout=BOUND).code == 0
    assert roll.wait_empty()
    end = check_log(job.place)[-1]
    assert (end["phase"], end["endedBy"]) == ("cancelled", "guard")


def test_force_ends_a_job_whose_keeper_and_guard_are_both_stopped(jobs: Jobs, roll: RollCall) -> None:
    job, keeper, guard = _begun(jobs, roll, "setsid_child", *STILL)
    _stopped(guard)
    _stopped(keeper)
    assert jobs.call("cancel", "--force", job.id, timeout=BOUND).code == 0
    assert roll.wait_empty()
    assert keeper.wait_gone()
    assert guard.wait_gone()
    check_log(job.place)


def test_a_signal_to_run_ends_the_job_though_a_debugger_holds_its_keeper_and_its_guard(
    jobs: Jobs, roll: RollCall
) -> None:
    front = jobs.popen("run", *STILL, "--", *actor("setsid_child", roll.path))
    roll.wait_for("leader")
    keeper, guard = jobs.keeper(), jobs.guard()
    assert front.stderr is not None
    with traced(guard.pid, keeper.pid):
        assert front.stderr.readline().startswith(b"unhang: "), "it says that no limit holds now"
        front.send_signal(signal.SIGTERM)
        assert jobs.finish(front, BOUND).code > 0
        assert roll.wait_empty()
    assert check_log(jobs.job())[-1]["phase"] == "lost"


def test_a_job_that_has_ended_is_told_of_though_a_debugger_holds_its_guard(jobs: Jobs) -> None:
    line = jobs.folder / "line"
    os.mkfifo(line)
    front = jobs.popen("run", *STILL, "--", "sh", "-c", f"echo runs; read -r x < {line}")
    assert front.stdout is not None
    assert front.stdout.readline() == b"runs\n"
    with traced(jobs.guard().pid):
        line.write_text("go on\n")
        assert jobs.finish(front, BOUND).code == 0
    assert check_log(jobs.job())[-1]["status"] == "success"


def test_doctor_names_a_keeper_that_does_not_answer(jobs: Jobs, roll: RollCall) -> None:
    job, keeper, _ = _begun(jobs, roll, "ignore_term", *STILL)
    # on a busy machine a healthy keeper may take longer to answer than a doctor waits
    wait_until(lambda: jobs.call("doctor").code == 0, "the doctor finds nothing wrong")
    _stopped(keeper)
    report = jobs.said("doctor", code=125)
    [check] = [check for check in report["checks"] if check["check"] == "keepers"]
    assert check["ok"] is False
    assert job.id in check["message"]


_STOPPED_SERVER = """
import os, signal, unhang
from pathlib import Path
unhang.run(["true"])
[server] = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
os.kill(int(server), signal.SIGSTOP)
print(unhang.run(["echo", "x"], hard=20).stdout, end="")
"""


def test_a_stopped_fork_server_is_woken(jobs: Jobs) -> None:
    done = jobs.finish(jobs.popen_program(sys.executable, "-c", _STOPPED_SERVER), BOUND)
    assert (done.code, done.out) == (0, b"x\n"), done.err


def test_a_job_that_speaks_while_its_keeper_is_stopped_is_not_ended_for_silence_and_loses_no_word(jobs: Jobs) -> None:
    enough = jobs.folder / "enough"
    line = f"i=0; while [ ! -e {enough} ]; do i=$((i+1)); echo $i; sleep 0.2; done"
    job = jobs.begin("--idle", "2", "--hard", "60", "--liveness", "output", "--shell", line)
    keeper, guard = keeper_of(job.place)
    wait_until(job.printed, "it speaks")
    _stopped(keeper)
    assert not guard.wait_gone(7)  # idle limit, the guard's patience and more: nothing is done
    keeper.send(signal.SIGCONT)
    enough.touch()
    assert job.wait(BOUND).status == "success"
    said = job.result().stdout.split()
    assert said == [str(number) for number in range(1, len(said) + 1)]


def test_a_job_that_ended_in_time_while_its_keeper_was_stopped_keeps_its_own_end_and_its_words(jobs: Jobs) -> None:
    job = jobs.begin("--hard", "8", "--shell", "sleep 5; echo important; exit 3")
    keeper, guard = keeper_of(job.place)
    _stopped(keeper)
    assert guard.wait_gone(BOUND)
    result = job.result()
    assert (result.status, result.exit_code, result.stdout) == ("error", 3, "important\n")
    events = check_log(job.place)
    assert (events[-1]["phase"], events[-1]["endedBy"]) == ("failed", "guard")
    assert not [event for event in events if event["type"] in ("signal", "watchdog")]


def test_an_ending_that_its_keeper_has_begun_is_no_end_of_the_jobs_own(jobs: Jobs) -> None:
    line = "trap 'kill -STOP $PPID; exit 7' TERM; sleep 1000 & wait"
    job = jobs.begin("--hard", "1", "--grace", "0.5", "--shell", line)
    _keeper, guard = keeper_of(job.place)
    assert guard.wait_gone(BOUND)
    end = check_log(job.place)[-1]
    assert (end["phase"], end["timeoutReason"], end["exitCode"]) == ("timed_out", "exec_timeout", 7)
    assert end["endedBy"] == "guard"


def test_what_a_job_printed_last_is_kept_when_its_guard_ends_it(jobs: Jobs) -> None:
    job = jobs.begin("--hard", "6", "--shell", "sleep 3; echo last words; exec sleep 1000")
    keeper, guard = keeper_of(job.place)
    _stopped(keeper)
    assert guard.wait_gone(BOUND)
    assert (job.result().status, job.result().stdout) == ("timeout", "last words\n")


def test_a_stopped_guard_does_not_hold_up_run_and_is_gone_afterwards(jobs: Jobs, roll: RollCall) -> None:
    front = jobs.popen("run", "--hard", "6", "--", *actor("setsid_child", roll.path))
    roll.wait_for("leader")
    guard = _stopped(jobs.guard())
    assert jobs.finish(front, BOUND).code == 124
    assert roll.wait_empty()
    assert guard.wait_gone()


def test_a_look_wakes_a_stopped_guard_which_then_ends_the_job_of_a_stopped_keeper(jobs: Jobs, roll: RollCall) -> None:
    job, keeper, guard = _begun(jobs, roll, "setsid_child", "--hard", "6")
    _stopped(guard)
    _stopped(keeper)
    jobs.said("ps")
    assert guard.wait_gone(BOUND)
    assert roll.wait_empty()
    assert check_log(job.place)[-1]["timeoutReason"] == "exec_timeout"


def test_a_keeper_that_is_born_after_its_job_was_given_up_does_not_run_it(jobs: Jobs) -> None:
    """It was stopped between its fork and its first word: a laptop's lid, a freezer, a starved machine."""
    place = JobDir(str(jobs.home), "0123456789")
    program = (
        "import os, signal, sys\n"
        "from unhang.jobs import launcher as launching\n"
        "from unhang.jobs.request import prepare\n"
        "from unhang.store import layout\n"
        "layout.new_id = lambda: '0123456789'\n"
        "launcher = launching.ForkingLauncher()\n"
        "prepared = prepare(['touch', sys.argv[1]], foreground=False, stdin='null')\n"
        "guard = launcher._spare.guard\n"
        "children = lambda: open(f'/proc/{guard}/task/{guard}/children').read().split()\n"
        "while not children(): pass\n"
        "os.kill(int(children()[0]), signal.SIGSTOP)\n"
        "connection = launcher.launch(os.environ['UNHANG_HOME'], prepared, launching.CallerStreams())\n"
        "print(children()[0], flush=True)\n"
        "sys.stdin.readline()\n"
        "while connection.hear(): pass\n"
        "print(connection.failure, flush=True)\n"
    )
    witness = jobs.folder / "it-ran"
    maker = jobs.popen_program(sys.executable, "-c", program, str(witness), stdin=subprocess.PIPE)
    assert maker.stdout is not None
    keeper = Process(int(maker.stdout.readline()))
    old = wait_until(lambda: os.path.isdir(place.path), "its directory")
    assert old
    os.utime(place.path, (1, 1))  # older than any keeper takes to be born
    assert [row["phase"] for row in jobs.said("ps", "--all")] == ["lost"]
    keeper.send(signal.SIGCONT)
    done = jobs.finish(_told(maker))
    assert done.out.strip()  # its caller is told why
    assert keeper.wait_gone()
    assert not witness.exists()
    assert [event["phase"] for event in check_log(place)] == ["lost"]


def _told(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    return process


def test_a_process_that_is_stopped_while_it_recovers_a_job_holds_up_no_command(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("setsid_child", roll.path))
    roll.wait_for("leader")
    for process in reversed(keeper_of(job.place)):
        process.send(signal.SIGKILL)
        assert process.wait_gone()
    held = files.open_plain(job.place.events, os.O_RDWR)
    try:
        assert claim.take(held)  # as a finder has it that was stopped while it recovers the job
        assert claim.is_claimed(job.place.events)
        for words, code in ((("ps", "--json"), 0), (("doctor", "--json"), 0), (("gc",), 0), (("wait", job.id), 125)):
            assert jobs.call(*words, timeout=BOUND).code == code
        assert jobs.call("cancel", "--force", job.id, timeout=BOUND).code == 125
        assert jobs.call("run", "--", "true", timeout=BOUND).code == 0
    finally:
        os.close(held)
    assert jobs.said("status", job.id)["phase"] == "lost"
    assert roll.wait_empty()


def test_a_lock_on_the_folder_of_a_job_holds_up_no_listing(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "1000")
    for process in reversed(keeper_of(job.place)):
        process.send(signal.SIGKILL)
        assert process.wait_gone()
    folder = os.open(job.place.path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        assert [row["phase"] for row in jobs.said("ps", "--all")] == ["lost"]
    finally:
        os.close(folder)


def test_pipes_in_the_place_of_files_of_a_job_block_neither_its_keeper_nor_a_reader(jobs: Jobs) -> None:
    line = (
        'cd "$UNHANG_HOME/jobs/$UNHANG_JOB"; for f in status.json status.json.new stdout.tail stderr.tail; do '
        "rm -f $f; mkfifo $f; done; i=0; while [ $i -lt 14 ]; do i=$((i+1)); "
        f'{sys.executable} -m unhang beat "step $i"; done; exec sleep 1000'
    )
    job = jobs.begin("--hard", "8", "--idle", "off", "--warn", "1", "--shell", line)
    assert jobs.call("wait", job.id, timeout=BOUND).code == 124
    assert "endedBy" not in check_log(job.place)[-1]
    for words in (("status", job.id), ("ps", "--all"), ("events", job.id)):
        assert jobs.call(*words, timeout=BOUND).code == 0


def test_what_is_no_regular_file_in_a_job_directory_is_refused_in_one_line(jobs: Jobs) -> None:
    job = jobs.begin("--", "echo", "hello")
    job.wait()
    for name, command in (("events.ndjson", "events"), ("stdout", "logs"), ("events.ndjson", "status")):
        path = Path(job.place.path) / name
        path.rename(path.with_suffix(".kept"))
        for plant in (os.mkfifo, os.mkdir, lambda p: os.symlink("/etc/passwd", p)):
            plant(path)
            done = jobs.call(command, job.id, timeout=BOUND)
            assert done.code == 125, (name, command)
            assert len(done.err.splitlines()) == 1
            path.unlink() if not path.is_dir() else path.rmdir()
        path.with_suffix(".kept").rename(path)


def test_a_running_job_that_has_removed_its_record_is_not_diagnosed_and_says_why_in_one_line(jobs: Jobs) -> None:
    job = jobs.begin("--", "sleep", "1000")
    Path(job.place.job).unlink()
    assert jobs.refused("diagnose", job.id)
    job.cancel(force=True)


@pytest.mark.slow
def test_jobs_that_forge_who_keeps_them_hold_up_no_list_and_are_not_called_lost_for_good(jobs: Jobs) -> None:
    forged = [jobs.begin(*STILL, "--", "sleep", "1000") for _ in range(7)]
    records = [json.loads(Path(job.place.job).read_text()) for job in forged]
    for job, record in zip(forged, records, strict=True):
        Path(job.place.job).write_text(json.dumps(record | {"keeper": record["keeper"] | {"pid": 1}}))
    assert jobs.call("ps", "--json", timeout=BOUND).code == 0
    for job, record in zip(forged, records, strict=True):
        Path(job.place.job).write_text(json.dumps(record))
    assert {row["status"] for row in jobs.said("ps", "--all")} == {"running"}
