"""An hour of mixed real work in four sessions of Claude Code, watched with the default limits: nothing is touched.

    python scripts/sessions_hour.py [--minutes 60] [--keep FOLDER]

The real Claude Code, a real tmux and the real watcher; the model is a server on 127.0.0.1 that follows a script, so the
traffic is bounded. Each session works through the same list from another place on: quick commands, quiet, talking and
busy ones up to their own timeout, long thoughts, long answers, files, a dialog that waits for a person, a subagent, an
idle prompt with a draft. One of the four has no hooks. Exit code 0: no step was taken and no hang was reported.
`--keep` writes the first session's hour as a recording that tests/sessions/claude/test_replay.py replays.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.claude_sessions.harness import Desk, Session, Watcher  # noqa: E402
from tests.support.claude_sessions.recorder import Recorder  # noqa: E402
from tests.support.claude_sessions.scenarios import subagent  # noqa: E402
from tests.support.fakes.anthropic_messages import FakeAnthropic  # noqa: E402

LONG = 600_000
EVERY = 10.0  # seconds between two looks of the recorder


def bash(command: str, timeout: int | None = None) -> list[Any]:
    given: dict[str, Any] = {"command": command, "description": "work"}
    return ["Bash", given | ({"timeout": timeout} if timeout else {})]


def turn(*steps: list[list[Any]]) -> str:
    return "fake: seq " + json.dumps([*({"tools": calls} for calls in steps), {"text": "done"}])


def work(desk: Desk) -> list[str]:
    """What one session is asked for, in order. `!dialog` and `!draft` are done by a hand."""
    file = str(desk.work / "notes.txt")
    return [
        turn([bash("echo begin; ls")], [bash(f"echo text > {file}"), ["Read", {"file_path": file}]], [bash("true")]),
        turn([bash("for i in $(seq 300); do echo line $i; sleep 1; done", LONG)]),  # talks for five minutes
        "fake: think 3000 0.25",  # thinks for twelve minutes and a half
        turn([bash("python3 -c 'import time; time.sleep(400)'", LONG)]),  # is quiet, for less than its timeout
        "fake: drip 1500 0.5",  # answers for twelve minutes and a half
        "!dialog",
        turn([bash("timeout 150 nice -n 19 sh -c 'while :; do :; done'; true", LONG)]),  # works, silently
        turn([bash("false"), bash("sleep 2; echo b"), bash("echo c >&2; exit 3")], [bash("echo on")]),
        subagent("fake: bash echo from an agent"),
        "!draft",
        turn(*([bash(f"sleep 4{number}")] for number in range(5))),  # many steps; a longer text counts as a paste
    ]


def dialog(session: Session, minutes: float) -> None:
    """A question stands there for longer than any tool's limit; then a person answers."""
    given = {"file_path": str(session.desk.work / f"new-{time.time_ns()}.txt"), "content": "text"}
    session.ask("fake: tool Write " + json.dumps(given))
    session.wait_status("waiting", timeout=300)
    time.sleep(minutes * 60)
    session.keys("Enter")


def play(session: Session, first: int, until: float, told: list[str]) -> None:
    """From another place of the list on, until the time is over."""
    asked = work(session.desk)
    number = first
    while time.monotonic() < until:
        what = asked[number % len(asked)]
        number += 1
        if what == "!dialog":
            dialog(session, 11)
        elif what == "!draft":
            session.draft("half a thought")
            time.sleep(240)
            session.keys("C-u")
        else:
            session.ask(what)
        session.wait_status("idle", timeout=1500)
        told.append(what[:60])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the first session's recording there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="uh-") as folder, FakeAnthropic() as fake:
        hooked, bare = (Path(folder) / name for name in ("a", "b"))
        for place in (hooked, bare):
            place.mkdir()
        desks = Desk(hooked, fake), Desk(bare, fake)
        desks[1].configure(ours=())
        try:
            return _watched(desks, args.minutes, args.keep)
        finally:
            running = [session.process() for desk in desks for session in desk.sessions if session.status()]
            for desk in desks:
                desk.end()
                desk.close()
            for process in running:  # it writes into the folder to its last moment
                process.wait_gone()
                process.close()


def _watched(desks: tuple[Desk, Desk], minutes: float, keep: Path | None) -> int:
    sessions = [*(desks[0].claude() for _ in range(3)), desks[1].claude()]
    watcher = Watcher(desks[0], "--config-dir", str(desks[1].config))
    until = time.monotonic() + minutes * 60
    told: list[list[str]] = [[] for _ in sessions]
    hands = [
        threading.Thread(target=play, args=(session, 3 * place, until, told[place]), daemon=True)
        for place, session in enumerate(sessions)
    ]
    with Recorder(sessions[0], EVERY) as recorder:
        for hand in hands:
            hand.start()
        while time.monotonic() < until:
            time.sleep(1)
    if keep is not None:
        recorder.keep("hour", keep)
    events = watcher.said()
    phases = {phase: sum(event["phase"] == phase for event in events) for phase in {e["phase"] for e in events}}
    touched = [event for event in events if event["phase"] in ("step", "hung", "gave_up")]
    print(json.dumps({"minutes": minutes, "turns": [len(each) for each in told], "phases": phases, "touched": touched}))
    print(watcher.story(), file=sys.stderr)
    dead = [place for place, session in enumerate(sessions) if session.status() is None]
    return 1 if touched or dead or any(not each for each in told) else 0


if __name__ == "__main__":
    sys.exit(main())
