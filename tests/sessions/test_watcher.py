"""The real watcher, a real tmux, and a stand-in for Claude Code where the real one cannot be had in that state."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.engine import wait_until
from tests.support.sessions.harness import QUICK, Place
from unhang.core import session_events
from unhang.sessions import lock
from unhang.testing.liveness import Process


def test_a_hang_is_ended_by_one_escape_and_everything_is_recorded(place: Place) -> None:
    seen = place.standin()
    seen.hangs()
    watcher = place.watch()
    watcher.until("recovered")
    assert seen.typed() == b"\x1b"
    assert (seen.status() or {})["status"] == "idle"
    phases = [event["phase"] for event in place.log(seen.session).read() if event["type"] == "watch"]
    assert phases == ["found", "busy", "warning", "hung", "step", "idle", "effect", "recovered"]


def test_a_dry_run_sends_nothing(place: Place) -> None:
    seen = place.standin()
    seen.hangs()
    watcher = place.watch("--dry-run", *QUICK)
    assert "Escape" in watcher.until("held")["reason"]
    assert seen.typed() == b""


def test_a_pid_that_another_process_has_by_now_is_not_watched(place: Place) -> None:
    """The status file of a session that was killed, and its pid in use again."""
    seen = place.standin()
    other = place.standin()
    path = place.config / "sessions" / f"{seen.pid}.json"
    path.write_text(path.read_text().replace(f'"{seen.start}"', f'"{int(seen.start) - 1}"'))
    seen.hangs()
    other.hangs()
    place.log(seen.session).append({"type": "hook", "method": "Stop", "pid": seen.pid, "procStart": "1"})
    watcher = place.watch()
    watcher.until("recovered", other.session)
    assert seen.typed() == b""
    assert not [event for event in watcher.said if event["sessionId"] == seen.session]


def test_a_pane_of_another_server_gets_no_key(place: Place) -> None:
    """Its environment names a pane that is somebody else's: a nested tmux, or one that was started anew."""
    other = place.standin(server="b")
    names = f"TMUX={place.socket('b')},{place.server_pid('b')},0 TMUX_PANE={other.pane}"
    seen = place.standin(before=f"exec env {names} ")
    seen.hangs()
    watcher = place.watch("--session", seen.session, *QUICK)
    assert "another process" in watcher.until("held")["reason"]
    assert other.typed() == seen.typed() == b""


def test_a_server_that_has_taken_the_socket_over_gets_no_key(place: Place) -> None:
    seen = place.standin()
    place.socket().unlink()  # the old server lives on without it
    old = place._servers.pop("a")
    place._servers["a"] = old
    other = place.standin()
    seen.hangs()
    watcher = place.watch("--session", seen.session, *QUICK)
    assert "another tmux server" in watcher.until("held")["reason"]
    assert other.typed() == seen.typed() == b""
    os.kill(seen.pid, signal.SIGKILL)


def test_a_terminal_in_the_terminal_gets_no_key(place: Place) -> None:
    """`script` gives it another terminal than the pane's: a key for the pane might be for somebody else."""
    code = "import pty, sys; pty.spawn(sys.argv[1:])"
    seen = place.standin(before=shlex.join(["exec", sys.executable, "-c", code]) + " ")
    seen.hangs()
    watcher = place.watch()
    assert "terminal" in watcher.until("held")["reason"]
    assert seen.typed() == b""


def test_a_pane_that_was_given_to_another_program_gets_no_key(place: Place) -> None:
    seen = place.standin()
    watcher = place.watch()
    watcher.until("found")
    place.tmux("respawn-pane", "-k", "-t", seen.pane, "cat")  # the stand-in survives the loss of its terminal
    seen.hangs()
    held = watcher.until("held")
    assert "another process" in held["reason"] or "terminal" in held["reason"]
    assert seen.typed() == b""


def test_a_tmux_server_that_is_gone_is_reported_and_other_sessions_are_helped(place: Place) -> None:
    seen, other = place.standin(), place.standin(server="b")
    watcher = place.watch()
    watcher.until("found")
    watcher.until("found")
    place.tmux("kill-server")
    seen.hangs()
    assert "tmux" in watcher.until("held", seen.session)["reason"]
    other.hangs()
    watcher.until("recovered", other.session)
    assert seen.typed() == b""


