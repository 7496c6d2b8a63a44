"""A watcher that is stopped or hangs watches nothing: that is noticed, said, and another takes its place."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import wait_until
from tests.support.namespaces import in_another_boot, in_pid_namespace, in_time_namespace, need_namespaces
from tests.support.sessions.harness import QUICK, Place
from unhang.sessions import lock
from unhang.sessions.lock import WatcherLock
from unhang.store.session_log import SessionLog


@contextmanager
def stopped(pid: int, writes: SessionLog | None = None) -> Iterator[None]:
    """Stop it, but not while it holds the lock of the log that it writes."""

    def stops() -> bool:
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it is stopped")
        if writes is None or _free(writes.path):
            return True
        os.kill(pid, signal.SIGCONT)
        return False

    wait_until(stops, "it is stopped between two lines")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _free(path: str) -> bool:
    with open(path) as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def check(place: Place) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """What `watch status` and `doctor` say; the exit code of each agrees with it."""
    asked = place.unhang("watch", "status", "--json")
    status = json.loads(asked.stdout)
    shown = place.unhang("watch", "status")
    assert asked.returncode == shown.returncode == (0 if status["running"] else 1)
    examined = place.unhang("doctor", "--json")
    checks = json.loads(examined.stdout)["checks"]
    (found,) = [each for each in checks if each["check"] == "watcher"]
    assert examined.returncode == (0 if all(each["ok"] for each in checks) else 125)
    return status, shown.stdout.splitlines()[0], found


def test_a_stopped_watcher_is_reported_by_status_and_doctor(place: Place) -> None:
    place.standin()
    watcher = place.watch()
    watcher.until("found")
    status, line, found = check(place)
    assert (status["running"], status["watcher"]["state"], found["ok"]) == (True, lock.WATCHING, True)
    assert status["watcher"]["silentMs"] < 60_000
    pid = watcher.process.pid
    with stopped(pid):
        status, line, found = check(place)
        assert (status["running"], status["watcher"]["pid"], status["watcher"]["state"]) == (False, pid, lock.STOPPED)
        assert f"pid {pid}" in line
        assert "stopped" in line
        assert not found["ok"]
        assert f"pid {pid}" in found["message"]
    status, _, found = check(place)
    assert (status["running"], found["ok"]) == (True, True)


def test_a_second_watcher_replaces_a_stopped_one_which_exits_when_it_continues(place: Place) -> None:
    seen = place.standin()
    first = place.watch()
    first.until("found")
    with stopped(first.process.pid):
        second = place.watch()
        second.until("found")
        seen.hangs()
        second.until("recovered")
        typed = seen.typed()
    assert first.process.wait(60) == 0
    assert "another watcher" in first.errors.read_text()
    assert seen.typed() == typed, "it has sent nothing with what it knew before"
    assert (lock.holder(str(place.home)) or {})["pid"] == second.process.pid


def test_a_watcher_that_waits_takes_over_from_one_that_hangs(place: Place) -> None:
    first = WatcherLock(str(place.home))
    assert first.take()
    waits = subprocess.Popen(
        place.command("watch", "--json", "--take-over", *QUICK), env=place.env, stdout=subprocess.PIPE
    )
    try:
        os.pwrite(first._fd, json.dumps({"pid": 0, "start": "", "moved": 1.0}).encode().ljust(255), 0)
        wait_until(lambda: (lock.holder(str(place.home)) or {}).get("pid") == waits.pid, "it has taken over")
        assert not first.keep()
    finally:
        waits.terminate()
        waits.communicate()
        first.close()


def hook(place: Place, session: str) -> subprocess.CompletedProcess[bytes]:
    payload = {"session_id": session, "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "unhang", "hook"],
        input=json.dumps(payload).encode(),
        env=place.env | {"TMUX_PANE": "%0"},
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_hooks_report_a_stopped_watcher_once_and_start_another(place: Place) -> None:
    seen = place.standin()
    watcher = place.watch()
    watcher.until("found")
    (place.home / "watch" / "asked").touch()  # one was asked for a moment ago: the first hook only says it
    pid = watcher.process.pid
    with stopped(pid, place.log(seen.session)):
        for _ in range(3):
            assert hook(place, seen.session).returncode == 0
        said = [event for event in place.log(seen.session).read() if event["phase"] == "unwatched"]
        assert [event["watcher"]["pid"] for event in said] == [pid]
        assert said[0]["type"] == "watch"
        os.utime(place.home / "watch" / "asked", (0, 0))
        assert hook(place, seen.session).returncode == 0
        wait_until(lambda: _other(place, pid), "another watches")
        wait_until(lambda: place.log(seen.session).read()[-1]["phase"] != "unwatched", "it has said something")
    assert watcher.process.wait(60) == 0


def _other(place: Place, pid: int) -> int:
    who = lock.holder(str(place.home)) or {}
    return int(who["pid"]) if who.get("state") == lock.WATCHING and who.get("pid") not in (None, pid) else 0


# --- the lock by itself -----------------------------------------------------------------------------------------


def test_a_holder_of_the_lock_that_is_silent_for_long_is_hung_and_loses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = str(tmp_path / "home")
    held, other = WatcherLock(home), WatcherLock(home)
    assert held.take()
    assert (lock.holder(home) or {})["state"] == lock.WATCHING
    assert not other.take()
    now = lock._now()
    monkeypatch.setattr(lock, "_now", lambda: now + 300.0)
    who = lock.holder(home) or {}
    assert (who["state"], who["pid"]) == (lock.HUNG, os.getpid())
    assert who["silentMs"] >= 290_000
    assert other.take()
    assert (held.keep(), other.keep()) == (False, True)
    assert sorted(os.listdir(tmp_path / "home" / "watch")) == ["lock"]
    assert (lock.holder(home) or {})["state"] == lock.WATCHING
    for each in (held, other):
        each.close()
    assert lock.holder(home) is None


def test_a_holder_that_keeps_the_lock_stays_its_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(tmp_path / "home")
    held = WatcherLock(home)
    assert held.take()
    now = lock._now()
    for later in (100.0, 200.0, 300.0):
        monkeypatch.setattr(lock, "_now", lambda later=later: now + later)
        assert held.keep()
        assert (lock.holder(home) or {})["state"] == lock.WATCHING
    held.close()


ELSEWHERE = """
import json, sys
from unhang.sessions import lock
who = lock.holder(sys.argv[1])
taken = lock.WatcherLock(sys.argv[1]).take()
print(json.dumps({"who": who, "taken": taken, "reached": lock.send(who, 0, wait=False)}))
"""


@pytest.mark.parametrize("surroundings", ["pids", "times", "another boot"])
def test_a_holder_that_cannot_be_judged_from_elsewhere_is_not_taken_the_lock_from(
    tmp_path: Path, surroundings: str
) -> None:
    need_namespaces()
    home = str(tmp_path / "home")
    held = WatcherLock(home)
    assert held.take()
    words = [sys.executable, "-c", ELSEWHERE, home]
    there = {
        "pids": lambda: in_pid_namespace(words),
        "times": lambda: in_time_namespace(words),  # where the lock was last signed a day ago
        "another boot": lambda: in_another_boot(words, tmp_path),
    }[surroundings]()
    found = json.loads(subprocess.run(there, capture_output=True, check=True, timeout=100).stdout)
    who = found["who"]
    assert (found["taken"], found["reached"]) == (False, False)
    assert (who["state"], who["pid"], who["silentMs"]) == (lock.WATCHING, os.getpid(), None)
    assert who["where"]
    assert held.keep()
    held.close()


SIGNED: list[bytes] = [
    b"",
    b"{",
    b"[]",
    b"\xff" * 300,
    b'{"pid": 1e999, "start": [], "moved": NaN}',
    b'{"pid": -1, "start": {}, "moved": "x"}',
    b'{"pid": ' + b"9" * 400 + b', "start": "1", "moved": -1e308}',
    b"[" * 5000,
]


@pytest.mark.parametrize("data", SIGNED, ids=range(len(SIGNED)))
def test_any_bytes_in_the_lock_file_describe_a_holder(data: bytes, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    held = WatcherLock(home)
    assert held.take()
    os.ftruncate(held._fd, 0)
    os.pwrite(held._fd, data, 0)
    who = lock.holder(home)
    assert who is not None
    assert json.dumps(who, allow_nan=False)
    assert lock.describe_holder(who)
    held.close()


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_a_lock_that_is_no_regular_file_is_refused_and_not_waited_for(place: Place, kind: str) -> None:
    folder = place.home / "watch"
    folder.mkdir(parents=True)
    for made in (place.home, folder):
        made.chmod(0o700)
    for name in ("lock", "asked"):
        if kind == "fifo":
            os.mkfifo(folder / name)
        elif kind == "folder":
            (folder / name).mkdir()
        else:
            (folder / name).symlink_to(place.folder / "elsewhere")
    assert lock.holder(str(place.home)) is None
    said = place.unhang("watch")
    assert said.returncode == 125
    assert len(said.stderr.splitlines()) == 1
    done = hook(place, "abc-1")
    assert (done.returncode, done.stdout) == (0, b"")
    assert [event["type"] for event in place.log("abc-1").read()] == ["hook"]
    assert not (place.folder / "elsewhere").exists()


# --- the watcher is watched -------------------------------------------------------------------------------------


def holder(place: Place) -> dict[str, Any]:
    return lock.holder(str(place.home)) or {}


def test_a_watcher_of_an_older_version_is_outdated_and_replaced(place: Place) -> None:
    old = WatcherLock(str(place.home))
    assert old.take()
    signed = {"pid": os.getpid(), "start": holder(place)["start"], "moved": lock._now()}
    os.pwrite(old._fd, json.dumps(signed | {"version": "0.0.9"}).encode().ljust(255), 0)
    assert holder(place)["state"] == lock.OUTDATED
    assert place.unhang("watch", "status").returncode == 1
    watcher = place.watch()
    wait_until(lambda: holder(place).get("pid") == watcher.process.pid, "the new one has taken over")
    assert not old.keep()
    assert place.unhang("watch", "status").returncode == 0
    old.close()


def test_a_stopped_watcher_that_holds_the_lock_of_a_stream_costs_no_event(place: Place) -> None:
    place.standin()
    first = place.log("session-1")
    first.append({"type": "hook", "method": "Stop"})
    with open(first.path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as a watcher that is stopped while it writes
        assert hook(place, "session-1").returncode == 0
    assert [event["seq"] for event in first.read() if event["type"] == "hook"][-1] == 2


def test_status_and_sessions_follow_the_settings_of_the_watcher_that_runs(place: Place) -> None:
    seen = place.standin()
    seen.hangs()
    settings = place.folder / "watch.toml"
    settings.write_text('api = "1h"\n[limits]\n"*" = "1h"\n')
    assert place.unhang("watch", "reload").returncode == 1
    watcher = place.watch("--config", str(settings), "--cooldown", "0.5", "--hands-off", "0.2")
    watcher.until("busy")
    status = json.loads(place.unhang("watch", "status", "--json").stdout)
    assert status["limits"]["api"] == 3600
    assert status["limits"]["source"] == str(settings)
    settings.write_text('api = "1h"\n[limits]\n"*" = 1\n')
    assert place.unhang("watch", "reload").returncode == 0
    watcher.until("recovered")
    assert json.loads(place.unhang("watch", "status", "--json").stdout)["limits"]["tools"] == [["*", 1.0]]
    assert place.unhang("watch", "stop").returncode == 0
    assert watcher.process.wait(30) == 0
    assert place.unhang("watch", "status").returncode == 1, "a session is there, and nothing watches it"


# The real command line, in which a watcher looks more often than every 20 s whether its settings were edited.
OFTEN = """\
import sys
from unhang.sessions import watcher
watcher.TICK = 0.2
from unhang.__main__ import main
main()
"""


def test_an_edited_settings_file_is_taken_over_by_itself_and_one_with_a_mistake_is_not(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = place.standin()
    seen.hangs()
    settings = place.folder / "watch.toml"
    settings.write_text('api = "1h"\n[limits]\n"*" = "1h"\n')

    def edit(text: str) -> None:
        """In one step: a file that is empty for a moment is one without limits of its own."""
        settings.with_suffix(".new").write_text(text)
        settings.with_suffix(".new").rename(settings)

    with monkeypatch.context() as patch:
        patch.setattr(place, "command", lambda *words: [sys.executable, "-c", OFTEN, *words])
        watcher = place.watch("--config", str(settings), "--cooldown", "0.5", "--hands-off", "0.2")
    watcher.until("busy")
    edit('api = "1h"\n[limits]\n"*" = "soon"\n')
    assert str(settings) in watcher.until("warning")["message"]
    assert json.loads(place.unhang("watch", "status", "--json").stdout)["limits"]["tools"] == [["*", 3600.0]]
    edit('api = "1h"\n[limits]\n"*" = 1\n')
    watcher.until("recovered")
    assert seen.typed() == b"\x1b"
    assert json.loads(place.unhang("watch", "status", "--json").stdout)["limits"]["tools"] == [["*", 1.0]]


def test_a_settings_file_that_comes_later_is_taken_over_and_one_that_others_may_write_is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.env["XDG_CONFIG_HOME"] = str(place.folder / "etc")
    settings = place.folder / "etc" / "unhang" / "watch.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('api = "50m"\n')
    settings.chmod(0o666)
    place.standin()
    with monkeypatch.context() as patch:
        patch.setattr(place, "command", lambda *words: [sys.executable, "-c", OFTEN, *words])
        watcher = place.watch("--hands-off", "0.2")
    watcher.until("busy")
    status = json.loads(place.unhang("watch", "status", "--json").stdout)
    assert (status["notBelieved"], status["limits"]["source"]) == (str(settings), "built-in")
    assert str(settings) in place.unhang("watch", "status").stdout
    checks = json.loads(place.unhang("doctor", "--json").stdout)["checks"]
    (found,) = [each for each in checks if each["check"] == "watcher"]
    assert (found["ok"], str(settings) in found["message"]) == (False, True)
    settings.chmod(0o600)
    wait_until(lambda: limits(place)["source"] == str(settings), "it is taken over")
    assert limits(place)["api"] == 3000
    settings.chmod(0o666)
    assert str(settings) in watcher.until("warning")["message"]
    wait_until(lambda: limits(place)["source"] == "built-in", "it is let go")


def limits(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.unhang("watch", "status", "--json").stdout)["limits"]
    return found


def test_the_first_session_ever_in_a_configuration_directory_is_seen(place: Place) -> None:
    (place.config / "sessions").rmdir()
    watcher = place.watch()
    wait_until(lambda: holder(place).get("pid") == watcher.process.pid, "it watches")
    (place.config / "sessions").mkdir()
    seen = place.standin()
    seen.hangs()
    watcher.until("recovered", seen.session)
    assert seen.typed() == b"\x1b"
