"""`ps --fleet`, `status`, the page and `top` say the same of local and fleet jobs; buttons act at the owner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.engine import wait_until
from tests.support.fleet import Machine, Server
from tests.support.jobs import STILL
from tests.support.pilot import PATIENCE, until
from tests.support.queues import Worker, running_on, states, submit, wait_for
from tests.support.streams import SESSIONS, put_sessions
from tests.support.web.server import WebServer
from unhang.core.overview_line import name_of_entry
from unhang.faces.top.app import TopApp
from unhang.fleet.link import FleetLink
from unhang.jobs.overview import Overview
from unhang.store.session_log import SessionLog

Make = Callable[[str, str], Machine]
# What moves on by itself between two looks (the usual time of a command also when others of it end), and what is told
# of a job of another machine only.
_MOVING = ("usualMs", "usage", "ports", "spark", "bytes", "lastActivityAt", "clocks", "seq", "id", "machine")


@pytest.fixture
def serve() -> Iterator[Callable[[Machine], WebServer]]:
    """Makes pages over a fleet, seen from a machine."""
    made: list[WebServer] = []

    def make(machine: Machine) -> WebServer:
        made.append(WebServer(machine, "--fleet"))
        return made[-1]

    yield make
    for each in made:
        each.end()


def entries(web: WebServer) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in web.get("/api/overview").json["entries"]}


def lasting(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in _MOVING}


def own_entries(machine: Machine) -> dict[str, dict[str, Any]]:
    with Overview(str(machine.home)) as overview:
        overview.refresh()
        return overview.snapshot().entries


def drive(machine: Machine, story: Callable[[TopApp, Pilot[None]], Awaitable[None]]) -> None:
    link = FleetLink(machine.url)

    async def play() -> None:
        app = TopApp(str(machine.home), fleet=link)
        async with app.run_test(size=(140, 40)) as pilot:
            await story(app, pilot)

    try:
        asyncio.run(play())
    finally:
        link.close()


def rows_of(app: TopApp) -> dict[str, str]:
    found = [[str(cell) for cell in app.table.get_row_at(at)] for at in range(app.table.row_count)]
    return {row[1]: row[2] for row in found}


@pytest.mark.timeout(300)  # many processes, each of which has to start
def test_every_surface_says_the_same_of_local_and_fleet_jobs(
    server: Server, machine: Make, serve: Callable[[Machine], WebServer]
) -> None:
    alpha, beta = (machine(name, server.url).join().joined() for name in ("alpha", "beta"))
    made = {
        "near": alpha.begin("--name", "near", *STILL, "--", "sleep", "1000"),
        "far": beta.begin("--name", "far", *STILL, "--", "sleep", "1000"),
        "asks": beta.begin(
            "--name", "asks", *STILL, "--stdin", "pipe", "--", "sh", "-c", 'printf "Name? "; read x; echo "<$x>"'
        ),
        "well": alpha.begin("--name", "well", "--", "true"),
        "badly": beta.begin("--name", "badly", "--label", "k=v", "--", "sh", "-c", "echo out; exit 3"),
    }
    for name in ("well", "badly"):
        made[name].wait()
    wait_until(lambda: beta.said("needs"), "the prompt is noticed")
    web = serve(alpha)
    owners = {name: alpha if name in ("near", "well") else beta for name in made}
    ids = {name: job.id if owners[name] is alpha else f"{job.id}@beta" for name, job in made.items()}

    def wanted() -> dict[str, dict[str, Any]]:
        known = {each.name: own_entries(each) for each in (alpha, beta)}
        return {ids[name]: lasting(known[owners[name].name][job.id]) for name, job in made.items()}

    def shown() -> dict[str, dict[str, Any]]:
        found = {each: lasting(entry) for each, entry in entries(web).items()}
        for entry in found.values():  # the command to type names the machine
            if entry["attention"]:
                assert "asks@beta" in entry["attention"]["command"]
                entry["attention"] |= {"command": entry["attention"]["command"].replace("asks@beta", "asks")}
        return found

    def differences() -> list[Any]:
        there, here = shown(), wanted()
        fields = [(each, name) for each in here for name in here[each]]
        found = [(*at, there.get(at[0], {}).get(at[1]), here[at[0]][at[1]]) for at in fields]
        return [*(there.keys() ^ here.keys()), *(each for each in found if each[2] != each[3])]

    try:
        wait_until(lambda: not differences(), "the page shows what each machine itself shows", PATIENCE)
    except TimeoutError:
        pytest.fail(f"{differences()}")
    page = entries(web)
    listed = {(row["machine"], row["jobId"]): row for row in alpha.said("ps", "--fleet", "--all")}
    for name, job in made.items():
        entry, row = page[ids[name]], listed[owners[name].name, job.id]
        status = alpha.said("status", f"{job.id}@{owners[name].name}")
        assert entry["machine"] == owners[name].name
        for field in ("status", "phase", "name", "cwd", "exitCode", "endedAt"):
            assert entry[field] == row[field] == status[field], (name, field)
        needs = [found and (found["kind"], found["why"]) for found in (entry["attention"], row["needs"])]
        assert needs[0] == needs[1]
        # the parts of its page are those that its own machine shows
        got = web.get(f"/api/jobs/{ids[name]}").json
        assert (got["jobId"], got["status"], got["stdout"]) == (job.id, status["status"], status["stdout"])
        assert web.get(f"/api/jobs/{ids[name]}/events").json == job.events()
        assert "".join(text for _, text, _ in web.get(f"/api/jobs/{ids[name]}/rows").json["rows"]) == "".join(
            job.result().stdout.splitlines() if job.ended() else job.kept().decode().splitlines()
        )
    assert [each["state"] for each in web.get("/api/overview").json["machines"]] == ["online", "online"]

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        drawn = {
            name_of_entry(entry) + ("@beta" if "@" in each else ""): entry["state"] for each, entry in page.items()
        }
        await until(pilot, lambda: rows_of(app) == drawn)
        # keys act at the owner: an answer, and the end of what is under the cursor
        app.table.move_cursor(row=0)
        assert app.selected == ids["asks"]
        await pilot.press("a", *"Ada", "enter")
        await until(pilot, made["asks"].ended)
        await until(pilot, lambda: rows_of(app)["asks@beta"] == "done")

    drive(alpha, story)
    assert made["asks"].result().stdout == "Name? <Ada>\n"
    # buttons, too
    assert web.post(f"/api/jobs/{ids['far']}/extend", {"hard": "1h"}).json == {"jobId": ids["far"]}
    assert any(event["phase"] == "extended" for event in made["far"].events())
    assert web.get(f"/api/jobs/{ids['far']}/tree").json["state"] in ("hung", "alive", "unsure")
    web.post(f"/api/jobs/{ids['far']}/cancel", {})
    assert made["far"].wait().status == "cancelled"
    wait_until(lambda: entries(web)[ids["far"]]["status"] == "cancelled", "the page has heard of it", PATIENCE)
    # a machine that is gone: what ran is unknown, what ended has ended
    last = beta.begin("--name", "last", *STILL, "--", "sleep", "1000")
    wait_until(lambda: f"{last.id}@beta" in entries(web), "it is shown", PATIENCE)
    assert beta.stop_publisher() == 0
    wait_until(lambda: entries(web)[f"{last.id}@beta"]["status"] == "unknown", "it is unknown", PATIENCE)
    found = entries(web)
    entry = found[f"{last.id}@beta"]
    assert (entry["phase"], entry["group"], entry["endedAt"], entry["attention"]) == ("unknown", "unknown", None, None)
    assert found[ids["badly"]]["status"] == "error"
    got = web.get("/api/overview").json
    assert got["counts"]["running"] == 1
    assert {each["machine"]: each["state"] for each in got["machines"]} == {"alpha": "online", "beta": "offline"}
    assert web.get(f"/api/jobs/{last.id}@beta").json["status"] == "unknown"


@pytest.mark.timeout(300)
def test_every_surface_says_the_same_of_local_and_fleet_sessions(
    server: Server, machine: Make, serve: Callable[[Machine], WebServer]
) -> None:
    alpha, beta = (machine(name, server.url).join().joined() for name in ("alpha", "beta"))
    put_sessions(str(beta.home))
    near = SessionLog("near-1", str(alpha.home))
    near.append({"type": "hook", "phase": "tool", "toolUseId": "t", "message": "Bash: make", "cwd": "/srv/near-1"})
    secret = SessionLog("busy-1", str(beta.home))
    secret.append({"type": "hook", "phase": "tool", "toolUseId": "u", "message": "Bash: deploy --token=abcdefgh"})
    needy = SessionLog("waits-1", str(beta.home))
    needy.append({"type": "hook", "phase": "waiting", "message": "permit Bash", "pane": "%3"})
    web = serve(alpha)

    def wanted() -> dict[str, dict[str, Any]]:
        found = {f"{each}@beta": lasting(entry) for each, entry in own_entries(beta).items()}
        for entry in found.values():
            if entry["attention"]:  # its pane is of another machine
                entry["attention"] |= {"command": ""}
        return found | {each: lasting(entry) for each, entry in own_entries(alpha).items()}

    def shown() -> dict[str, dict[str, Any]]:
        return {each: lasting(entry) for each, entry in entries(web).items()}

    wait_until(lambda: shown() == wanted(), "the page shows what each machine itself shows", PATIENCE)
    page = entries(web)
    assert {each: entry["state"] for each, entry in page.items()} == {"near-1": "busy"} | {
        f"{name}@beta": state for name, state, _, _ in SESSIONS
    }
    assert own_entries(beta)["waits-1"]["attention"]["command"]
    assert {entry["kind"] for entry in page.values()} == {"session"}
    assert {each: entry["machine"] for each, entry in page.items() if "@" not in each} == {"near-1": "alpha"}
    # `watch --once --fleet` has those that have not ended
    listed = {each["sessionId"]: each for each in alpha.lines("watch", "--once", "--fleet", "--json")}
    assert len(listed) == 7
    for session, each in listed.items():
        entry = page[session if each["machine"] == "alpha" else f"{session}@beta"]
        for field in ("machine", "status", "state", "cwd", "pid", "startedAt", "attention", "doing"):
            assert each[field] == entry[field], (session, field)
        assert each["calls"] == entry["agent"]["calls"]
    # they are no jobs
    assert alpha.said("ps", "--fleet", "--all") == []
    assert web.get("/api/jobs/busy-1@beta").status == 404
    # the page of one: what the server has of it, and of this machine's what its files say
    got, there = web.get("/api/sessions/busy-1@beta").json, secret.read()
    assert (lasting(got["entry"]), got["saved"]) == (lasting(page["busy-1@beta"]), None)
    assert [event["seq"] for event in got["events"]] == [event["seq"] for event in there]
    assert got["events"][-1]["message"] == got["entry"]["doing"] == "Bash: deploy --token=***"
    assert web.get("/api/sessions/hung-1@beta").json["steps"][-1]["phase"] == "hung"
    for name in ("near-1", "near-1@alpha"):
        assert web.get(f"/api/sessions/{name}").json["events"] == near.read()
    assert [web.get(f"/api/sessions/{name}").status for name in ("none-1@beta", "busy-1@none", "busy-1")] == [404] * 3

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        drawn = {
            name_of_entry(entry) + ("@beta" if "@" in each else ""): entry["state"] for each, entry in page.items()
        }
        await until(pilot, lambda: rows_of(app) == drawn)

    drive(alpha, story)
    # a machine that is gone: what went on is unknown, what ended has ended
    assert beta.stop_publisher() == 0
    wait_until(lambda: entries(web)["busy-1@beta"]["status"] == "unknown", "it is unknown", PATIENCE)
    found = entries(web)
    gone = {each: entry["status"] for each, entry in found.items() if "@" in each}
    assert {each for each, status in gone.items() if status != "unknown"} == {"over-1@beta", "gone-1@beta"}
    assert all(found[each]["endedAt"] is None for each, status in gone.items() if status == "unknown")
    assert not any(found[each]["attention"] for each in gone)
    assert (found["over-1@beta"]["status"], found["near-1"]["status"]) == ("success", "running")
    assert web.get("/api/sessions/busy-1@beta").json["entry"]["status"] == "unknown"


@pytest.mark.timeout(300)
def test_a_job_that_waits_in_a_queue_is_on_the_page_and_the_screen_with_its_place_and_reason(
    server: Server, machine: Make, serve: Callable[[Machine], WebServer]
) -> None:
    alpha = machine("alpha", server.url).join().joined()
    first = submit(alpha, "q", "--name", "first", "--need", "gpu", *STILL, "--", "true")
    second = submit(alpha, "q", "--name", "second", *STILL, "--", "true")
    ids = [f"{job}@queue.q" for job in (first, second)]
    web = serve(alpha)
    wait_until(lambda: set(ids) <= set(entries(web)), "they are on the page", PATIENCE)
    found, listed = entries(web), {row["jobId"]: row for row in alpha.said("ps", "--fleet")}
    for job, each in zip((first, second), ids, strict=True):
        entry = found[each]
        assert (entry["group"], entry["state"], entry["machine"]) == ("queued", "queued", None)
        # the same as `ps` says: since when, at which place, and why
        assert (entry["startedAt"], entry["doing"]) == (listed[job]["createdAt"], listed[job]["why"])
        shown = web.get(f"/api/jobs/{each}").json
        assert (shown["status"], shown["place"], shown["why"]) == ("queued", listed[job]["place"], listed[job]["why"])
        assert web.get(f"/api/jobs/{each}/events?after=0").json == []
    assert web.get("/api/overview").json["counts"]["running"] == 0

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: {"first@queue.q", "second@queue.q"} <= set(rows_of(app)))
        assert rows_of(app)["first@queue.q"] == "queued"

    drive(alpha, story)
    # a button of the page takes it out of its queue; what a worker takes leaves the list of those that wait
    assert web.post(f"/api/jobs/{ids[0]}/cancel", {}).status == 200
    wait_for(server.url, {first: "cancelled"})
    worker = Worker(alpha, "q")
    wait_for(server.url, {second: "success"})
    wait_until(lambda: not set(ids) & set(entries(web)), "they wait no more", PATIENCE)
    # what a dead worker has left is taken out, too, when the worker is known to be dead: no other runs it again
    lost = submit(alpha, "q", "--on-lost", "retry", "--hold", "1h", *STILL, "--", "sleep", "1000")
    wait_for(server.url, {lost: "running"})
    running_on(alpha, lost)
    worker.kill()
    wait_until(lambda: f"{lost}@queue.q" in entries(web), "it waits for another worker", PATIENCE)

    def cancelled() -> bool:
        web.post(f"/api/jobs/{lost}@queue.q/cancel", {})
        return states(server.url)[lost] == "cancelled"

    wait_until(cancelled, "it is not run again", PATIENCE)
