"""psql and ssh at a terminal, with real servers: no limit runs while they wait for their person, nothing is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.support import servers
from tests.support.desk import Desk
from tests.support.engine import wait_until


def waits_without_a_limit(desk: Desk) -> None:
    """Its keeper says that no limit will end it: they stand still, for a minute as for an hour (test_watchdog.py)."""

    def ends() -> list[object]:
        done = desk.engine.unhang("status", "@last", "--json")
        return [json.loads(done.out)["endsInMs"]] if done.code == 0 else []

    wait_until(lambda: ends() == [None], "the limits stand still", 120)


def used_and_left(desk: Desk, *, typed: str, answer: str, leave: str) -> None:
    waits_without_a_limit(desk)
    desk.enter(typed)
    desk.matches(answer)
    waits_without_a_limit(desk)
    assert "unhang: " not in desk.screen()
    desk.enter(leave)
    desk.is_back()
    assert "unhang: " not in desk.screen()
    events = desk.engine.events()
    assert events[-1]["status"] == "success"
    assert [event for event in events if event["type"] == "watchdog"] == []


def test_psql_is_used_as_without_unhang(desk_of: Callable[..., Desk]) -> None:
    with servers.psql() as psql:
        desk = desk_of()
        desk.run("unhang", "run", "--", *psql)
        desk.sees("postgres=#")
        used_and_left(desk, typed="select 6 * 7 as answer \\g", answer=r"^ +42$", leave="\\q")


def test_ssh_is_used_as_without_unhang(desk_of: Callable[..., Desk]) -> None:
    with servers.ssh() as ssh:
        desk = desk_of()
        far = "PS1='f''ar> ' exec sh -i"  # the command line on the screen is not taken for the prompt
        desk.run("unhang", "run", "--", *ssh, far)
        desk.sees("far>")
        used_and_left(desk, typed="echo $((6 * 7)) is it", answer=r"^42 is it$", leave="exit")
