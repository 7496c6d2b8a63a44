"""Each kind of target against the real thing, or its contract: what a person is shown, and how a failure is named."""

from __future__ import annotations

import base64
import json
import os
import pty
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.alerts import Receiver
from tests.support.engine import wait_until
from tests.support.jobs import Jobs
from unhang.alerts.targets import NotDelivered, send
from unhang.core.alerts.ledger import Delivery
from unhang.core.alerts.message import Message, message_of
from unhang.core.alerts.occasions import Occasion, Subject
from unhang.core.alerts.settings import Target


def message(name: str = "bau — größe", kind: str = "needs_input") -> Message:
    about = Subject("j1", name, "make <all> & more")
    one = Occasion(about, kind, 7, 1.0, "", 'waits for input: "Name? "', "unhang send j1 ANSWER")
    return message_of(Delivery("j1:7@x", "x", (one,)))


def test_ntfy_gets_title_priority_and_text(receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("tk_1\n")
    send(Target("p", "ntfy", {"url": receiver.url, "token_file": str(tmp_path / "token")}), message())
    ((headers, body),) = receiver.requests
    assert headers["authorization"] == "Bearer tk_1"
    assert headers["priority"] == "high"
    encoded = headers["title"].removeprefix("=?UTF-8?B?").removesuffix("?=")
    assert base64.b64decode(encoded).decode() == "bau — größe needs input"
    assert "unhang send j1 ANSWER" in body.decode()


def test_slack_gets_one_text(receiver: Receiver) -> None:
    send(Target("p", "slack", {"url": receiver.url}), message())
    assert "needs input" in json.loads(receiver.requests[0][1])["text"]


def test_apprise_delivers_to_its_own_json_target_and_the_test_command_says_so(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    address = receiver.url.replace("http://", "json://")
    alerts.write_text(f'[target.all]\nkind = "apprise"\nurl = "{address}"\n[target.bad]\nkind = "apprise"\nurl = "x"\n')
    done = jobs.call("alerts", "test", "all")
    assert (done.code, done.out) == (0, b"all: sent\n")
    assert "unhang alerts test" in json.loads(receiver.requests[0][1])["title"]
    assert jobs.call("alerts", "test", "bad").code == 125
    assert jobs.call("alerts", "test", "none").code == 2


@pytest.mark.parametrize(("code", "for_good"), [(404, True), (301, True), (500, False), (429, False)])
def test_an_answer_says_whether_to_try_again(receiver: Receiver, code: int, for_good: bool) -> None:
    receiver.answers = [code]
    with pytest.raises(NotDelivered) as caught:
        send(Target("p", "webhook", {"url": receiver.url}), message())
    assert caught.value.for_good is for_good
    assert len(receiver.requests) == 1, "a redirection is not followed"


def test_an_answer_that_is_no_http_is_a_failure_in_one_plain_line() -> None:
    def answer() -> None:
        line, _ = server.accept()
        with line:
            line.recv(1 << 16)
            line.sendall(b"\x00\xff\x1b]0;title\x07garbage\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        done = pool.submit(answer)
        with pytest.raises(NotDelivered) as caught:
            send(Target("p", "webhook", {"url": f"http://127.0.0.1:{server.getsockname()[1]}/"}), message())
        done.result()
    assert str(caught.value).isprintable()
    with pytest.raises(NotDelivered):
        send(Target("p", "webhook", {"url": "http://127.0.0.1:1/\r\nX: y"}), message())


def test_a_command_gets_the_message_on_stdin_and_its_failure_is_named(tmp_path: Path) -> None:
    got = tmp_path / "got"
    send(Target("p", "command", command=("/bin/sh", "-c", f"cat > {got}")), message())
    assert json.loads(got.read_text())["alerts"][0]["kind"] == "needs_input"
    with pytest.raises(NotDelivered, match="exited with 3: out of paper"):
        send(Target("p", "command", command=("/bin/sh", "-c", "echo out of paper >&2; exit 3")), message())
    with pytest.raises(NotDelivered) as caught:
        send(Target("p", "command", command=("/nonexistent/program",)), message())
    assert caught.value.for_good


def test_a_terminal_gets_its_notification_and_nothing_that_acts_on_it(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        send(Target("p", "osc", {"tty": os.ttyname(theirs)}), message("a\x1b[2Jb\x07c"))
        said = os.read(ours, 4000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert said.startswith("\x1b]9;")
    assert said.count("\x1b") == 2
    assert said.count("\x07") == 2
    (tmp_path / "file").touch()
    with pytest.raises(NotDelivered):
        send(Target("p", "osc", {"tty": str(tmp_path / "file")}), message())


def test_a_real_desktop_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dunst on a screen and a bus of its own; it writes down what it was told."""
    for name in ("notify-send", "dunst", "dbus-daemon", "Xvfb"):
        programs.need_command(name)
    config = tmp_path / "dunstrc"
    script = tmp_path / "shown.sh"
    new, shown = tmp_path / "new", tmp_path / "shown"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$DUNST_SUMMARY" "$DUNST_URGENCY" > {new}\nmv {new} {shown}\n')
    script.chmod(0o755)
    config.write_text(f'[global]\n[all]\nappname = "*"\nscript = {script}\n')
    bus = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--print-address=1", f"--address=unix:path={tmp_path}/bus"],
        stdout=subprocess.PIPE,
        text=True,
    )
    reading, writing = os.pipe()
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x480x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    shows = None
    try:
        assert bus.stdout is not None
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.stdout.readline().strip())
        monkeypatch.setenv("DISPLAY", ":" + os.read(reading, 20).decode().strip())
        monkeypatch.setenv("HOME", str(tmp_path))
        shows = subprocess.Popen([shutil.which("dunst") or "dunst", "-conf", str(config)], stderr=subprocess.DEVNULL)

        def sent() -> bool:
            try:
                send(Target("p", "desktop"), message())
            except NotDelivered:
                return False
            return True

        wait_until(sent, "the desktop takes notifications")
        wait_until(shown.exists, "it is shown")
        assert shown.read_text().splitlines() == ["bau — größe needs input", "CRITICAL"]
    finally:
        os.close(reading)
        for each in (shows, screen, bus):
            if each is not None:
                each.terminate()
                each.wait(30)
        if bus.stdout is not None:
            bus.stdout.close()
