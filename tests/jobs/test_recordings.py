"""Recordings of the format, made by scripts/record.py: every version must read them, as they are, for ever."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import Jobs, check_log
from unhang.jobs import reconcile
from unhang.jobs.handle import Job
from unhang.store.layout import JobDir

_RECORDINGS = Path(__file__).parent / "recordings"

# what each must be read as: status, phase, exit code, shell's exit code, signal, timeout reason, mode, error, output
_EXPECTED: dict[str, tuple[Any, ...]] = {
    "success": ("success", "completed", 0, 0, None, None, None, None, "out\n"),
    "failure": ("error", "failed", 3, 3, None, None, None, None, ""),
    "idle_timeout_hard_kill": (
        *("timeout", "timed_out", None, 124, "SIGKILL", "no_output_timeout", "hard", "EIDLE", "started\n"),
    ),
    "cancelled": ("cancelled", "cancelled", None, 130, "SIGTERM", None, "soft", "ECANCELED", ""),
    "leaked": ("success", "completed", 0, 0, None, None, None, None, "done\n"),
    "lost": ("error", "lost", None, 125, None, None, None, "ELOST", "kept\n"),
    "truncated_output": ("success", "completed", 0, 0, None, None, None, None, None),
    "spawn_failure": ("error", "failed", 127, 127, None, None, None, "ESPAWN", ""),
}


def placed(jobs: Jobs, recording: Path) -> Job:
    record = json.loads((recording / "job.json").read_text())
    place = JobDir(str(jobs.home), record["id"])
    for folder in (jobs.home, jobs.home / "jobs"):
        folder.mkdir(mode=0o700, exist_ok=True)
    shutil.copytree(recording, place.path)
    Path(place.path).chmod(0o700)
    return Job(place)


def recordings() -> list[Path]:
    return sorted(path for path in _RECORDINGS.glob("v*/*") if path.is_dir())


def test_there_is_a_recording_of_every_way_to_end() -> None:
    assert {path.name for path in recordings()} == set(_EXPECTED)


def test_no_recording_holds_a_path_of_the_machine_it_was_made_on() -> None:
    for path in _RECORDINGS.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert not any(word in text for word in ("/home/", "/root", "/tmp", "/Users")), path
            assert path.stat().st_size < 16 << 10


@pytest.mark.parametrize("recording", recordings(), ids=lambda path: f"{path.parent.name} {path.name}")
def test_a_recording_is_read_as_what_it_was(jobs: Jobs, recording: Path) -> None:
    job = placed(jobs, recording)
    before = {path.name: path.read_bytes() for path in Path(job.place.path).iterdir()}
    status, phase, code, shell, signal, reason, mode, error, stdout = _EXPECTED[recording.name]
    events = check_log(job.place)
    result = job.result()
    assert (result.status, result.exit_code, result.signal) == (status, code, signal)
    assert (result.timeout_reason, result.termination_mode) == (reason, mode)
    assert (result.error or {}).get("code") == error
    assert result.shell_code == shell
    assert stdout is None or result.stdout == stdout
    assert result.leaked == (recording.name == "leaked")
    assert result.truncated == (recording.name == "truncated_output")
    shown = job.status()
    assert (shown["phase"], shown["seq"], shown["endedAt"]) == (phase, len(events), events[-1]["ts"])
    view = job.view()
    assert view.ended
    assert (view.pid is None) == (recording.name == "spawn_failure")
    assert set(result.to_json()["limits"]) >= {"idleMs", "hardMs"}
    [row] = jobs.said("ps", "--all")
    assert (row["jobId"], row["status"], row["phase"], row["exitCode"]) == (job.id, status, phase, code)
    assert row["labels"] == ({"repo": "web"} if recording.name == "success" else {})
    assert jobs.call("wait", job.id).code == shell
    assert {path.name: path.read_bytes() for path in Path(job.place.path).iterdir()} == before


def test_the_recorded_gap_is_found_again_by_position(jobs: Jobs) -> None:
    job = placed(jobs, _RECORDINGS / "v1" / "truncated_output")
    whole = "".join(f"{n}\n" for n in range(100000, 103001)).encode()
    first = job.output("stdout", 0, 1 << 20)
    assert first.data == whole[:2048]
    second = job.output("stdout", first.next, 1 << 20)
    assert second.offset == len(whole) - 2048
    assert second.data == whole[-2048:]
    assert b"left out" in jobs.call("logs", job.id).out


def test_the_recorded_timeout_keeps_its_diagnosis_and_its_partial_output(jobs: Jobs) -> None:
    job = placed(jobs, _RECORDINGS / "v1" / "idle_timeout_hard_kill")
    result = job.result()
    assert result.diagnosis is not None
    assert result.diagnosis["state"] in ("hung", "alive", "unsure")
    assert result.partial is not None
    assert (result.partial["stdoutTail"], result.partial["eventsCount"]) == ("started\n", len(job.events()))
    assert result.suggestions


def test_a_recording_cut_short_by_a_restart_is_read_and_completed(jobs: Jobs) -> None:
    """What a crash of the whole machine leaves: the same files without the end."""
    job = placed(jobs, _RECORDINGS / "v1" / "cancelled")
    lines = Path(job.place.events).read_bytes().splitlines(keepends=True)
    Path(job.place.events).write_bytes(b"".join(lines[:-1]) + lines[-1][:50])
    assert job.status()["phase"] == "lost"
    assert reconcile.MACHINE_WENT_DOWN in check_log(job.place)[-1]["message"]
