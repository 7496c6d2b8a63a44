"""Drives `codex exec --json`: one process a turn, no deltas.

While the model thinks it prints nothing, and its CPU and files look the same as when it hangs; only the bytes that come
in on its socket tell. So they are what counts as a sign of life here.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time

from unhang.agents.codex_exec import Exec
from unhang.core.fullsample import Socket
from unhang.drivers.codex_plan import Plan
from unhang.drivers.rpc import Message, Recorder
from unhang.drivers.voice import Voice, complain
from unhang.errors import EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, EXIT_SIGNAL_BASE
from unhang.procs.sampler import files, net, tree

_LOOK = 1.0
_LONGEST_LINE = 256 << 20
_SESSION = 3  # where /proc/PID/stat has it, counted from the state


class ExecDriver:
    def __init__(self, plan: Plan, voice: Voice) -> None:
        self._plan = plan
        self._voice = voice
        self._exec = Exec(tool_limit=plan.tool_limit, job=os.environ.get("UNHANG_JOB", ""))
        self._recorder = Recorder(plan.record)
        self._stop = asyncio.Event()
        self._received: dict[str, int] = {}

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop.set)
        try:
            process = await asyncio.create_subprocess_exec(
                *command(self._plan),
                stdin=asyncio.subprocess.DEVNULL,  # an open pipe there makes it wait for ever before it begins
                stdout=asyncio.subprocess.PIPE,
                env=dict(os.environ),
                limit=_LONGEST_LINE,
            )
        except FileNotFoundError:
            return self._failed(f"there is no {self._plan.codex!r}", EXIT_NOT_FOUND)
        except OSError as error:
            return self._failed(f"cannot start {self._plan.codex!r}: {error.strerror}", EXIT_NOT_EXECUTABLE)
        work = asyncio.ensure_future(self._read(process))
        looks = asyncio.ensure_future(self._look(process.pid))
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._climb(process)
                return EXIT_SIGNAL_BASE + signal.SIGTERM
            return self._ended(await process.wait())
        finally:
            for task in (work, looks, stop):
                task.cancel()
            await asyncio.gather(work, looks, stop, return_exceptions=True)
            self._recorder.close()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                self._recorder.message("agent", message)
                self._hear(message)

    def _hear(self, message: Message) -> None:
        for said in self._exec.hear(message, time.monotonic()):
            self._voice.say(said)

    async def _look(self, pid: int) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            if self._bytes_came(pid):
                self._voice.say(self._exec.bytes_came(time.monotonic()))

    def _bytes_came(self, pid: int) -> bool:
        """On a connection that was there a look ago: a new one that is refused again and again is no progress."""
        now = {link: seen.received for link, seen in _sockets(pid).items() if seen.received is not None}
        grown = any(link in self._received and count > self._received[link] for link, count in now.items())
        self._received = now
        return grown

    async def _climb(self, process: asyncio.subprocess.Process) -> None:
        """SIGINT is the one that makes `exec` end its tools and their children too; SIGTERM leaves them."""
        why = self._exec.standing(time.monotonic())
        self._voice.stopping(why, self._exec.thread)
        for number, seconds in ((signal.SIGINT, self._plan.grace * 0.6), (signal.SIGTERM, self._plan.grace * 0.3)):
            try:
                process.send_signal(number)
                async with asyncio.timeout(seconds):
                    await process.wait()
            except ProcessLookupError:
                return
            except TimeoutError:
                self._voice.tell("stopping", f"{number.name}: codex exec did not end.", step=number.name, done=False)
            else:
                self._voice.tell("stopping", f"codex exec ended after {number.name}.", step=number.name, done=True)
                return

    def _ended(self, code: int) -> int:
        if self._exec.reply:
            sys.stdout.write(self._exec.reply + "\n")
            sys.stdout.flush()
        asked = self._plan.thread
        if asked and self._exec.thread and self._exec.thread != asked:
            # a name that is no id starts a new thread without a word
            return self._failed(f"Codex opened another thread ({self._exec.thread}) than {asked}", 1)
        if code == 0 and self._exec.status == "completed":
            return 0
        if self._exec.status:
            complain(f"the turn {self._exec.status}: {self._exec.error}")
            return code or 1
        return self._failed(self._exec.error or f"codex exec ended without a turn (exit code {code})", code or 1)

    def _failed(self, text: str, code: int) -> int:
        thread = self._exec.thread or self._plan.thread
        self._voice.tell("failed", text, error={"message": text}, turnStatus="failed", threadId=thread)
        complain(text)
        return code


def command(plan: Plan) -> list[str]:
    words = [plan.codex, "exec", "--json", "--skip-git-repo-check"]
    for name, value in (("--model", plan.model), ("--sandbox", plan.sandbox)):
        if value is not None:
            words += [name, value]
    if plan.effort is not None:
        words += ["-c", f"model_reasoning_effort={plan.effort}"]
    for entry in plan.config:
        words += ["-c", entry]
    if plan.thread:
        words += ["resume", plan.thread]
    return [*words, "--", plan.task]


def _sockets(pid: int) -> dict[str, Socket]:
    """Of Codex itself (the node wrapper and the program): its tools have sessions of their own."""
    processes, _ = tree.walk(pid, include_root=True)
    if pid not in processes:
        return {}
    session = processes[pid][1][_SESSION]
    links: dict[str, int] = {}
    for member, (_, fields) in processes.items():
        if fields[_SESSION] == session:
            held, _ = files.fds_of(member) or ({}, 0)
            links |= {link: member for link in held.values() if link.startswith("socket:")}
    return {link: seen for link, seen in net.sockets_of(links, unix=False).items() if seen.remote}
