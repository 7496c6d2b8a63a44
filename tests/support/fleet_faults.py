"""What goes wrong in a fleet: a wire that is cut, a stream that is full, a clock that is an hour ahead."""

from __future__ import annotations

import asyncio
import os
import subprocess

import nats

from tests.support.namespaces import need_namespaces
from tests.support.programs import need_command

# `python -c` of this is `unhang` with such a clock.
AN_HOUR_AHEAD = (
    "import sys, time; real = time.time; time.time = lambda: real() + 3600; "
    "from unhang.__main__ import main; sys.exit(main())"
)


class Wire:
    """A network namespace with a wire to this one, that can be cut."""

    def __init__(self) -> None:
        need_namespaces()
        need_command("ip")
        number = os.getpid()
        self.name, self._end = f"unhang-{number}", f"uh{number}"
        net = f"10.213.{number % 250}"
        self.host, self.far = f"{net}.1", f"{net}.2"
        self._ip("netns", "add", self.name)
        self._ip("link", "add", self._end, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        self._ip("addr", "add", f"{self.host}/24", "dev", self._end)
        self._ip("link", "set", self._end, "up")
        for words in (("addr", "add", f"{self.far}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            self._ip("-n", self.name, *words)
        self.inside = ("ip", "netns", "exec", self.name)

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def cut(self) -> None:
        self._ip("link", "set", self._end, "down")

    def mend(self) -> None:
        self._ip("link", "set", self._end, "up")

    def close(self) -> None:
        self._ip("netns", "del", self.name)  # the wire goes with it


async def _bound(url: str, stream: str, more: int | None) -> None:
    client = await nats.connect(url)
    try:
        js = client.jetstream(timeout=10)
        found = await js.stream_info(stream)
        limit = -1 if more is None else found.state.bytes + more
        await js.update_stream(found.config.evolve(max_bytes=limit, discard=nats.js.api.DiscardPolicy.NEW))
    finally:
        await client.close()


def bound(url: str, stream: str, more: int | None) -> None:
    """Let a stream take so many bytes more than it has (None: any), and refuse the rest."""
    asyncio.run(_bound(url, stream, more))
