"""Each kind of target against the real thing, or its contract: what a person is shown, and how a failure is named."""

from __future__ import annotations

import base64
import html
import json
import os
import pty
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.alerts import Receiver
from tests.support.engine import wait_until
from tests.support.jobs import Jobs
from tests.support.ntfy import published
from unhang.alerts.targets import NotDelivered, send, user_bus
from unhang.core import plain_text
from unhang.core.alerts.ledger import Delivery
from unhang.core.alerts.message import Button, Message, message_of
from unhang.core.alerts.occasions import AlertSubject, Occasion
from unhang.core.alerts.settings import Target

COMMAND = r"make <all> & more \074b\076 \n %s $(x) `y` \\"


def message(name: str = "bau — größe", kind: str = "needs_input") -> Message:
    about = AlertSubject("j1", name, COMMAND)
    one = Occasion(about, kind, 7, 1.0, "", 'waits for input: "Name? "', "unhang send j1 ANSWER")
    return message_of(Delivery("j1:7@x", "x", (one,)))


# What a person sees must be what was named, whatever the name would mean to a shell, a server or a desktop.
HOSTILE = (
    "a\r\nX-Evil: 1\x00\x1b]0;t\x07 <!channel> <http://evil|Approve>, view, x, http://evil; =?utf-8?q?=41?= \udcff"
)


@pytest.mark.parametrize("name", ["bau — größe", "plain", HOSTILE, "=?utf-8?q?=41?="])
def test_ntfy_gets_title_priority_and_text(receiver: Receiver, tmp_path: Path, name: str) -> None:
    (tmp_path / "token").write_text("tk_1\n")
    told = message(plain_text.one_line(name, 60))
    send(Target("p", "ntfy", {"url": receiver.url, "token_file": str(tmp_path / "token")}), told)
    assert published(receiver) == (told.title, "high", told.body, [], "tk_1")
    assert told.body.endswith("unhang send j1 ANSWER")


def test_ntfy_shows_a_long_message_as_text_and_not_as_a_file(receiver: Receiver) -> None:
    about = AlertSubject("j1", "ü" * 60, "make " + "ü" * 200_000)
    parts = [Occasion(about, "failed", seq, 1.0, "", "ü" * 300, "unhang result j1") for seq in range(20)]
    for some in (parts, parts[:1]):
        send(Target("p", "ntfy", {"url": receiver.url}), message_of(Delivery("k", "p", tuple(some))))
    assert published(receiver, 0).title.startswith("üü")
    assert published(receiver, 1).text.endswith("unhang result j1"), "the command to paste is not cut off"


def test_slack_gets_one_text_in_which_nothing_of_a_job_is_markup(receiver: Receiver) -> None:
    button = Button("deny", "Deny", "https://unhang.example.org/act/x")
    send(Target("p", "slack", {"url": receiver.url}), message(HOSTILE).replace(buttons=(button,)))
    ((headers, body),) = receiver.requests
    assert headers["content-type"] == "application/json"
    value = json.loads(body)
    assert set(value) == {"text"}
    assert "&lt;!channel&gt;" in value["text"]
    assert "make &lt;all&gt; &amp; more" in value["text"]
    assert re.findall("<[^>]*>", value["text"]) == ["<https://unhang.example.org/act/x|Deny>"]


