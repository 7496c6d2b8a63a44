"""Makes the recordings of the format on disk that every later version must read: tests/jobs/recordings/v1/<name>/.

    python scripts/record.py [FOLDER]

Each is the directory of a real job that really ended so, with what belongs to one machine replaced: paths, pids, boot
and job ids. Run it only for a new version of the format: the old recordings stay as they are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import unhang
from unhang.core.limit_request import LimitRequest
from unhang.jobs.handle import Job
from unhang.jobs.request import prepare
from unhang.jobs.start import start
from unhang.store import files

_BOOT = "00000000-0000-0000-0000-000000000001"
_BUDGET = 4096
_CWD = "/work"


def success() -> Job:
    return unhang.start(["sh", "-c", "echo out; echo err >&2"], labels={"repo": "web"})


def failure() -> Job:
    return unhang.start("echo 'no such file: größe.txt' >&2; exit 3", shell=True)


def idle_timeout_hard_kill() -> Job:
    line = "trap '' TERM; echo started; while :; do sleep 1000; done"
    return unhang.start(line, shell=True, idle=0.6, warn=0.2, stall=0.3, grace=0.2, liveness="output")


def cancelled() -> Job:
    job = unhang.start(["sleep", "1000"], idle="off")
    job.extend(hard="1m")
    job.cancel()
    return job


def leaked() -> Job:
    return unhang.start("sleep 1000 & echo done", shell=True)


def lost() -> Job:
    job = unhang.start(["sh", "-c", "echo kept; exec sleep 1000"], idle="off")
    for event in job.watch():
        if event["type"] == "output":
            os.kill(int(job.spec["keeper"]["pid"]), signal.SIGKILL)
            break
    return job


def truncated_output() -> Job:
    prepared = prepare(["seq", "100000", "103000"], foreground=False, budget=_BUDGET, asked=LimitRequest())
    return start(prepared)


def spawn_failure() -> Job:
    return unhang.start(["no-such-command-anywhere"])


KINDS: tuple[Callable[[], Job], ...] = (
    *(success, failure, idle_timeout_hard_kill, cancelled, leaked, lost, truncated_output, spawn_failure),
)


def _scrubbed(value: Any, pids: dict[int, int], key: str = "") -> Any:
    """Pids in the order in which they come up, our own directories by one name."""
    if isinstance(value, dict):
        return {name: _scrubbed(entry, pids, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [_scrubbed(entry, pids, key) for entry in value]
    if isinstance(value, int) and key.lower().endswith(("pid", "pids", "guard")) and not isinstance(value, bool):
        return pids.setdefault(value, 4001 + len(pids))
    if isinstance(value, str):
        text = value.replace(os.getcwd(), _CWD)
        return re.sub(r"\[(\d+)\]", lambda m: f"[{pids.setdefault(int(m[1]), 4001 + len(pids))}]", text)
    return value


def _save(job: Job, name: str, folder: Path) -> None:
    place, pids = folder / name, dict[int, int]()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    record = _scrubbed(files.read_json(job.place.job), pids)
    record["keeper"] |= {"boot": _BOOT, "start": "1001", "guardStart": "1000", "tag": 7000000000000000001}
    record["id"] = name.replace("_", "")[:10]
    (place / "job.json").write_text(json.dumps(record, separators=(",", ":")) + "\n")
    lines = []
    for event in job.events():
        line = json.dumps(_scrubbed(event, pids), ensure_ascii=False, separators=(",", ":"))
        lines.append(line.replace(job.id, record["id"]) + "\n")
    (place / "events.ndjson").write_text("".join(lines))
    status = _scrubbed(files.read_json(job.place.status) or {}, pids) | {"jobId": record["id"]}
    (place / "status.json").write_text(json.dumps(status, separators=(",", ":")) + "\n")
    for stream in ("stdout", "stderr"):
        if os.path.exists(job.place.stream(stream)):
            shutil.copyfile(job.place.stream(stream), place / stream)


def main() -> None:
    default = Path(__file__).resolve().parent.parent / "tests" / "jobs" / "recordings" / f"v{files.FORMAT}"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    with tempfile.TemporaryDirectory() as home:
        os.environ["UNHANG_HOME"] = f"{home}/home"
        for kind in KINDS:
            job = kind()
            result = job.wait()
            _save(job, kind.__name__, folder)
            print(f"{kind.__name__:<24} {result.status:<10} {result.outcome.get('message', '')}")


if __name__ == "__main__":
    main()
