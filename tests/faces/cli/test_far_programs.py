"""psql and ssh at a terminal, with real servers: no limit runs while they wait for their person, nothing is drawn."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.desk import Desk
from tests.support.engine import wait_until
from tests.support.programs import unavailable
from tests.zoo.toolchains import found

# PostgreSQL does not run as root.
NOBODY = "nobody"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a path that is short enough for a socket, and that another user can enter."""
    with tempfile.TemporaryDirectory(prefix="uf-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@contextlib.contextmanager
def running(words: list[str], ready: Callable[[], bool], folder: Path, **options: object) -> Iterator[None]:
    """A server, until it is asked to end by SIGINT."""
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)  # type: ignore[call-overload]
    try:
        wait_until(lambda: ready() or server.poll() is not None, "the server is there", 120)
        if server.poll() is not None:
            unavailable(f"NOT TESTED: the server ended: {(folder / 'log').read_text()[-500:]}")
        yield
    finally:
        server.send_signal(2)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def waits_without_a_limit(desk: Desk) -> None:
    """Its keeper says that no limit will end it: they stand still, for a minute as for an hour (test_watchdog.py)."""

    def ends() -> list[object]:
        done = desk.engine.unhang("status", "@last", "--json")
        return [json.loads(done.out)["endsInMs"]] if done.code == 0 else []

    wait_until(lambda: ends() == [None], "the limits stand still", 120)


def used_and_left(desk: Desk, *, typed: str, answer: str, leave: str) -> None:
    waits_without_a_limit(desk)
    desk.enter(typed)
    desk.matches(answer)
    waits_without_a_limit(desk)
    assert "unhang: " not in desk.screen()
    desk.enter(leave)
    desk.is_back()
    assert "unhang: " not in desk.screen()
    events = desk.engine.events()
    assert events[-1]["status"] == "success"
    assert [event for event in events if event["type"] == "watchdog"] == []


def test_psql_is_used_as_without_unhang(desk_of: Callable[..., Desk], place: Path) -> None:
    tools = {name: found(name) for name in ("psql", "initdb", "postgres")}
    if None in tools.values():
        unavailable(f"NOT TESTED: not installed: {', '.join(name for name, path in tools.items() if path is None)}")
    who = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam(NOBODY)
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    data = place / "data"
    data.mkdir()
    if who:
        os.chown(data, user.pw_uid, user.pw_gid)
    own = {"PATH": os.environ["PATH"], "HOME": str(data), "LC_ALL": "C"}
    make = [str(tools["initdb"]), "-D", str(data / "db"), "-A", "trust", "-U", "me", "--no-sync", "--locale=C"]
    subprocess.run(make, check=True, capture_output=True, env=own, cwd=data, **who)  # type: ignore[call-overload]
    settings = ("listen_addresses=", f"unix_socket_directories={data}", "dynamic_shared_memory_type=mmap", "fsync=off")
    server = [str(tools["postgres"]), "-D", str(data / "db"), *(word for each in settings for word in ("-c", each))]
    there = f"{data}/.s.PGSQL.5432"
    with running(server, lambda: os.path.exists(there), place, env=own, cwd=data, **who):
        desk = desk_of()
        ask = [str(tools["psql"]), "-X", "-h", str(data), "-U", "me", "postgres"]
        wait_until(
            lambda: subprocess.run([*ask, "-c", ""], capture_output=True, check=False).returncode == 0, "up", 120
        )
        desk.run("unhang", "run", "--", *ask)
        desk.sees("postgres=#")
        used_and_left(desk, typed="select 6 * 7 as answer \\g", answer=r"^ +42$", leave="\\q")


def test_ssh_is_used_as_without_unhang(desk_of: Callable[..., Desk], place: Path) -> None:
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if server is None or shutil.which("ssh") is None:
        unavailable("NOT TESTED: ssh and sshd are not installed")
    for name in ("host", "own"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name)], check=True)
    shutil.copy(place / "own.pub", place / "allowed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = [f"HostKey {place}/host", f"AuthorizedKeysFile {place}/allowed", f"Port {port}", "ListenAddress 127.0.0.1"]
    lines += ["UsePAM no", "StrictModes no", "PidFile none", "PermitRootLogin prohibit-password"]
    (place / "config").write_text("\n".join(lines))

    def answers() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
            return True
        return False

    start = [server, "-D", "-e", "-f", str(place / "config")]
    if os.geteuid() == 0 and not os.path.isdir("/run/sshd"):  # its service makes it; here it is made for nobody else
        folder = 'mount -t tmpfs none /run && mkdir /run/sshd && exec "$@"'
        start = ["unshare", "--mount", "sh", "-c", folder, "sh", *start]
    with running(start, answers, place):
        desk = desk_of()
        options = (
            "StrictHostKeyChecking=no",
            f"UserKnownHostsFile={place}/known",
            "LogLevel=ERROR",
            "ControlPath=none",
        )
        words = ["-F", "none", "-i", str(place / "own"), "-p", str(port), *(w for o in options for w in ("-o", o))]
        far = "PS1='f''ar> ' exec sh -i"  # the command line on the screen is not taken for the prompt
        desk.run("unhang", "run", "--", "ssh", *words, "-t", f"{getpass.getuser()}@127.0.0.1", far)
        desk.sees("far>")
        used_and_left(desk, typed="echo $((6 * 7)) is it", answer=r"^42 is it$", leave="exit")
