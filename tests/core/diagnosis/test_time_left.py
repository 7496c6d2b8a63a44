"""A diagnosis that is shown later says what is left then, and does not repeat what was left when it was made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_logs import stamp
from unhang.core import events as ev
from unhang.core.attention import attention_of
from unhang.core.diagnosis.time_left import at_age, ends_at, for_time, in_ms, in_time, quiet_words, words_at
from unhang.core.diagnosis.waits import NEVER, for_timer
from unhang.core.view import View

NOW = 1_800_000_000.0


def _asleep(seconds: float) -> dict[str, Any]:
    reason = f"sleep [7] {for_timer(seconds).text}"
    evidence = {"pid": 7, "endsInMs": in_ms(seconds)}
    return {"state": "alive", "cause": "timer", "reason": reason, "evidence": evidence, "processes": []}


def _view(*events: ev.Event) -> View:
    view = View()
    for event in (ev.started(7, "sleep", {}), *events):
        view.apply(event | {"ts": stamp(NOW)})
    return view


@given(seconds=st.floats(0.002, NEVER), age=st.floats(0, NEVER))
def test_every_age_has_its_own_number(seconds: float, age: float) -> None:
    shown = at_age(_asleep(seconds), age)
    left = in_ms(seconds) / 1000 - age
    assert shown["evidence"]["endsInMs"] == max(0, in_ms(left))
    assert (in_time(left) if left > 0 else "(due ") in shown["reason"]
    assert "in" not in at_age(_asleep(seconds), None)["reason"].split()


def test_a_running_job_counts_down_and_an_ended_one_does_not() -> None:
    view = _view(ev.watchdog("stuck", "", stallMs=1, diagnosis=_asleep(600.0)))
    assert view.reason_at(NOW).endswith(" in 10m")
    assert view.reason_at(NOW + 60).endswith(" in 9m")
    assert (view.diagnosis_at(NOW + 660) or {})["evidence"]["endsInMs"] == 0
    view.apply(ev.exited("failed", "", {"status": "error"}) | {"ts": stamp(NOW + 61)})
    assert view.reason_at(NOW + 90).endswith(" in 10m")


def test_what_needs_a_person_counts_down() -> None:
    view = _view(ev.watchdog("warning", "", willAbortInMs=1000, reason="exec_timeout", diagnosis=_asleep(600.0)))
    for now, words in ((NOW + 60, " in 9m"), (None, "wakes by itself")):
        found = attention_of(view, {}, "web", now)
        assert found is not None
        assert found.why.endswith(words)


@pytest.mark.parametrize("asked", [True, False])
def test_a_tree_that_moves_again_waits_for_no_timer(asked: bool) -> None:
    more = ev.watchdog("extended", "", willAbortInMs=1000, reason="moves", tier="idle", asked=asked)
    view = _view(ev.watchdog("stuck", "", stallMs=1, diagnosis=_asleep(600.0)), more)
    assert view.cause == ("timer" if asked else None)


def _without_words(seconds: float) -> dict[str, Any]:
    reason = f"Codex has had nothing from the model {for_time(seconds)}"
    evidence = {"silentMs": in_ms(seconds)}
    return {"state": "hung", "cause": "network", "reason": reason, "evidence": evidence, "processes": []}


def test_a_silence_grows_while_it_lasts_and_not_after_the_end() -> None:
    view = _view(ev.watchdog("stuck", "", stallMs=1, diagnosis=_without_words(60.0)))
    assert view.reason_at(NOW).endswith(" for 1m")
    assert view.reason_at(NOW + 780).endswith(" for 14m")
    assert (view.diagnosis_at(NOW + 780) or {})["evidence"] == {"silentMs": 840_000}
    assert view.reason_at(None) == "Codex has had nothing from the model"
    view.apply(ev.exited("failed", "", {"status": "error"}) | {"ts": stamp(NOW + 61)})
    assert view.reason_at(NOW + 90).endswith(" for 1m")


@pytest.mark.parametrize(("received", "later"), [(0, ", not one byte received"), (77, ", and silent")])
def test_how_long_a_peer_was_silent_is_said_of_the_moment_of_the_look_alone(received: int, later: str) -> None:
    peer = {"remote": "10.0.0.7:443", "state": "ESTABLISHED", "received": received, "sent": 1, "sinceReceiveMs": 6812}
    begin = "curl [7] waits for 10.0.0.7:443, connected"
    reason = begin + quiet_words(received, 6812)
    made = {"state": "unsure", "cause": "network", "reason": reason, "evidence": {"pid": 7, "socket": peer}}
    assert "6.8s" in reason
    assert at_age(made, 0.5)["reason"] == reason
    for age in (1.0, 3600.0, None):
        assert at_age(made, age)["reason"] == begin + later
    assert at_age(made, 60.0)["evidence"] == made["evidence"], "what was measured stays"


@given(seconds=st.floats(0.002, NEVER), age=st.floats(0, NEVER))
def test_a_surface_that_lets_the_time_run_on_writes_what_a_list_of_that_moment_says(seconds: float, age: float) -> None:
    asleep = _asleep(seconds)
    ends = ends_at(asleep, 0.0)
    assert ends is not None
    assert f"{at_age(asleep, None)['reason']} {words_at(ends, age)}" == at_age(asleep, age)["reason"]
    assert ends_at(asleep | {"reason": asleep["reason"] + ", and more"}, 0.0) is None
    assert ends_at(_asleep(1.0) | {"evidence": {}}, 0.0) is None
