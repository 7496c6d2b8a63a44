"""Looks that take long: one at a time, and so rarely that they cost little; waiting costs nothing."""

from __future__ import annotations

import threading
import time

from tests.support.jobs import wait_until
from unhang.jobs.slow_look import SlowLook


def found(look: SlowLook) -> object:
    return wait_until(lambda: look.take(0.0), "what it found")


def test_a_look_that_waited_for_an_answer_is_soon_due_again() -> None:
    look = SlowLook()
    look.begin(lambda: threading.Event().wait(0.5) or "found")
    assert look.under_way
    assert not look.due
    assert found(look) == "found"
    assert wait_until(lambda: look.due, "the next one")


def test_the_rest_is_long_behind_a_look_that_used_the_processor() -> None:
    def work() -> str:
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
        return "found"

    look = SlowLook()
    look.begin(work)
    assert found(look) == "found"
    assert not look.under_way
    assert not look.due


def test_a_look_that_fails_is_made_again() -> None:
    def fail() -> None:
        raise OSError

    look = SlowLook()
    look.begin(fail)
    wait_until(lambda: look.take(0.0) is None and not look.under_way, "its end")
    assert wait_until(lambda: look.due, "the next one")
