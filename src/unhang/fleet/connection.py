"""A connection to the fleet's server, and what is read and written through it. Only here nats-py is called.

A timeout means that nothing is known: a message may still be stored later, by a client that buffers it until it is
connected again. What is written is therefore either harmless twice (a row, a word of presence) or carries its place
(core/fleet/chain.py).
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from typing import TYPE_CHECKING, TypeVar

from unhang.core import values
from unhang.core.extras import Extra
from unhang.core.fleet import subjects
from unhang.core.fleet.messages import unpack
from unhang.core.fleet.permissions import API, inbox_of
from unhang.core.fleet.presence import BELIEVED, machines_of, refusal
from unhang.core.fleet.rows import read_row, row_message
from unhang.core.fleet.task import to_sign
from unhang.core.overview import SESSION
from unhang.core.record import Record
from unhang.errors import UnhangError, UsageError
from unhang.fleet import nkey
from unhang.fleet.end_tasks import end
from unhang.fleet.note import CA, CREDENTIALS, without_password
from unhang.fleet.users import Credentials, read_credentials

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
    from typing import Any

    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

    from unhang.core.fleet.messages import EventMessage, Stored
    from unhang.core.fleet.presence import Machine

_T = TypeVar("_T")
# How long a server may take to answer. A cluster elects a new leader in 4 to 8 seconds.
PATIENCE = 5.0
KEPT_DAYS = 30
_BATCH, _BATCH_BYTES = 256, 4 << 20
_REPLICAS = 3
# What the server answers: not in a cluster, so no replicas; no message there; another message came first (the second
# of a leader that has just been elected and does not know yet).
_NO_REPLICAS, _NO_MESSAGE, _TAKEN = 10074, 10037, (10071, 10164)
_PAUSE = 0.2
# How long a copy may lag behind its leader: so often, with so long a pause, what was told of is looked for.
_LAG, _LAG_TRIES = 0.02, 100
_DELETED = ("DEL", "PURGE")
# A header of all that `store` stores; the key and the signature of an operator.
_STORED, _SIGNED = "Unhang-Stored", "Unhang-Signed"
# Of a job of a queue: the last so many changes are kept, for those who want to know what became of it.
_KEPT_CHANGES = 10
# The last word about a job that has ended is of no use any more, in seconds.
_KEPT_WORDS = 3600


class ServerAway(UnhangError):
    """No server answers, or it did not answer in time. It may be there again in a moment."""


class ServerRefused(UnhangError):
    """The server answered, and refused what was asked: trying again would change nothing."""


class NoCommandServer(ServerRefused):
    """No process listens where a request was sent."""


class Raw(Record):
    """A message as the server has it."""

    subject: str
    place: int
    at: str
    headers: dict[str, str]
    data: bytes


def check_installed() -> None:
    """Raise UnhangError, with what to do, where nats-py is missing."""
    with Extra("the fleet needs nats-py", "fleet"):
        import nats  # noqa: F401 - only whether it is there


async def connect(
    address: str, *, lasting: bool = False, on_change: Callable[[bool], None] | None = None
) -> Connection:
    """Connect and check the server. Raises ServerAway, or ServerRefused for a credential or a server that will not do.

    `lasting`: find the server again whenever it is away; `on_change` then hears whether it is there.
    """
    check_installed()
    import ssl

    from nats.errors import Error, NoServersError

    problems: list[str] = []
    denied, hopeless = asyncio.Event(), asyncio.Event()

    async def complain(error: Exception) -> None:
        if isinstance(error, ssl.SSLError):
            hopeless.set()
        problems[:] = [*problems[-9:], str(error) or type(error).__name__]
        if "permissions violation" in problems[-1]:
            denied.set()

    async def lost() -> None:
        if on_change is not None:
            on_change(False)

    async def found() -> None:
        if on_change is not None:
            on_change(True)

    options: dict[str, Any] = {
        "name": "unhang",
        "error_cb": complain,
        "connect_timeout": 5,
        "ping_interval": 5,
        "max_outstanding_pings": 2,
        "reconnect_time_wait": 0.2,
    }
    servers, credentials = _secured(address, options)
    key = "" if credentials is None else nkey.public_key(credentials.seed)
    try:
        # A first look, since a client that never gives up would not say that a credential is wrong.
        first = _client(key)
        await _unless(hopeless, first.connect(servers, max_reconnect_attempts=1, **options), len(servers) + 1)
        if lasting:
            await first.close()
            first = _client(key)
            connecting = first.connect(
                servers, max_reconnect_attempts=-1, disconnected_cb=lost, reconnected_cb=found, **options
            )
            await _unless(hopeless, connecting, len(servers) + 1)
    except (TimeoutError, NoServersError, OSError, Error) as error:
        where = ", ".join(map(without_password, servers))
        if any("uthorization" in each or "uthentication" in each for each in [*problems, str(error)]):
            raise ServerRefused(f"the server at {where} refused these credentials") from None
        raise ServerAway(f"no NATS server answers at {where} ({problems[-1] if problems else error})") from None
    version = first.connected_server_version
    info = getattr(first, "_server_info", {})
    why = refusal((version.major, version.minor), bool(info.get("jetstream")))
    if why is not None:
        await first.close()
        raise ServerRefused(why)
    return Connection(first, denied, credentials)


def with_connection(address: str, work: Callable[[Connection], Awaitable[_T]], *, lasting: bool = False) -> _T:
    """Connect as `connect` does, do something with the server in an event loop of its own, and close the connection."""

    async def run() -> _T:
        connection = await connect(address, lasting=lasting)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(run())


def _secured(address: str, options: dict[str, Any]) -> tuple[list[str], Credentials | None]:
    """Return the servers and our credentials, and set how we show who we are, and know who they are."""
    import logging
    import ssl
    from urllib.parse import parse_qsl

    servers, _, query = address.partition("?")
    given = dict(parse_qsl(query))
    if CA in given or servers.startswith("tls://"):
        # at every end of a TLS connection asyncio would warn, on stderr, that its reader would have kept it half open
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        try:
            options["tls"] = ssl.create_default_context(cafile=given.get(CA))
        except OSError as error:  # what is wrong with a certificate is one, too
            raise UsageError(f"--ca: {given.get(CA)}: {error}") from None
    if CREDENTIALS not in given:
        return servers.split(","), None
    credentials = read_credentials(given[CREDENTIALS])
    options["inbox_prefix"] = inbox_of(credentials.user)
    options["signature_cb"] = functools.partial(nkey.signed, credentials.seed)
    return servers.split(","), credentials


async def _unless(hopeless: asyncio.Event, connecting: Awaitable[None], tries: int) -> None:
    """Wait for a connection, and no longer than so many tries take. After a failed TLS handshake nats-py hangs."""
    task, over = asyncio.ensure_future(connecting), asyncio.ensure_future(hopeless.wait())
    try:
        await asyncio.wait({task, over}, timeout=tries * PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        task.result()
    finally:
        await end([each for each in (task, over) if not each.done()])


def _client(key: str) -> Client:
    """Return a client that shows this public key; nats-py itself would need another package for that."""
    from nats.aio.client import Client

    client = Client()
    if key:
        client._public_nkey, client._auth_configured = key, True
    return client


class Connection:
    """The fleet's server. Every method raises ServerAway where no answer comes, and ServerRefused for a refusal."""

    def __init__(self, client: Client, denied: asyncio.Event, credentials: Credentials | None = None) -> None:
        self._client = client
        self._denied = denied
        self._credentials = credentials
        self._api = API if credentials is None else credentials.api
        self._js = client.jetstream(timeout=PATIENCE, prefix=self._api)

    @property
    def connected(self) -> bool:
        """Return whether the server is there now."""
        return self._client.is_connected

    @property
    def closed(self) -> bool:
        """Return whether the client has given up: the server refuses its credentials by now."""
        return self._client.is_closed

    async def close(self) -> None:
        """Close the connection; what was not answered stays unknown."""
        from nats.errors import Error

        try:
            async with asyncio.timeout(PATIENCE):
                await self._client.close()
        except (Error, OSError):  # a timeout is one
            pass

    # --- streams and buckets ----------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Make the streams and buckets where they are missing; three copies where the server is a cluster."""
        from nats.js import api

        day = 24 * 3600
        live = api.RePublish(src=subjects.ALL_EVENTS, dest=subjects.ALL_LIVE, headers_only=True)
        events = api.StreamConfig(
            name=subjects.EVENTS,
            subjects=[subjects.ALL_EVENTS],
            storage=api.StorageType.FILE,
            max_age=KEPT_DAYS * day,
            duplicate_window=120,
            allow_direct=True,
            republish=live,
        )
        await self._make(events)
        rows = api.RePublish(src=subjects.ALL_ROWS, dest=subjects.ROWS_LIVE, headers_only=True)
        for bucket, believed in ((subjects.ROWS, 0.0), (subjects.MACHINES, 0.0), (subjects.PRESENCE, BELIEVED)):
            await self._make(self._bucket_of(bucket, believed, rows if bucket == subjects.ROWS else None))

    def _bucket_of(self, bucket: str, believed: float, republish: Any = None) -> Any:
        """Return what a bucket is made of; `believed`: how long a value holds (0: until it is replaced)."""
        from nats.js import api

        return api.StreamConfig(
            name=f"KV_{bucket}",
            subjects=[f"$KV.{bucket}.>"],
            storage=api.StorageType.FILE,
            max_msgs_per_subject=1,
            max_age=believed,
            duplicate_window=min(120.0, believed or 120.0),
            allow_direct=True,
            # a roll-up could remove what other machines have said; one message a key is kept without it
            allow_rollup_hdrs=False,
            deny_delete=True,
            discard=api.DiscardPolicy.NEW,
            republish=republish,
        )

    async def _make(self, config: Any) -> None:
        from nats.js.errors import APIError, NotFoundError

        try:
            await self._answer(lambda: self._js.stream_info(config.name))
            return
        except NotFoundError:
            pass
        for copies in (_REPLICAS, 1):
            config.num_replicas = copies
            try:
                await self._answer(lambda: self._js.add_stream(config))
                return
            except APIError as error:
                if error.err_code != _NO_REPLICAS or copies == 1:
                    raise ServerRefused(f"the server refused the stream {config.name}: {error.description}") from None

    async def identity(self) -> str:
        """Return what tells this store from another at the same address: the time when its stream was made."""
        from nats.js.errors import NotFoundError

        try:
            found = await self._answer(lambda: self._js.stream_info(subjects.EVENTS))
        except NotFoundError:
            return ""
        return str(found.created)

    # --- a job's log ------------------------------------------------------------------------------------------

    async def publish(self, message: EventMessage) -> int | None:
        """Store a message of a job's log; return its place, or None if another came first."""
        from nats.js.errors import APIError

        try:
            made = await self._answer(
                lambda: self._js.publish(
                    message.subject, message.payload, stream=subjects.EVENTS, headers=dict(message.headers)
                )
            )
        except APIError as error:
            if error.err_code in _TAKEN:
                return None
            raise ServerAway(f"the server did not store events: {error.description}") from None
        return int(made.seq)

    async def last_of(self, subject: str) -> Stored | None:
        """Return the last message of a job's log as the leader of the stream has it; None if there is none."""
        found = await self.newest(subjects.EVENTS, subject)
        return None if found is None else unpack(found.headers, found.data, found.place)

    async def log_of(self, machine: str, job: str, after_place: int = 0) -> AsyncIterator[Stored]:
        """Yield the messages of a job's log that the server has, behind this place of the stream."""
        async for raw in self._read(subjects.EVENTS, subjects.events_of(machine, job), after_place + 1):
            stored = unpack(raw.headers, raw.data, raw.place)
            if stored is not None:
                yield stored

    async def heard(self, machine: str, job: str) -> Heard:
        """Return what wakes when a job's log grows on the server."""
        return await self._wakes(subjects.live_of(machine, job))

    async def rows_heard(self) -> Heard:
        """Return what wakes when there is a new row."""
        return await self._wakes(subjects.ROWS_LIVE)

    async def _wakes(self, subject: str) -> Heard:
        heard = Heard()

        async def woken(message: Msg) -> None:
            heard.tell(dict(message.headers or {}).get("Nats-Sequence", ""))

        heard.subscription = await self._hear(subject, woken)
        return heard

    async def _read(self, stream: str, subject: str, place: int) -> AsyncIterator[Raw]:
        """Yield the messages on these subjects from this place on, in batches, from any copy and without a consumer."""
        patience = 2 * PATIENCE
        while True:
            inbox = self._client.new_inbox()
            replies = await self._hear(inbox)
            wanted = {"seq": place, "next_by_subj": subject, "batch": _BATCH, "max_bytes": _BATCH_BYTES}
            found: list[Raw] = []
            try:
                await self._say(f"{self._api}.DIRECT.GET.{stream}", json.dumps(wanted).encode(), inbox)
                pending, status = 0, None
                while True:
                    message = await self._answer(functools.partial(replies.next_msg, PATIENCE))
                    headers = dict(message.headers or {})
                    # a message that is stored may have a header of that name, too; the server numbers those
                    status = None if "Nats-Sequence" in headers else headers.get("Status")
                    if status is None:
                        found.append(_raw(message.data, headers))
                        continue
                    if status == "503":
                        if await self._is_missing(stream):
                            return  # no machine has joined yet
                        if patience <= 0:
                            raise ServerAway("the leader of the cluster is being elected; try again in a moment")
                        break
                    if status not in ("204", "404"):
                        raise ServerAway(f"the server did not answer: {status} {headers.get('Description', '')}")
                    pending = int(headers.get("Nats-Num-Pending", 0)) if status == "204" else 0
                    break
            finally:
                await _unheard(replies)
            for raw in found:
                yield raw
            if status == "503":  # the stream is just being made, or its leader elected
                patience -= _PAUSE
                await asyncio.sleep(_PAUSE)
            elif not found or not pending:
                return
            place = found[-1].place + 1 if found else place

    async def _is_missing(self, stream: str) -> bool:
        from nats.js.errors import NotFoundError

        try:
            await self._answer(lambda: self._js.stream_info(stream))
        except NotFoundError:
            return True
        return False

    # --- rows and presence ------------------------------------------------------------------------------------

    async def rows(self, machine: str = "*") -> dict[tuple[str, str], dict[str, Any]]:
        """Return every published row of a job (of one machine), by machine and job."""
        return await self._rows_at(subjects.row_key(machine, "*"))

    async def sessions(self, machine: str = "*") -> dict[tuple[str, str], dict[str, Any]]:
        """Return every published row of a session (of one machine), by machine and session."""
        found = await self._rows_at(subjects.row_key(machine, subjects.session_part("*")))
        return {(name, row["jobId"]): row for (name, _), row in found.items()}

    async def _rows_at(self, keys: str) -> dict[tuple[str, str], dict[str, Any]]:
        found = {}
        for key, (data, _) in (await self._bucket(subjects.ROWS, keys)).items():
            where = subjects.split_key(key)
            row = None if where is None else _row_at(where, data)
            if where is not None and row is not None:
                found[where] = row
        return found

    async def rows_after(self, place: int) -> tuple[dict[tuple[str, str], dict[str, Any] | None], int]:
        """Return the rows that are new behind this place of the bucket (None: one is gone), and the last place.

        Those of sessions are among them; see `subjects.session_in`.
        """
        found: dict[tuple[str, str], dict[str, Any] | None] = {}
        prefix = f"$KV.{subjects.ROWS}."
        async for raw in self._read(f"KV_{subjects.ROWS}", f"{prefix}>", place + 1):
            place = max(place, raw.place)
            where = subjects.split_key(raw.subject.removeprefix(prefix))
            if where is not None:
                found[where] = None if _is_gone(raw) else _row_at(where, raw.data)
        return found, place

    async def machines(self) -> dict[str, Machine]:
        """Return every machine of the fleet, by name."""
        present = await self._bucket(subjects.PRESENCE, "*")
        return machines_of(await self._bucket(subjects.MACHINES, "*"), present)

    async def put(self, bucket: str, key: str, value: dict[str, Any]) -> None:
        """Set a key of a bucket."""
        await self._set(bucket, key, values.dump(value, compact=True).encode(), None)

    async def put_row(self, machine: str, job: str, row: dict[str, Any]) -> None:
        """Set the row of a job, or of what stands for a session."""
        await self._set(subjects.ROWS, subjects.row_key(machine, job), row_message(row), None)

    async def delete(self, bucket: str, key: str) -> None:
        """Delete a key of a bucket, and what it was."""
        await self._set(bucket, key, b"", {"KV-Operation": "PURGE"})

    async def _set(self, bucket: str, key: str, data: bytes, headers: dict[str, str] | None) -> None:
        from nats.js.errors import APIError

        try:
            await self._answer(lambda: self._js.publish(f"$KV.{bucket}.{key}", data, headers=headers))
        except APIError as error:
            raise ServerAway(f"the server did not store {bucket}: {error.description}") from None

    async def claim(self, machine: str, value: dict[str, Any]) -> tuple[bool, Machine | None]:
        """Take a name; return whether it is new, and the machine that has it if it is another home's."""
        from nats.js.errors import APIError

        data, subject = values.dump(value, compact=True).encode(), f"$KV.{subjects.MACHINES}.{machine}"
        headers = {"Nats-Expected-Last-Subject-Sequence": "0"}
        try:
            await self._answer(lambda: self._js.publish(subject, data, headers=headers))
            return True, None
        except APIError:
            there = (await self.machines()).get(machine)
        if there is None:  # it was freed, and a free name is still a message of the server's; or a copy lags behind
            await self.put(subjects.MACHINES, machine, value)
            return True, None
        return False, None if there.home == value["home"] else there

    async def forget(self, machine: str) -> None:
        """Remove all that a machine has published, and free its name."""
        from nats.js.errors import APIError

        try:
            await self._answer(lambda: self._js.purge_stream(subjects.EVENTS, subject=subjects.events_of(machine, ">")))
        except APIError as error:
            raise ServerAway(f"the server did not remove the events: {error.description}") from None
        for key in await self._bucket(subjects.ROWS, subjects.row_key(machine, ">")):
            await self.delete(subjects.ROWS, key)
        for bucket in (subjects.PRESENCE, subjects.MACHINES):
            await self.delete(bucket, machine)

    async def _bucket(self, bucket: str, keys: str) -> dict[str, tuple[bytes, str]]:
        found: dict[str, tuple[bytes, str]] = {}
        prefix = f"$KV.{bucket}."
        async for raw in self._read(f"KV_{bucket}", prefix + keys, 1):
            key = raw.subject.removeprefix(prefix)
            if _is_gone(raw):
                found.pop(key, None)
            else:
                found[key] = (raw.data, raw.at)
        return found

    # --- queues -----------------------------------------------------------------------------------------------

    async def prepare_queues(self, *, each: bool = False) -> None:
        """Make the streams and buckets of the queues where they are missing. `each`: look at each of them."""
        from nats.js import api

        if not each and not await self._is_missing(subjects.QUEUE):
            return  # it is made last
        day = 24 * 3600
        common: dict[str, Any] = {"allow_direct": True, "duplicate_window": 120, "max_age": KEPT_DAYS * day}
        file, memory = api.StorageType.FILE, api.StorageType.MEMORY
        live = api.RePublish(src=subjects.ALL_QUEUES, dest=subjects.ALL_QUEUES_LIVE)
        configs = (
            api.StreamConfig(
                name=subjects.TASKS, subjects=[subjects.ALL_TASKS], storage=file, max_msgs_per_subject=1, **common
            ),
            # the word of a living worker is said again every few seconds: it need not survive a server
            api.StreamConfig(
                name=subjects.HOLDS,
                subjects=[subjects.ALL_HOLDS],
                storage=memory,
                max_msgs_per_subject=1,
                **(common | {"max_age": _KEPT_WORDS}),
            ),
            self._patches(),
            self._bucket_of(subjects.WORKERS, BELIEVED),
            self._bucket_of(subjects.OPERATORS, 0.0),
            api.StreamConfig(
                name=subjects.QUEUE,
                subjects=[subjects.ALL_QUEUES],
                storage=file,
                max_msgs_per_subject=_KEPT_CHANGES,
                republish=live,
                **common,
            ),
        )
        for config in configs:
            await self._make(config)

    async def prepare_patches(self) -> None:
        """Make the stream of patches: queues that were made by an older version have none."""
        await self._make(self._patches())

    def _patches(self) -> Any:
        from nats.js import api

        return api.StreamConfig(
            name=subjects.PATCHES,
            subjects=[subjects.ALL_PATCHES],
            storage=api.StorageType.FILE,
            max_msgs_per_subject=1,
            allow_direct=True,
            duplicate_window=120,
            max_age=KEPT_DAYS * 24 * 3600,
            discard=api.DiscardPolicy.NEW,
        )

    async def store(
        self,
        stream: str,
        subject: str,
        data: bytes,
        expected: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> int | None:
        """Store a message; return its place, or None if the last one on its subject is not the one that is expected.

        `expected`: its place (0: none); None: whatever was there.
        """
        from nats.js.errors import APIError

        headers = {_STORED: "1", **(headers or {})}
        if expected is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(expected)
        try:
            made = await self._answer(lambda: self._js.publish(subject, data, stream=stream, headers=headers))
        except APIError as error:
            if error.err_code in _TAKEN:
                return None
            raise ServerAway(f"the server did not store {subject}: {error.description}") from None
        return int(made.seq)

    async def signed(self, queue: str, job: str, data: bytes) -> dict[str, str]:
        """Return the headers by which workers know that an operator wants this task of this job; see `task`.

        Our key is put where workers look for it: only operators can write there.
        """
        if self._credentials is None:
            return {}
        key = nkey.public_key(self._credentials.seed)
        if not await self._is_operator(key):
            await self.put(subjects.OPERATORS, key, {"user": self._credentials.user})
        return {_SIGNED: nkey.signed_text(self._credentials.seed, to_sign(queue, job, data))}

    async def keep_operators(self, keys: Collection[str]) -> list[str]:
        """Have workers run nothing more that others than these have signed; return who that is."""
        others = {key: data for key, (data, _) in (await self._bucket(subjects.OPERATORS, "*")).items()}
        gone = [key for key in others if key not in keys]
        for key in gone:
            await self.delete(subjects.OPERATORS, key)
        return [values.text_of(values.parse(others[key]), "user") for key in gone]

    async def task(self, queue: str, job: str) -> bytes | None:
        """Return what a job is to run; None if there is nothing, or nothing that may be run.

        With credentials only what an operator has signed may be. Without them all have the same rights, but the server
        itself could have been brought to answer there.
        """
        from nats.js.errors import APIError, NotFoundError

        subject = subjects.task_of(queue, job)
        if self._credentials is None:
            raw = await self.newest(subjects.TASKS, subject)
            return raw.data if raw is not None and is_stored(raw) else None
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                found = await self._answer(lambda: self._js.get_msg(subjects.TASKS, subject=subject, direct=True))
                break
            except NotFoundError:  # the copy that answered may lag behind
                if time.monotonic() > deadline:
                    return None
                await asyncio.sleep(_PAUSE)
            except APIError as error:
                raise ServerAway(f"the server did not answer: {error.description}") from None
        data = found.data or b""
        key = nkey.signer(str((found.headers or {}).get(_SIGNED, "")), to_sign(queue, job, data))
        return data if key is not None and await self._is_operator(key) else None

    async def _is_operator(self, key: str) -> bool:
        raw = await self.newest(f"KV_{subjects.OPERATORS}", f"$KV.{subjects.OPERATORS}.{key}")
        return raw is not None and not _is_gone(raw)

    async def newest(self, stream: str, subject: str) -> Raw | None:
        """Return the last message on a subject as the leader of the stream has it; None if there is none."""
        from nats.js.errors import APIError, NotFoundError

        try:
            found = await self._answer(lambda: self._js.get_msg(stream, subject=subject))
        except NotFoundError:
            return None
        except APIError as error:
            if error.err_code == _NO_MESSAGE:
                return None
            raise ServerAway(f"the server did not answer: {error.description}") from None
        return Raw(subject, int(found.seq or 0), "", dict(found.headers or {}), found.data or b"")

    def read(self, stream: str, subject: str, after_place: int = 0) -> AsyncIterator[Raw]:
        """Yield the messages on these subjects behind this place, from any copy, which may lag behind a little."""
        return self._read(stream, subject, after_place + 1)

    async def bucket(self, bucket: str, keys: str = ">") -> dict[str, tuple[bytes, str]]:
        """Return what these keys of a bucket hold, each with the server's time."""
        return await self._bucket(bucket, keys)

    async def told(self, subject: str, take: Callable[[str, int, bytes], None]) -> Callable[[], Awaitable[None]]:
        """Have `take` called with what the server stored on these subjects (subject, place, data); return the end."""

        async def heard(message: Msg) -> None:
            headers = dict(message.headers or {})
            number = headers.get("Nats-Sequence", "")
            if number.isdigit():
                take(headers.get("Nats-Subject", ""), int(number), message.data)

        subscription = await self._hear(subject, heard)
        await self._answer(lambda: self._client.flush(timeout=int(PATIENCE)))
        return functools.partial(_unheard, subscription)

    # --- requests ---------------------------------------------------------------------------------------------

    async def request(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> bytes:
        """Send a request and return the answer."""
        try:
            answer = await self._unless_denied(self._first_answer(subject, data, headers))
        except ServerRefused:
            raise
        except Exception as error:
            raise ServerAway(f"there is no answer ({str(error) or type(error).__name__})") from None
        if (answer.headers or {}).get("Status") == "503":
            raise NoCommandServer("no process takes this request")
        return bytes(answer.data)

    async def _first_answer(self, subject: str, data: bytes, headers: dict[str, str] | None) -> Msg:
        # in a subscription of its own: a server forgets where an answer to another account goes when this has ended
        inbox = self._client.new_inbox()
        replies = await self._client.subscribe(inbox)
        try:
            await self._client.publish(subject, data, reply=inbox, headers=headers)
            return await replies.next_msg(timeout=2 * PATIENCE)
        finally:
            await _unheard(replies)

    async def serve(self, subject: str, take: Callable[[Msg], Awaitable[None]]) -> None:
        """Have `take` called with every message on a subject."""
        await self._hear(subject, take)
        await self._answer(lambda: self._client.flush(timeout=int(PATIENCE)))

    async def ask(self, subject: str, data: bytes) -> Replies:
        """Send a request that is answered by many messages."""
        inbox = self._client.new_inbox()
        replies = await self._hear(inbox)
        await self._say(subject, data, inbox)
        return Replies(replies)

    async def _hear(self, subject: str, take: Callable[[Msg], Awaitable[None]] | None = None) -> Subscription:
        # what comes is bounded by what was asked for, not by the client
        found: Subscription = await self._answer(
            lambda: self._client.subscribe(subject, cb=take, pending_bytes_limit=-1, pending_msgs_limit=-1)
        )
        return found

    async def _say(self, subject: str, data: bytes, reply: str) -> None:
        await self._answer(lambda: self._client.publish(subject, data, reply=reply))

    async def _answer(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Wait for an answer; none, for whatever reason, is ServerAway. What the server refuses is raised as it is."""
        import nats.errors
        from nats.js.errors import APIError, NoStreamResponseError, ServiceUnavailableError

        try:
            async with asyncio.timeout(2 * PATIENCE):
                return await self._unless_denied(call())
        except ServiceUnavailableError as error:
            why = error.description or "a user that was added is known whole after the second reload"
            raise ServerAway(f"the server is not ready: {why}") from None
        except APIError:
            raise
        except NoStreamResponseError:
            raise ServerAway("the server has no fleet yet, or its leader is being elected") from None
        except (TimeoutError, nats.errors.Error, OSError) as error:
            raise ServerAway(f"the server does not answer ({str(error) or type(error).__name__})") from None

    async def _unless_denied(self, call: Awaitable[Any]) -> Any:
        """Wait for an answer, unless the server says that we may not ask: it does not answer the question itself."""
        self._denied.clear()
        task, denied = asyncio.ensure_future(call), asyncio.ensure_future(self._denied.wait())
        try:
            await asyncio.wait({task, denied}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            await end([each for each in (task, denied) if not each.done()])
        raise ServerRefused("the server does not let these credentials do that")


class Heard:
    """`wake` is set when there may be more; `close` ends it.

    The server tells of a message as soon as its leader has it, and the copy that answers a reader may have it later.
    """

    def __init__(self) -> None:
        self.wake = asyncio.Event()
        self.subscription: Subscription | None = None
        self._place = self._tries = 0

    def tell(self, place: str) -> None:
        """Note that the server has told of a message at this place."""
        self._place = max(self._place, int(place) if place.isdigit() else 0)
        self._tries = 0
        self.wake.set()

    async def catch_up(self, place: int) -> bool:
        """Return whether to read at once again, after a moment: what was told of is behind the place that was read.

        What cannot be found for a while has been removed, or was of another store.
        """
        if place >= self._place or self._tries >= _LAG_TRIES:
            self._place = place
            return False
        self._tries += 1
        await asyncio.sleep(_LAG)
        return True

    async def close(self) -> None:
        """Take no more."""
        if self.subscription is not None:
            await _unheard(self.subscription)


class Replies:
    """The messages that answer a request."""

    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    async def next(self, seconds: float) -> Msg | None:
        """Return the next one; None if none came in this time."""
        from nats.errors import TimeoutError as NatsTimeout

        try:
            found: Msg = await self._subscription.next_msg(timeout=seconds)
        except (TimeoutError, NatsTimeout):
            return None
        return found

    async def close(self) -> None:
        """Take no more of them."""
        await _unheard(self._subscription)


async def _unheard(subscription: Subscription) -> None:
    from nats.errors import Error

    try:
        await subscription.unsubscribe()
    except (Error, OSError):
        pass  # the connection is gone, and it with it


def is_stored(newest: Raw) -> bool:
    """Return whether `Connection.store` stored what `Connection.newest` returned, and not the server's answer to
    another.

    The server does not ask whether one who reads a stream may publish on the subject that is named for the answer. Such
    an answer says which stream it is from, or has none of the headers that were stored.
    """
    return _STORED in newest.headers and "Nats-Stream" not in newest.headers


def _row_at(where: tuple[str, str], data: bytes) -> dict[str, Any] | None:
    """The row of this job or session; None if it is another's, or none at all."""
    row, session = read_row(data), subjects.session_in(where[1])
    if row is None or row["jobId"] != (session or where[1]):
        return None
    return row if session is None else row | {"kind": SESSION}


def _is_gone(raw: Raw) -> bool:
    """Whether this is the word that a key was deleted."""
    return raw.headers.get("KV-Operation") in _DELETED or "Nats-Marker-Reason" in raw.headers


def _raw(data: bytes, headers: dict[str, str]) -> Raw:
    number = headers.get("Nats-Sequence", "0")
    at = headers.get("Nats-Time-Stamp", "")[:19]
    return Raw(headers.get("Nats-Subject", ""), int(number), f"{at}Z" if at else "", headers, data)
