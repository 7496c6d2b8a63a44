"""A hostile worker or viewer, with a client of their own making, cannot reach past what their accounts import.

A server puts its answer, and a user who was asked puts its own, on whatever subject the question names. Each attack is
also made where all users share one account, with the same permissions: there it succeeds, so the test can see it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.errors import NotFoundError

from tests.support.fleet import PATIENCE, Server
from unhang.core.fleet.permissions import API, IMPORTED_API, ROLES, permissions
from unhang.fleet import users
from unhang.fleet.connection import Connection, connect

_STREAMS = ("UNHANG_EVENTS", "UNHANG_QUEUE", "UNHANG_TASKS", "KV_unhang_rows", "KV_unhang_machines")
_FORGED = b'{"forged":1}'


class World:
    """Where the attacks are made: by `url(role)`; `wall`: each worker and viewer has an account of its own."""

    def __init__(self, server: Server, folder: Path, *, wall: bool) -> None:
        self._server, self._folder, self.wall = server, folder, wall

    def url(self, role: str) -> str:
        if self.wall:
            return f"nats://127.0.0.1:{self._server.port}?creds={self._folder / role}.creds"
        return f"nats://{role}:pw@127.0.0.1:{self._server.port}"


@pytest.fixture(params=["wall", "one account"])
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    wall = request.param == "wall"
    access = '\ninclude "users.conf"\n'
    if wall:
        for role in ROLES:
            queues = ("other",) if role == "worker" else ()
            users.add(str(tmp_path / "users.conf"), "UNHANG", role, "x", queues, str(tmp_path / f"{role}.creds"))
    else:
        flat = {"jetstream": "enabled", "users": [_flat(role) for role in ROLES]}
        (tmp_path / "users.conf").write_text(json.dumps({"accounts": {"FLAT": flat}}))
    server = Server(tmp_path, "n0", access=access).start().wait()
    yield World(server, tmp_path, wall=wall)
    server.kill()


def _flat(role: str) -> dict[str, Any]:
    queues = ("other",) if role == "worker" else ()
    allowed = json.loads(json.dumps(permissions(role, "x", queues)).replace(IMPORTED_API, API))
    allowed["subscribe"]["allow"].append("_INBOX.>")
    return {"user": role, "password": "pw", "permissions": allowed}


async def _state(operator: Connection) -> dict[str, Any]:
    """What every stream holds; None: it is gone."""
    found: dict[str, Any] = {}
    for stream in _STREAMS:
        try:
            state = (await operator._js.stream_info(stream)).state
            found[stream] = (state.messages, state.last_seq)
        except NotFoundError:
            found[stream] = None
    return found


async def _attack(world: World, operator: Connection, what: str, role: str, attack: Any) -> None:
    """Make an attack: it does nothing behind the wall; in one account it is made again until it has been seen."""
    attacker = await connect(world.url(role))
    partner = await connect(world.url("worker"))
    try:
        # the machine of a hostile worker: it answers on any subject that it is asked for
        async def collude(message: Msg) -> None:
            await message.respond(_FORGED)

        await partner._client.subscribe("unhang.ask.x", cb=collude)
        await partner._client.flush(timeout=60)
        before = await _state(operator)
        async with asyncio.timeout(PATIENCE):
            while True:
                await attack(attacker._api, attacker._client)
                changed = await _state(operator) != before
                if changed or world.wall:
                    break
                await asyncio.sleep(0.1)
        assert changed != world.wall, (what, before, await _state(operator))
    finally:
        await attacker.close()
        await partner.close()


async def _answered(api: str, client: Client, stream: str, wanted: str, reply: str) -> None:
    """Have the server answer on a subject; then wait for an answer of our own, which comes behind it."""
    subject, question = f"{api}.DIRECT.GET.{stream}", json.dumps({"last_by_subj": wanted}).encode()
    await client.publish(subject, question, reply=reply)
    await client.request(subject, question, timeout=60)


async def _remove(api: str, client: Client) -> None:
    # nothing is found, and the server's word for that has no body: so it is a request to purge or delete
    for stream, call in (("UNHANG_QUEUE", "PURGE"), ("UNHANG_TASKS", "DELETE")):
        await _answered(api, client, "UNHANG_EVENTS", "unhang.ev.none", f"$JS.API.STREAM.{call}.{stream}")


async def _copy(api: str, client: Client) -> None:
    # whatever one may write oneself
    await client.jetstream(timeout=60, prefix=api).publish("unhang.hold.other.mine", _FORGED)
    for reply in ("unhang.task.q.job", "unhang.queue.q.job.job", "$KV.unhang_rows.beta.job"):
        await _answered(api, client, "UNHANG_HOLDS", "unhang.hold.other.mine", reply)


async def _together(_: str, client: Client) -> None:
    for reply in ("unhang.task.q.job", "unhang.queue.q.job.job", "$KV.unhang_machines.beta", "unhang.ev.beta.job"):
        await client.publish("unhang.ask.x", b"", reply=reply)
        assert (await client.request("unhang.ask.x", b"", timeout=60)).data == _FORGED


@pytest.mark.timeout(180)
def test_no_answer_reaches_what_its_asker_may_not_write(world: World) -> None:
    async def run() -> None:
        operator = await connect(world.url("operator"))
        try:
            await operator.prepare()
            await operator.prepare_queues()
            await operator.store("UNHANG_QUEUE", "unhang.queue.q.settings", b"{}")
            await operator.store("UNHANG_TASKS", "unhang.task.q.job", b"{}")
            await _attack(world, operator, "a worker and a viewer together", "viewer", _together)
            await _attack(world, operator, "a copy of one's own words", "worker", _copy)
            await _attack(world, operator, "the server's empty answer", "viewer", _remove)
        finally:
            await operator.close()

    asyncio.run(run())


# What a message may ask of the server that stores it: to remove all others of its stream, to put another somewhere else
# later, to be one that was removed. (A Nats-Msg-Id holds in the whole stream: no message of ours has one.)
_HEADERS = (
    {"Nats-Rollup": "all"},
    {"Nats-Rollup": "sub"},
    {"Nats-Schedule": "@at 2000-01-01T00:00:00Z", "Nats-Schedule-Target": "unhang.task.q.scheduled"},
    {"Nats-Marker-Reason": "Purge"},
    {"KV-Operation": "PURGE"},
    {"Nats-Incr": "+1"},
    {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"},
)


def _ids(headers: Mapping[str, str]) -> list[str]:
    return [name for name in headers if name.lower() == "nats-msg-id"]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("world", ["wall"], indirect=True)
def test_no_header_of_a_worker_reaches_what_others_have_stored(world: World) -> None:
    others = {
        "unhang.queue.q.settings": "UNHANG_QUEUE",
        "unhang.task.q.job": "UNHANG_TASKS",
        "$KV.unhang_rows.beta.job": "KV_unhang_rows",
        "$KV.unhang_machines.beta": "KV_unhang_machines",
        "$KV.unhang_workers.q.beta.w": "KV_unhang_workers",
    }
    own = (
        *("unhang.ev.x.job", "$KV.unhang_rows.x.job", "$KV.unhang_machines.x", "$KV.unhang_workers.other.x.w"),
        *("unhang.queue.other.job.j", "unhang.task.other.j", "unhang.hold.other.j", "unhang.patch.other.j.1.0"),
    )

    async def run() -> None:
        operator = await connect(world.url("operator"))
        worker = await connect(world.url("worker"))
        try:
            await operator.prepare()
            await operator.prepare_queues()
            for subject, stream in others.items():
                assert await operator.store(stream, subject, b"{}")
            for subject in own:
                for headers in _HEADERS:
                    # the server's answer, whatever it says, comes behind what it has done
                    await worker._client.request(subject, _FORGED, timeout=60, headers=headers)
            for subject, stream in others.items():
                found = await operator.newest(stream, subject)
                assert found is not None, subject
                assert found.data == b"{}", subject
                assert await operator.store(stream, subject, b"[]")
                found = await operator.newest(stream, subject)
                assert found is not None, subject
                assert (found.data, _ids(found.headers)) == (b"[]", []), subject
            assert await operator.newest("UNHANG_TASKS", "unhang.task.q.scheduled") is None
        finally:
            await worker.close()
            await operator.close()

    asyncio.run(run())