def test_apprise_delivers_to_its_own_json_target_and_the_test_command_says_so(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    address = receiver.url.replace("http://", "json://")
    alerts.write_text(f'[target.all]\nkind = "apprise"\nurl = "{address}"\n[target.bad]\nkind = "apprise"\nurl = "x"\n')
    done = jobs.call("alerts", "test", "all")
    assert (done.code, done.out) == (0, b"all: sent\n")
    assert "unhang alerts test" in json.loads(receiver.requests[0][1])["title"]
    assert jobs.call("alerts", "test", "bad").code == 125
    noted = [(each["state"], each["target"], each["kinds"]) for each in jobs.said("alerts", "status")["deliveries"]]
    assert noted == [("sent", "all", ["test"]), ("failed", "bad", ["test"])]
    assert jobs.call("alerts", "test", "none").code == 2


@pytest.mark.parametrize(
    ("login", "said"), [("me:p%40ss", b"me:p@ss"), ("me", b"me:"), ("m%3Ae:a:b", b"m:e:a:b"), (":tk_1", b":tk_1")]
)
@pytest.mark.parametrize("kind", ["webhook", "ntfy", "slack"])
def test_user_and_password_of_an_address_are_a_header_and_no_part_of_the_hosts_name(
    receiver: Receiver, kind: str, login: str, said: bytes
) -> None:
    send(Target("p", kind, {"url": receiver.url.replace("http://", f"http://{login}@")}), message())
    ((headers, _),) = receiver.requests
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == said
    assert headers["host"] in receiver.url


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


@pytest.fixture
def desktop(tmp_path: Path) -> Iterator[tuple[dict[str, str], Path]]:
    """dunst on a screen and a bus of its own: the environment to reach it, and the file that says what it shows."""
    for name in ("notify-send", "dunst", "dbus-daemon", "Xvfb"):
        programs.need_command(name)
    config, script = tmp_path / "dunstrc", tmp_path / "shown.sh"
    new, shown = tmp_path / "new", tmp_path / "shown"
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$DUNST_SUMMARY" "$DUNST_URGENCY" "$DUNST_BODY" > {new}\nmv {new} {shown}\n'
    )
    script.chmod(0o755)
    config.write_text(f'[global]\n[all]\nappname = "*"\nscript = {script}\n')
    with ExitStack() as stack:
        bus = stack.enter_context(
            running("dbus-daemon", "--session", "--nofork", "--print-address=1", f"--address=unix:path={tmp_path}/bus")
        )
        reading, writing = os.pipe()
        stack.callback(os.close, reading)
        size = ("-screen", "0", "640x480x24", "-nolisten", "tcp")
        stack.enter_context(running("Xvfb", "-displayfd", str(writing), *size, fds=[writing]))
        os.close(writing)
        assert bus.stdout is not None
        found = {
            "DBUS_SESSION_BUS_ADDRESS": bus.stdout.readline().strip(),
            "DISPLAY": ":" + os.read(reading, 20).decode().strip(),
            "HOME": str(tmp_path),
        }
        stack.enter_context(running("dunst", "-conf", str(config), env=os.environ | found))
        yield found, shown


@contextmanager
def running(
    *words: str, fds: list[int] | None = None, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, pass_fds=fds or (), env=env
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_a_real_desktop_shows_it(
    desktop: tuple[dict[str, str], Path], jobs: Jobs, alerts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ, shown = desktop
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    def sent() -> bool:
        try:
            send(Target("p", "desktop"), message())
        except NotDelivered:
            return False
        return True

    wait_until(sent, "the desktop takes notifications")
    wait_until(shown.exists, "it is shown")
    summary, urgency, *body = shown.read_text().splitlines()
    assert (summary, urgency) == ("bau — größe needs input", "CRITICAL")
    assert [html.unescape(line) for line in body] == message().body.splitlines()
    assert not set("<>") & set("".join(body)), "nothing of a job is markup"
    # and of a real job, by who delivers, without any file, and told of the bus by its place alone
    shown.unlink()
    runtime = Path(environ["HOME"])
    assert user_bus({}, str(runtime)) == {"XDG_RUNTIME_DIR": str(runtime)}
    assert user_bus(environ, str(runtime)) == user_bus({}, str(runtime / "none")) == {}
    jobs.env |= {"DISPLAY": environ["DISPLAY"]} | user_bus({}, str(runtime))
    jobs.env.pop("DBUS_SESSION_BUS_ADDRESS", None)
    job = jobs.begin("--notify", "desktop", "--", "sh", "-c", "exit 3")
    wait_until(lambda: shown.exists() and shown.read_text().startswith("sh -c"), "its end is shown")
    summary, urgency, *body = shown.read_text().splitlines()
    assert (summary, urgency) == ("sh -c 'exit 3' failed", "NORMAL")
    assert f"unhang result {job.id}" in body
    assert not alerts.exists()
