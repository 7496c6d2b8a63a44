"""Real servers for programs that people use at a terminal: PostgreSQL and sshd, each in a folder of its own."""

from __future__ import annotations

import contextlib
import getpass
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.engine import wait_until
from tests.support.programs import unavailable
from tests.zoo.toolchains import found

# PostgreSQL does not run as root.
NOBODY = "nobody"


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
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


@contextlib.contextmanager
def psql() -> Iterator[list[str]]:
    """A PostgreSQL server; yields the words of a psql that is connected to it."""
    tools = {name: found(name) for name in ("psql", "initdb", "postgres")}
    if None in tools.values():
        unavailable(f"NOT TESTED: not installed: {', '.join(name for name, path in tools.items() if path is None)}")
    who = {}
    with open_folder() as place:
        data = place / "data"
        data.mkdir()
        if os.geteuid() == 0:
            user = pwd.getpwnam(NOBODY)
            who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(data, user.pw_uid, user.pw_gid)
        own = {"PATH": os.environ["PATH"], "HOME": str(data), "LC_ALL": "C"}
        make = [str(tools["initdb"]), "-D", str(data / "db"), "-A", "trust", "-U", "me", "--no-sync", "--locale=C"]
        subprocess.run(make, check=True, capture_output=True, env=own, cwd=data, **who)  # type: ignore[call-overload]
        settings = ("listen_addresses=", f"unix_socket_directories={data}", "dynamic_shared_memory_type=mmap")
        options = [word for each in (*settings, "fsync=off") for word in ("-c", each)]
        server = [str(tools["postgres"]), "-D", str(data / "db"), *options]
        there = f"{data}/.s.PGSQL.5432"
        ask = [str(tools["psql"]), "-X", "-h", str(data), "-U", "me", "postgres"]

        def answers() -> bool:
            return subprocess.run([*ask, "-c", ""], capture_output=True, check=False).returncode == 0

        with running(server, lambda: os.path.exists(there), place, env=own, cwd=data, **who):
            wait_until(answers, "PostgreSQL answers", 120)
            yield ask


@contextlib.contextmanager
def ssh() -> Iterator[list[str]]:
    """An sshd on 127.0.0.1; yields the words of an ssh to it, to which a command can be added."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if server is None or shutil.which("ssh") is None:
        unavailable("NOT TESTED: ssh and sshd are not installed")
    with open_folder() as place:
        for name in ("host", "own"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name)], check=True)
        shutil.copy(place / "own.pub", place / "allowed")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        lines = [f"HostKey {place}/host", f"AuthorizedKeysFile {place}/allowed", f"Port {port}"]
        lines += ["ListenAddress 127.0.0.1", "UsePAM no", "StrictModes no", "PidFile none"]
        lines += ["PermitRootLogin prohibit-password"]
        (place / "config").write_text("\n".join(lines))

        def answers() -> bool:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
                return True
            return False

        start = [server, "-D", "-e", "-f", str(place / "config")]
        if os.geteuid() == 0 and not os.path.isdir("/run/sshd"):  # its service makes it; here it is made for this one
            folder = 'mount -t tmpfs none /run && mkdir /run/sshd && exec "$@"'
            start = ["unshare", "--mount", "sh", "-c", folder, "sh", *start]
        options = (
            "StrictHostKeyChecking=no",
            f"UserKnownHostsFile={place}/known",
            "LogLevel=ERROR",
            "ControlPath=none",
        )
        known = ["-F", "none", "-i", str(place / "own"), "-p", str(port), *(w for o in options for w in ("-o", o))]
        with running(start, answers, place):
            yield ["ssh", *known, "-t", f"{getpass.getuser()}@127.0.0.1"]
