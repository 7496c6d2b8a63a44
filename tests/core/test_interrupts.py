"""No press ends a program before that was said, and a program that waits for the next command is never ended."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from unhang.core.interrupts import END, FORGOTTEN, KILL, PASS_ON, PATIENCE, Interrupts

STEPS = st.lists(st.tuples(st.sampled_from(["press", "type", "clock"]), st.floats(0, 100), st.booleans()), max_size=40)


@given(STEPS)
def test_an_end_was_announced_and_a_kill_follows_an_end(steps: list[tuple[str, float, bool]]) -> None:
    presses, now, announced, meant = Interrupts(), 0.0, False, 0
    for what, passed, waits in steps:
        now += passed
        if what == "type":
            presses.forget()
            announced = announced and meant > PASS_ON
        elif what == "clock":
            announced = presses.ask_to_tell(now, waits=waits) or announced
        else:
            before, meant = meant, presses.press(now, waits=waits)
            assert meant in (PASS_ON, END, KILL)
            if meant > PASS_ON:
                assert announced
            if meant == KILL:
                assert before in (END, KILL)
            if before <= PASS_ON and waits:
                assert meant == PASS_ON


def test_three_presses_end_and_kill() -> None:
    presses = Interrupts()
    assert presses.press(0.0, waits=False) == PASS_ON
    assert presses.press(0.1, waits=False) == PASS_ON, "a double tap is not an answer to what was not said yet"
    assert presses.due() == PATIENCE
    assert presses.ask_to_tell(PATIENCE, waits=False)
    assert presses.press(2.0, waits=False) == END
    assert presses.press(3.0, waits=False) == KILL


def test_after_a_long_time_it_is_said_again_first() -> None:
    presses = Interrupts()
    presses.press(0.0, waits=False)
    assert presses.ask_to_tell(PATIENCE, waits=False)
    assert presses.press(FORGOTTEN + 1, waits=False) == PASS_ON
