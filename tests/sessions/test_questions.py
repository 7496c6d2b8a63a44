"""Questions of a session, from the watcher that sees them to the receiver of an alert: each is told, and once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.alerts import Receiver, end_deliverers, rules
from tests.support.engine import wait_until
from tests.support.sessions.harness import QUICK, Place, need_tmux
from unhang.store.session_log import SessionLog


@pytest.fixture
def receiver(place: Place, tmp_path: Path) -> Iterator[Receiver]:
    made = Receiver()
    (tmp_path / "alerts.toml").write_text(rules(made.url, "needs_input", "recovered", "gave_up"))
    place.env["UNHANG_ALERTS"] = str(tmp_path / "alerts.toml")
    yield made
    end_deliverers(place.home)
    made.close()


def test_every_question_of_a_session_is_told_and_its_answer(place: Place, receiver: Receiver) -> None:
    need_tmux()
    seen = place.standin()
    watcher = place.watch(*QUICK)
    watcher.until("found", seen.session)
    seen.set_status("waiting", waitingFor="permission prompt")
    wait_until(lambda: receiver.kinds() == [["needs_input"]], "the first question is told")
    (told,) = receiver.values()[0]["alerts"]
    assert (told["sessionId"], "permission prompt" in told["what"]) == (seen.session, True)
    seen.set_status("busy")
    wait_until(lambda: receiver.kinds()[1:] == [["recovered"]], "its answer, too")
    seen.set_status("waiting", waitingFor="permission prompt")
    wait_until(lambda: receiver.kinds()[2:] == [["needs_input"]], "and the second one, at once")
    watcher.end()
    # a watcher that begins anew meets the same question, and then another one
    again = place.watch(*QUICK)
    again.until("waiting", seen.session)
    seen.set_status("waiting", waitingFor="dialog open")
    wait_until(lambda: receiver.kinds()[3:] == [["needs_input"]], "the one that came while nothing was seen between")
    assert "dialog open" in receiver.values()[3]["alerts"][0]["what"]
    marked = [event.get("askedAtMs") for event in SessionLog(seen.session, str(place.home)).events()]
    assert len(set(filter(None, marked))) == 3, json.dumps(marked)


def test_that_nothing_more_can_be_done_for_a_session_is_told(place: Place, receiver: Receiver) -> None:
    seen = place.standin("deaf")
    watcher = place.watch(*QUICK)
    watcher.until("found", seen.session)
    seen.hangs()
    watcher.until("gave_up", seen.session)
    wait_until(lambda: receiver.kinds() == [["gave_up"]], "it is told")
    assert receiver.values()[0]["alerts"][0]["sessionId"] == seen.session
