"""The ways out of a tree that processes know, each as a scenario. Plain Python: the unprivileged run uses it too.

Run as a program it plays all of them and prints what went wrong as JSON: `python -m tests.support.escapes FOLDER`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.engine import Engine, actor, hears_signals

TIMEOUT, CANCEL = "timeout", "cancel"
# The limit that ends a tree must not run out while a busy machine still builds it.
AT_ONCE = 5
IDLE = "4"


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
    Escape("first thread ended", "headless", waits_for=(("leader", 1),)),
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
        limits = ("--idle", IDLE, "--warn", "0") if how == TIMEOUT else ("--idle", "off")
        # one that obeys ends the play itself, however late it gets its turn; only a kill is worth hurrying for
        grace = "0.2" if escape.mode == "hard" else "60"
        command = [*escape.through, *actor(escape.actor, roll.path, *escape.words)]
        running = engine.start(
            "--json", *limits, "--hard", "100", "--grace", grace, "--liveness", "output", *options, "--", *command
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


def play_all(folder: Path, escapes: list[Escape], **env: str) -> dict[str, list[str]]:
    """Every escape, ended in both ways, a few at a time: what is wrong with each play ("name, how")."""

    def one(number: int, escape: Escape, how: str) -> list[str]:
        place = folder / str(number)
        place.mkdir()
        engine = Engine(place)
        engine.env |= env
        try:
            problems = verdict(escape, how, play(engine, escape, how))
            return problems + [f"left over: {words}" for words in engine.left_over()]
        except Exception as error:
            return [repr(error)]
        finally:
            engine.close()
            engine.left_over()

    plays = [(escape, how) for escape in escapes for how in (TIMEOUT, CANCEL)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        problems = pool.map(lambda entry: one(entry[0], *entry[1]), enumerate(plays))
        return {f"{escape.name}, {how}": found for (escape, how), found in zip(plays, problems, strict=True)}


def names(escapes: list[Escape]) -> list[str]:
    return [f"{escape.name}, {how}" for escape in escapes for how in (TIMEOUT, CANCEL)]


def main() -> None:
    print(json.dumps({"uid": os.getuid(), "problems": play_all(Path(sys.argv[1]), ESCAPES)}))


if __name__ == "__main__":
    main()
