"""What the rows of the fleet are measured on, and how they are shown: three real servers, a machine, and a Redis."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.measure import Row, quantile
from bench.redis import RedisServer, is_there


@contextmanager
def fleet(home: str) -> Iterator[tuple[Path, str, Any, RedisServer | None]]:
    """A folder, the servers' address, a machine that has joined, and Redis if this machine has it."""
    sys.path.insert(0, str(Path(__file__).parents[2]))  # the servers are those of the tests
    from tests.support.fleet import Machine, cluster

    with tempfile.TemporaryDirectory(prefix="fleet-", dir=home) as name:
        folder = Path(name)
        servers = cluster(folder)
        url = ",".join(server.url for server in servers)
        machine = Machine(folder / "alpha", "alpha", url)
        other = RedisServer(folder) if is_there() else None
        try:
            machine.join().joined()
            yield folder, url, machine, other
        finally:
            if other is not None:
                other.end()
            machine.close()
            machine.end_everything()
            for server in servers:
                server.kill()


def rows(name: str, found: tuple[list[float], ...], note: str) -> list[Row]:
    """The median and the slowest of a hundred: ours against plain NATS and, where it was measured, against Redis."""
    ours, plain, in_redis = found
    middle, slow = quantile(ours, 0.5), quantile(ours, 0.99)
    made = []
    for reference, text in ((plain, note), (in_redis, "reference: a Redis stream, one process without replicas")):
        if reference:
            made += [
                Row(f"{name} p50", middle * 1e3, quantile(reference, 0.5) * 1e3, None, "ms", note=text),
                Row(f"{name} p99", slow * 1e3, quantile(reference, 0.99) * 1e3, None, "ms"),
            ]
    return [*made, Row(f"{name} p99", slow, None, 1.0, "s", note="well under a second")]