def test_a_tmux_server_that_hangs_does_not_hold_up_sessions_of_another(place: Place) -> None:
    seen, other = place.standin(), place.standin(server="b")
    server = place.server_pid()
    watcher = place.watch()
    watcher.until("found")
    watcher.until("found")
    os.kill(server, signal.SIGSTOP)
    try:
        seen.hangs()
        assert "does not answer" in watcher.until("held", seen.session)["reason"]
        other.hangs()
        watcher.until("recovered", other.session)
    finally:
        os.kill(server, signal.SIGCONT)


def test_a_session_whose_records_are_broken_does_not_stop_the_others(place: Place) -> None:
    seen, other = place.standin(), place.standin()
    (place.home / "sessions" / seen.session).mkdir(parents=True)
    for folder in (place.home, place.home / "sessions", place.home / "sessions" / seen.session):
        folder.chmod(0o700)
    (place.home / "sessions" / seen.session / "events.ndjson").mkdir()  # where a file should be
    (place.config / "sessions" / "99999999.json").write_text("{")
    (place.config / "sessions" / "1.json").write_text('{"pid": 1, "sessionId": "../../x", "procStart": "1"}')
    other.hangs()
    watcher = place.watch()
    watcher.until("recovered", other.session)


@contextmanager
def person(place: Place) -> Iterator[int]:
    """A person with a client of their own; what they write goes to the pane in front."""
    master, slave = pty.openpty()
    command = ["tmux", "-S", str(place.socket()), "attach"]
    env = place.env | {"TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True) as client:
        os.close(slave)

        def drain() -> None:
            try:
                while os.read(master, 1 << 16):
                    pass
            except OSError:
                pass

        reader = threading.Thread(target=drain)
        reader.start()
        try:
            wait_until(lambda: place.tmux("list-clients"), "the client is attached")
            yield master
        finally:
            client.terminate()
            client.wait()
            reader.join()
            os.close(master)


def test_a_person_at_the_keyboard_holds_everything_back(place: Place) -> None:
    seen = place.standin()
    watcher = place.watch("--limit", "*=1", "--cooldown", "0.5", "--hands-off", "1h")
    with person(place) as hands:
        os.write(hands, b"x")
        wait_until(lambda: b"x" in seen.typed(), "the key has arrived")
        seen.hangs()
        assert "typing" in watcher.until("held")["reason"]
        assert seen.typed() == b"x"


def test_a_warning_is_shown_in_tmux_and_told_to_the_users_command(place: Place) -> None:
    seen = place.standin()
    # a file for each phase: the hang is told a second after its warning, and the commands run at once
    told = place.folder / "told-warning"
    new = f"{shlex.quote(str(place.folder))}/new-$UNHANG_PHASE"
    command = f"cat > {new} && mv {new} {shlex.quote(str(place.folder))}/told-$UNHANG_PHASE"
    with person(place):
        watcher = place.watch("--limit", "*=2", "--warn", "1", "--cooldown", "30", "--notify", command)
        seen.hangs()
        watcher.until("warning")
        wait_until(told.exists, "the command was run")
        event = json.loads(told.read_text())
        assert (event["sessionId"], event["phase"]) == (seen.session, "warning")
        line = (
            f"unhang: {seen.session[:8]} in {place.tmux('display-message', '-p', '#{session_name}:#{window_index} ')}"
        )
        wait_until(lambda: line.strip() in place.tmux("show-messages"), "tmux has shown it")
        assert "WebFetch has been running" in place.tmux("show-messages")


def test_the_budget_outlives_its_watcher(place: Place) -> None:
    """A watcher that is started again and again has no more steps an hour than one that is not."""
    seen = place.standin()
    for _ in range(3):
        place.log(seen.session).append({"type": "watch", "phase": "step", "step": "escape", "message": "Escape"})
    seen.hangs()
    watcher = place.watch("--budget", "3", *QUICK)
    assert "budget" in watcher.until("held")["reason"]
    assert seen.typed() == b""


# --- one watcher ----------------------------------------------------------------------------------------------


def test_a_second_watcher_leaves_at_once_and_says_so(place: Place) -> None:
    place.standin()
    watcher = place.watch()
    watcher.until("found")
    second = place.unhang("watch")
    assert second.returncode == 0
    assert f"pid {watcher.process.pid}" in second.stderr
    assert (lock.holder(str(place.home)) or {})["pid"] == watcher.process.pid


def test_a_watcher_in_the_background_ends_a_hang_and_exits_with_the_last_session(place: Place) -> None:
    seen = place.standin()
    seen.hangs()
    begun = place.unhang("watch", "--background", "--linger", "0.2", *QUICK)
    assert begun.returncode == 0
    found = lock.holder(str(place.home))
    assert found is not None
    background = Process(int(found["pid"]), "watcher")
    assert place.unhang("watch", "--background").returncode == 0  # a second one: nothing happens
    wait_until(lambda: seen.typed() == b"\x1b", "it was helped")
    os.kill(seen.pid, signal.SIGKILL)
    assert background.wait_gone()
    background.close()
    assert lock.holder(str(place.home)) is None


def test_a_watcher_that_waits_takes_over_when_the_first_ends(place: Place) -> None:
    seen = place.standin()
    first = place.watch()
    first.until("found")
    second = place.watch("--take-over", *QUICK)
    first.end()
    place._watchers.remove(first)
    second.until("found")
    seen.hangs()
    second.until("recovered")


def test_once_and_status_show_the_session_and_send_no_key(place: Place) -> None:
    seen = place.standin()
    seen.hangs("mcp__slow__hang")
    (view,) = [json.loads(line) for line in place.unhang("watch", "--once", "--json").stdout.splitlines()]
    assert view["state"] == "busy"
    assert view["sessionId"] == seen.session
    assert view["tmux"] == {"socket": str(place.socket()), "pane": seen.pane}
    assert [call["toolName"] for call in view["calls"]] == ["mcp__slow__hang"]
    status = json.loads(place.unhang("watch", "status", "--json").stdout)
    assert status["running"] is False
    assert [each["pid"] for each in status["sessions"]] == [seen.pid]
    assert seen.pane in place.unhang("watch", "status").stdout
    assert place.unhang("watch", "--once", "--pane", "%77").stdout == ""
    assert seen.typed() == b""


def test_the_events_of_a_session_can_be_read(place: Place) -> None:
    seen = place.standin()
    seen.hangs()
    place.watch().until("recovered")
    shown = place.unhang("watch", "events", seen.session[:9])
    assert "watch/recovered" in shown.stdout
    assert "hook/" not in shown.stdout
    lines = place.unhang("watch", "events", "--all", "--json").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert place.unhang("watch", "events", "nobody").returncode == 2


def test_the_listed_events_of_a_session_show_no_secret_and_the_recorded_ones_are_as_recorded(place: Place) -> None:
    session = "0a7c0000-0000-4000-8000-000000000001"
    message = "Bash: curl -H 'Authorization: Bearer abcdefgh' x has hung"
    place.log(session).append(session_events.watch("hung", message, session))
    shown = place.unhang("watch", "events", session)
    assert "abcdefgh" not in shown.stdout
    assert "***" in shown.stdout
    assert "abcdefgh" in place.unhang("watch", "events", "--json", session).stdout


def test_the_lock_knows_that_its_home_was_moved_away(tmp_path: Path) -> None:
    from unhang.sessions.lock import WatcherLock

    held = WatcherLock(str(tmp_path / "home"))
    assert held.take()
    assert held.is_there()
    os.rename(tmp_path / "home", tmp_path / "moved")
    assert not held.is_there()
    held.close()


def test_wrong_usage_of_watch_is_one_line_and_exit_code_2(place: Place) -> None:
    for words in (["--limit", "WebFetch"], ["--turn", "soon"], ["--budget", "-1"], ["--config", "/nowhere.toml"]):
        said = place.unhang("watch", "--once", *words)
        assert said.returncode == 2
        assert len(said.stderr.splitlines()) == 1
