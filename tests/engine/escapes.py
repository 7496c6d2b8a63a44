"""The ways out of a tree that processes know, each as a scenario. Plain Python: the unprivileged run uses it too.

Run as a program it plays all of them at once and prints one JSON line a play: `python -m tests.engine.escapes FOLDER`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from tests.engine.harness import Engine, actor, hears_signals

TIMEOUT, CANCEL = "timeout", "cancel"


class Escape(NamedTuple):
    name: str
    actor: str
    words: tuple[str, ...] = ()
    waits_for: tuple[tuple[str, int], ...] = (("leader", 1), ("member", 1))
    mode: str = "hard"
    through: tuple[str, ...] = ()  # what starts the actor


ESCAPES = [
    Escape("ignores every signal", "ignore_term", waits_for=(("leader", 1),)),
    Escape("setsid", "setsid_child"),
    Escape("double fork", "double_fork"),
    Escape("own process group", "own_group"),
    Escape("stopped", "stopped", mode="soft"),
    Escape("stopped and ignoring", "stopped", ("ignore",)),
    Escape("forking while being killed", "forker", waits_for=(("leader", 1), ("full", 1))),
    Escape("nested subreaper", "nested_subreaper", waits_for=(("leader", 1), ("member", 2))),
    Escape(
        "nohup",
        "ignore_term",
        waits_for=(("leader", 1),),
        through=("sh", "-c", 'nohup "$@" 2>/dev/null & wait', "sh"),
    ),
    Escape("empty environment", "env_cleared"),
    Escape("child of a thread", "threaded"),
    Escape("respawning", "respawner"),
    Escape("a thousand", "tree_of_n", ("1000",), waits_for=(("complete", 1),)),
]


class Played(NamedTuple):
    code: int
    result: dict[str, Any]
    empty: bool  # nobody who called, and no child of theirs, was left the moment unhang had returned


def play(engine: Engine, escape: Escape, how: str, *options: object) -> Played:
    """Build the tree, then let the idle limit or a SIGTERM to `unhang run` end it."""
    with engine.roll() as roll:
        limits = ("--idle", "1", "--warn", "0") if how == TIMEOUT else ("--idle", "off")
        command = [*escape.through, *actor(escape.actor, roll.path, *escape.words)]
        running = engine.start(
            "--json", *limits, "--hard", "100", "--grace", "0.2", "--liveness", "output", *options, "--", *command
        )
        for name, count in escape.waits_for:
            roll.wait_for(name, count)
        if how == CANCEL:
            hears_signals(running)
            running.send_signal(signal.SIGTERM)
        done = engine.finish(running)
        return Played(done.code, done.result, roll.is_empty())


def verdict(escape: Escape, how: str, played: Played) -> list[str]:
    """What is wrong with it; nothing: the tree was ended whole, and the report says so."""
    status, code, error = ("timeout", 124, "EIDLE") if how == TIMEOUT else ("cancelled", 143, "ECANCELED")
    result = played.result
    expected = {
        "nobody left": (True, played.empty),
        "exit code": (code, played.code),
        "status": (status, result["status"]),
        "error.code": (error, (result["error"] or {}).get("code")),
        "terminationMode": (escape.mode, result["terminationMode"]),
        "survivors": ([], (result["error"] or {}).get("survivors")),
    }
    return [f"{what}: {is_} instead of {should}" for what, (should, is_) in expected.items() if is_ != should]


def main() -> None:
    folder = Path(sys.argv[1])
    lock = threading.Lock()

    def one(number: int, escape: Escape, how: str) -> None:
        place = folder / str(number)
        place.mkdir()
        try:
            problems = verdict(escape, how, play(Engine(place), escape, how))
        except Exception as error:
            problems = [repr(error)]
        with lock:
            print(json.dumps({"escape": escape.name, "how": how, "uid": os.getuid(), "problems": problems}), flush=True)

    plays = [(escape, how) for escape in ESCAPES for how in (TIMEOUT, CANCEL)]
    threads = [threading.Thread(target=one, args=(i, *play)) for i, play in enumerate(plays)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
