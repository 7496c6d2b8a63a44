"""A key for one pane reaches no other, and a person who types through a client in control mode is seen."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.engine import wait_until
from tests.support.sessions.harness import QUICK, Place
from unhang.sessions.tmux.client import Address, Tmux


def synchronize(place: Place, pane: str, value: str) -> None:
    place.tmux("set-option", "-w", "-t", pane, "synchronize-panes", value)


def test_while_panes_are_synchronized_no_key_is_sent_and_the_person_is_told(place: Place) -> None:
    seen = place.standin()
    beside = place.standin(beside=seen.pane)
    synchronize(place, seen.pane, "on")
    seen.hangs()
    watcher = place.watch("--session", seen.session, *QUICK)
    held = watcher.until("held")
    assert "synchronize-panes" in held["reason"]
    assert seen.typed() == beside.typed() == b""
    synchronize(place, seen.pane, "off")
    watcher.until("recovered")
    assert seen.typed() == b"\x1b"
    assert beside.typed() == b""


def test_tmux_itself_refuses_a_key_once_panes_are_synchronized(place: Place) -> None:
    """As if it had been switched on after the last look."""
    seen = place.standin()
    tmux, address = Tmux(), Address(str(place.socket()), place.server_pid(), seen.pane)
    pane_pid = tmux.look(address).pane_pid
    synchronize(place, seen.pane, "on")
    assert tmux.send(address, pane_pid, "a"), "there is no pane beside it"
    beside = place.standin(beside=seen.pane)
    assert tmux.look(address).synchronized
    assert not tmux.send(address, pane_pid, "b")
    synchronize(place, seen.pane, "off")
    assert tmux.send(address, pane_pid, "c")
    wait_until(lambda: seen.typed() == b"ac", "both allowed keys have come, and no other")
    assert beside.typed() == b""


@contextmanager
def typing_in_control_mode(place: Place, pane: str) -> Iterator[threading.Event]:
    """A client as iTerm2 is one: it types by commands. It rests while the event is set."""
    client = subprocess.Popen(
        ["tmux", "-S", str(place.socket()), "-C", "attach"],
        env=place.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    rests, over = threading.Event(), threading.Event()

    def type_on() -> None:
        assert client.stdin is not None
        while not over.wait(0.2):
            if not rests.is_set():
                client.stdin.write(f"send-keys -t {pane} -l x\n".encode())
                client.stdin.flush()

    hand = threading.Thread(target=type_on, daemon=True)
    try:
        wait_until(lambda: place.tmux("list-clients"), "the client is attached")
        hand.start()
        yield rests
    finally:
        over.set()
        hand.join()
        client.terminate()
        client.communicate()


def test_typing_through_a_client_in_control_mode_holds_everything_back(place: Place) -> None:
    seen = place.standin()
    with typing_in_control_mode(place, seen.pane) as rests:
        wait_until(seen.typed, "the hand types")
        watcher = place.watch(*QUICK[:-1], "1")
        seen.hangs()
        assert "typing" in watcher.until("held")["reason"]
        assert b"\x1b" not in seen.typed()
        rests.set()
        watcher.until("recovered")
        assert seen.typed().strip(b"x") == b"\x1b"
