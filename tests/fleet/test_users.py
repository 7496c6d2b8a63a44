"""`unhang fleet user add`: the server itself refuses what a user may not do: nkeys, TLS, an account for each team."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.support import programs
from tests.support.engine import wait_until
from tests.support.fleet import Machine, Server, wait_for_rows
from tests.support.git_repository import Repository
from tests.support.jobs import STILL
from tests.support.queues import Worker, changes, check_history, jobs_of, submit, wait_for
from unhang.core.fleet.task import Task, to_sign
from unhang.fleet import nkey
from unhang.fleet.connection import Connection, ServerRefused, connect
from unhang.store.session_log import SessionLog

Make = Callable[[str, str], Machine]


class Fleet:
    """A server with TLS that knows only the users of a file, and a machine on which users are made."""

    def __init__(self, folder: Path, machine: Make) -> None:
        self.folder = folder
        self.admin = machine("admin", "")
        del self.admin.env["UNHANG_NATS"]
        self.cert = self._certificate("server")
        self.users = {
            "beta": self._add("worker", "beta", "--queue", "q"),
            "gamma": self._add("worker", "gamma"),
            "viewer": self._add("viewer", "eve"),
            "operator": self._add("operator", "ann"),
            "stranger": self._add("operator", "bob", "--team", "OTHERS"),
        }
        tls = f"tls {{ cert_file: {self.cert}, key_file: {self.cert.with_suffix('.key')} }}"
        self.server = Server(folder, "n0", access=f'\ninclude "users.conf"\n{tls}\n').start().wait()

    def _certificate(self, name: str) -> Path:
        programs.need_command("openssl")
        cert = self.folder / f"{name}.pem"
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=fleet"
        options = [
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            str(cert.with_suffix(".key")),
            "-out",
            str(cert),
        ]
        subprocess.run(["openssl", *words.split(), *options], check=True, capture_output=True)
        return cert

    def _add(self, *words: str) -> str:
        path = self.folder / f"{words[0]}-{words[1]}.creds"
        done = self.admin.call(
            "fleet", "user", "add", *words, "--config", str(self.folder / "users.conf"), "--creds", str(path)
        )
        assert (done.code, done.out.decode().strip()) == (0, str(path)), done.err
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        return str(path)

    def url(self, user: str) -> str:
        return f"tls://127.0.0.1:{self.server.port}?ca={self.cert}&creds={self.users[user]}"


@pytest.fixture
def fleet(tmp_path: Path, machine: Make) -> Iterator[Fleet]:
    made = Fleet(tmp_path, machine)
    yield made
    made.server.kill()


def as_user(url: str, work: Callable[[Connection, Client], Awaitable[None]]) -> None:
    async def run() -> None:
        connection = await connect(url)
        try:
            await work(connection, connection._client)
        finally:
            await connection.close()

    asyncio.run(run())


@pytest.mark.timeout(300)  # many processes, each of which has to start
def test_each_user_can_do_what_it_is_for_and_no_more(fleet: Fleet, machine: Make, tmp_path: Path) -> None:
    # a worker's machine needs what an operator has made
    beta, viewer = machine("beta", fleet.url("beta")), machine("viewer", fleet.url("viewer"))
    assert "does not let these credentials" in beta.refused("fleet", "join", "--machine", "beta")
    operator = machine("operator", fleet.url("operator"))
    assert operator.call("fleet", "prepare").code == 0
    # a stream that was lost is made again by the same command
    as_user(fleet.url("operator"), _lose_a_stream)
    assert operator.call("fleet", "prepare").code == 0
    as_user(fleet.url("operator"), _has_all_streams)
    beta.join().joined()
    job = beta.begin("--stdin", "pipe", "--name", "web", *STILL, "--", "sh", "-c", "echo up; read a; echo got $a; cat")
    wait_for_rows(fleet.url("operator"), {job.id: "running"})
    # the sessions of its machine, too
    SessionLog("s-1", str(beta.home)).append({"type": "watch", "phase": "hung", "message": "hangs"})
    wait_until(lambda: viewer.lines("watch", "--once", "--fleet", "--json"), "a viewer sees its session", 60)
    assert [event["phase"] for event in viewer.lines("watch", "events", "s-1@beta", "--json")] == ["hung"]
    # a viewer sees everything, output too, and changes nothing
    assert [row["jobId"] for row in viewer.said("ps", "--fleet")] == [job.id]
    wait_until(lambda: job.kept() == b"up\n", "it has begun")
    assert viewer.call("logs", "web@beta").out == b"up\n"
    assert viewer.said("status", "web@beta")["status"] == "running"
    for words in (("cancel", "web@beta"), ("send", "web@beta", "no"), ("extend", "web@beta", "--hard", "1h")):
        assert "does not let these credentials" in viewer.refused(*words)
    # an operator may
    assert operator.call("send", "web@beta", "yes").code == 0
    wait_until(lambda: b"got yes" in job.kept(), "the answer arrived")
    # another account is another fleet
    stranger = machine("stranger", fleet.url("stranger"))
    assert stranger.said("fleet", "machines") == []
    # the name of another machine: not even to be taken
    gamma = machine("gamma", fleet.url("gamma"))
    assert "does not let these credentials" in gamma.refused("fleet", "join", "--machine", "beta")
    as_user(fleet.url("gamma"), _forge)
    assert operator.call("cancel", "web@beta").code == 0
    assert job.wait().status == "cancelled"
    # a worker takes jobs of its queue, that an operator starts
    worker = Worker(beta, "q")
    done = operator.call("start", "--fleet", "q", "--wait", "--", "sh", "-c", "exit 7")
    assert done.code == 7, done.err
    # what the job has changed in a checkout is stored by its worker, and a viewer reads it
    where = f"{Repository(tmp_path / 'repository').folder}@main"
    start = ("start", "--fleet", "q", "--wait", "--checkout", where, "--shell", "echo new > new")
    changed = operator.call(*start, timeout=200)
    assert changed.code == 0, changed.err
    assert b"+new" in viewer.call("queue", "patch", changed.out.decode().strip()).out
    worker.end()
    assert "does not let these credentials" in viewer.refused("start", "--fleet", "q", "--", "true")


@pytest.mark.timeout(300)
def test_a_worker_takes_jobs_of_its_queue_alone(fleet: Fleet, machine: Make) -> None:
    operator, beta = machine("operator", fleet.url("operator")), machine("beta", fleet.url("beta"))
    assert operator.call("fleet", "prepare").code == 0
    beta.join().joined()
    line = "echo ran; exec sleep 1000"
    lost = submit(operator, "q", "--on-lost", "retry", "--hold", "1h", *STILL, "--", "sh", "-c", line)
    killed = Worker(beta, "q")
    wait_for(fleet.url("operator"), {lost: "running"})
    # a viewer finds it where it runs, and may not cancel it in its queue
    viewer = machine("viewer", fleet.url("viewer"))
    wait_until(lambda: viewer.call("logs", "--fleet", lost).out == b"ran\n", "it is seen", 60)
    for words in (("queue", "pause", "q"), ("start", "--fleet", "q", "--", "true")):
        assert "does not let these credentials" in viewer.refused(*words)
    # what a dead worker had is found by another: all that is read for it may be read
    other = Worker(beta, "q")
    killed.kill()
    wait_until(lambda: len(changes(fleet.url("operator"))[lost]) >= 4, "it was given back and taken again", 120)
    assert operator.call("queue", "pause", "q").code == 0
    assert operator.call("cancel", "--fleet", lost).code == 0
    wait_for(fleet.url("operator"), {lost: "cancelled"})
    check_history(changes(fleet.url("operator")))
    other.end()
    gamma = machine("gamma", fleet.url("gamma"))
    assert "does not let these credentials" in gamma.refused("worker", "--queue", "q")


async def _lose_a_stream(connection: Connection, _: Client) -> None:
    await connection._js.delete_stream("UNHANG_TASKS")


async def _has_all_streams(connection: Connection, _: Client) -> None:
    assert not await connection._is_missing("UNHANG_TASKS")


async def _forge(connection: Connection, client: Client) -> None:
    """What a worker of another machine might try, each with a client of its own making."""
    js = client.jetstream(timeout=5)
    for subject in (
        "unhang.ev.beta.forged",
        "unhang.ev.beta.session.forged",
        "$KV.unhang_rows.beta.forged",
        "$KV.unhang_rows.beta.session.forged",
        "$KV.unhang_presence.beta",
        "unhang.queue.q.job.forged",
        "unhang.hold.q.forged",
        "unhang.patch.q.forged.1.0",
        "unhang.do.beta",
        "unhang.live.beta.forged",
        "$JS.API.STREAM.PURGE.UNHANG_EVENTS",
        "$JS.API.STREAM.DELETE.UNHANG_EVENTS",
        "_INBOX.viewer-eve.x",
    ):
        with pytest.raises(ServerRefused):
            await connection._answer(partial(client.request, subject, b"{}", timeout=5))
    # a roll-up on its own subject would have removed the rows of all machines
    with pytest.raises(Exception, match="rollup"):
        await js.publish("$KV.unhang_rows.gamma.x", b"{}", headers={"Nats-Rollup": "all"})


@pytest.mark.timeout(300)
def test_a_worker_runs_only_what_an_operator_signed_for_that_very_job(
    fleet: Fleet, machine: Make, tmp_path: Path
) -> None:
    operator, beta = machine("operator", fleet.url("operator")), machine("beta", fleet.url("beta"))
    assert operator.call("fleet", "prepare").code == 0
    ran = tmp_path / "ran"
    sent = [submit(operator, "q", *STILL, "--", "true") for _ in range(4)]
    given = submit(operator, "q", "--priority", "-1", *STILL, "--", "touch", str(ran))
    # another worker of the queue may empty its tasks, and so can write there what it likes
    as_user(fleet.url("beta"), partial(_write_tasks, jobs=sent, given=given, ran=ran))
    beta.join().joined()
    worker = Worker(beta, "q")
    wait_for(fleet.url("operator"), dict.fromkeys(sent, "error") | {given: "success"})
    assert all("signed" in changes(fleet.url("operator"))[job][-1]["why"] for job in sent)
    assert [len(jobs_of(beta, job)) for job in (*sent, given)] == [0, 0, 0, 0, 1]
    # one whose key is not known any more has signed nothing
    late = submit(operator, "q", "--need", "later", *STILL, "--", "true")
    fleet.admin.call("fleet", "user", "remove", "operator", "ann", "--config", str(fleet.folder / "users.conf"))
    said = operator.call("fleet", "prepare", "--config", str(fleet.folder / "users.conf"))
    assert (said.code, b"operator-ann" in said.err) == (0, True)
    worker.end()
    worker = Worker(beta, "q", "--label", "later")
    wait_for(fleet.url("operator"), {late: "error"})
    worker.end()


async def _write_tasks(connection: Connection, client: Client, *, jobs: list[str], given: str, ran: Path) -> None:
    """Unsigned, signed by oneself, with a signature of nothing, and what an operator signed for another job."""
    js, api = client.jetstream(timeout=60, prefix=connection._api), connection._api
    task = Task(["touch", f"{ran}.forged"], None, "/", {}, {}, {}).to_bytes()
    answer = await client.request(f"{api}.DIRECT.GET.UNHANG_TASKS.unhang.task.q.{given}", b"", timeout=60)
    of_another = dict(answer.headers or {})["Unhang-Signed"]
    assert connection._credentials is not None
    own = nkey.signed_text(connection._credentials.seed, to_sign("q", jobs[1], task))
    for job, data, signed in zip(
        jobs, (task, task, task, answer.data), ("", own, of_another.split()[0] + " AAAA", of_another), strict=True
    ):
        await js.publish(f"unhang.task.q.{job}", data, headers={"Unhang-Stored": "1", "Unhang-Signed": signed})


@pytest.mark.timeout(300)
def test_a_wrong_key_or_another_authority_is_refused(fleet: Fleet, machine: Make) -> None:
    other = fleet._certificate("other")
    wrong = json.loads(Path(fleet.users["viewer"]).read_text())
    wrong["seed"] = json.loads(Path(fleet._add("viewer", "unknown")).read_text())["seed"]  # not loaded by the server
    path = fleet.folder / "wrong.creds"
    path.write_text(json.dumps(wrong))
    viewer = machine("viewer", f"tls://127.0.0.1:{fleet.server.port}")
    viewer.env |= {"UNHANG_NATS_CA": str(fleet.cert), "UNHANG_NATS_CREDS": str(path)}
    assert "refused these credentials" in viewer.refused("ps", "--fleet")
    viewer.env["UNHANG_NATS_CREDS"] = fleet.users["viewer"]
    viewer.env["UNHANG_NATS_CA"] = str(other)
    assert "certificate" in viewer.refused("ps", "--fleet")
    os.truncate(path, 0)
    viewer.env |= {"UNHANG_NATS_CA": str(fleet.cert), "UNHANG_NATS_CREDS": str(path)}
    assert "no credentials" in viewer.refused("ps", "--fleet", code=2)


def test_users_are_listed_and_removed_and_no_file_is_overwritten(tmp_path: Path, machine: Make) -> None:
    admin = machine("admin", "")
    config = ("--config", str(tmp_path / "users.conf"))
    creds = ("--creds", str(tmp_path / "w.creds"))
    assert admin.call("fleet", "user", "add", "worker", "beta", *config, *creds).code == 0
    assert "overwritten" in admin.refused("fleet", "user", "add", "viewer", "eve", *config, *creds, code=2)
    assert "already" in admin.refused("fleet", "user", "add", "worker", "beta", *config, code=2)
    assert "only a worker" in admin.refused("fleet", "user", "add", "viewer", "x", "--queue", "q", *config, code=2)
    assert "not a name" in admin.refused("fleet", "user", "add", "worker", "a.>", *config, code=2)
    listed = admin.call("fleet", "user", "list", *config).out.decode().splitlines()
    assert [line.split()[:2] for line in listed[1:]] == [["UNHANG", "worker-beta"]]
    assert admin.call("fleet", "user", "remove", "worker", "beta", *config).code == 0
    assert len(admin.call("fleet", "user", "list", *config).out.splitlines()) == 1
