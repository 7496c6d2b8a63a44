"""An hour at a terminal, in real time and with the default limits: programs that wait for their person are left alone.

    python scripts/terminal_hour.py [--minutes 60] [--keep FILE]

vim, less, top, man, git rebase -i, a prompt, bash, Python, psql and ssh stand side by side under `unhang run`, each in
a real tmux of 80 and one of 40 columns, with real servers and no option. No key is pressed for the hour. Then each is
used once more, and left. Exit code 0: no program ended, nothing was drawn into one, no limit was announced, and the
job's log has no notice. `--keep` writes what was seen as lines of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple, TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support import servers  # noqa: E402 - from the checkout
from tests.support.desk import PROMPT, Desk  # noqa: E402
from tests.support.engine import Engine  # noqa: E402

WIDTHS = (80, 40)
EVERY = 60.0  # seconds between two looks at the screens
OURS = "unhang: "


class Program(NamedTuple):
    """How to start a program, what it shows when it waits, what is typed and shown after the hour, how to leave it."""

    words: list[str]
    there: str
    typed: str
    shown: str
    leave: list[str]
    still: bool = True  # its screen does not change by itself


def programs(psql: list[str], ssh: list[str]) -> dict[str, Program]:
    """Everything that is used side by side."""
    vim = ["vim", "-u", "NONE", "-N"]
    python = [sys.executable, "-q"]
    return {
        "vim": Program([*vim, "notes"], r'^"notes" ', "iafter an hour", "after an hour", ["Escape", ":q!", "Enter"]),
        "less": Program(["less", "text"], "^line 2$", "/line 77", "^line 77$", ["q"]),
        "less -X": Program(["less", "-X", "text"], "^line 2$", "/line 77", "^line 77$", ["q"]),
        "top": Program(["top"], "PID", "", "PID", ["q"], still=False),
        "man": Program(["man", "./page.1"], "shown by man", "/the end", "the end", ["q"]),
        "git rebase -i": Program(
            ["git", "-c", f"core.editor={' '.join(vim)}", "rebase", "-i", "--root"],
            r"^pick ",
            "Gonever drop it",
            "never drop it",
            ["Escape", ":cq", "Enter"],
        ),
        "a prompt": Program(
            ["sh", "-c", "printf 'Name? '; read name; echo I am $name"], r"^Name\?", "", "Name", ["me"]
        ),
        "bash": Program(
            ["bash", "--rcfile", "rc", "-i"], "^inner>", "echo $((6 * 7)) it is", "^42 it is$", ["exit", "Enter"]
        ),
        "python": Program(python, "^>>>", "print(6 * 7, 'it is')", "^42 it is$", ["exit()", "Enter"]),
        "psql": Program(psql, "postgres=#", "select 6 * 7 \\g", r"^ +42$", ["\\q", "Enter"]),
        "ssh": Program(
            [*ssh, "PS1='f''ar> ' exec sh -i"], "^far>", "echo $((6 * 7)) it is", "^42 it is$", ["exit", "Enter"]
        ),
    }


def prepare(desk: Desk) -> None:
    """A shell's prompt, a text to page through, a manual page, and a repository in which a commit can be rebased."""
    (desk.folder / "rc").write_text("PS1='inner> '\n")
    (desk.folder / "text").write_text("".join(f"line {n}\n" for n in range(99)))
    page = ".TH PAGE 1\n.SH NAME\npage \\- shown by man\n" + ".PP\nmore of it\n" * 99 + ".PP\nthe end\n"
    (desk.folder / "page.1").write_text(page)
    who = [["config", "user.name", "Person"], ["config", "user.email", "person@example.com"]]
    for words in (["init", "-q"], *who, ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=desk.folder, env=desk.env, check=True)


class Seat:
    """One program at one desk, and what was wrong there."""

    def __init__(self, name: str, program: Program, desk: Desk, columns: int) -> None:
        self.name, self.program, self.desk = f"{name}, {columns} columns", program, desk
        prepare(desk)
        desk.clear()
        desk.enter("clear; unhang run -- " + shlex.join(program.words))
        desk.matches(program.there)
        self.first = ""
        self.wrong: list[str] = []

    def look(self) -> str:
        """The screen as it is now; what is wrong with it is noted once."""
        shown = self.desk.screen()
        found = []
        if OURS in shown:
            found.append("a notice is drawn")
        self.first = self.first or shown  # a program may still draw when it has just been started
        if self.program.still and shown != self.first:
            found.append("its screen has changed")
        if shown.rstrip().endswith(PROMPT.strip()):
            found.append("it has ended")
        notices = [event["phase"] for event in self.desk.engine.events() if event["type"] == "watchdog"]
        found += [f"a notice in its log: {phase}" for phase in notices]
        self.wrong += [each for each in found if each not in self.wrong]
        return shown

    def ends_in(self) -> object:
        """The time that its limits leave it, as `status` says; None: no limit runs."""
        done = self.desk.engine.unhang("status", "@last", "--json")
        return json.loads(done.out)["endsInMs"] if done.code == 0 else f"status: {done.err!r}"

    def use_and_leave(self) -> None:
        """Type into it, see the answer, leave it; afterwards nothing is said either."""
        program = self.program
        try:
            if program.typed:
                self.desk.enter(program.typed)
            self.desk.matches(program.shown)
            for keys in program.leave:
                self.desk.type(keys)
            if program.leave == ["me"]:
                self.desk.type("Enter")
            self.desk.is_back()
        except TimeoutError as error:
            self.wrong.append(str(error))
            return
        if OURS in self.desk.screen():
            self.wrong.append(f"said when it was left: {self.desk.screen().strip()}")
        last = self.desk.engine.events()[-1]
        if last["status"] not in ("success", "error") or last.get("signal"):
            self.wrong.append(f"ended as {last['status']}: {last['message']}")


def write(kept: TextIO | None, **line: object) -> None:
    if kept is not None:
        kept.write(json.dumps(line) + "\n")
        kept.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--keep", type=Path, help="write what was seen to this file, as lines of JSON")
    args = parser.parse_args()
    with contextlib.ExitStack() as open_things:
        folder = Path(open_things.enter_context(tempfile.TemporaryDirectory(prefix="terminal-hour-")))
        kept = open_things.enter_context(args.keep.open("w")) if args.keep else None
        known = programs(open_things.enter_context(servers.psql()), open_things.enter_context(servers.ssh()))
        seats: list[Seat] = []
        for name, program in known.items():
            for columns in WIDTHS:
                desk = Desk(Engine(folder / f"{len(seats)}"), columns=columns)
                open_things.callback(desk.close)
                seats.append(Seat(name, program, desk.wait_for_shell(), columns))
                write(kept, what="started", name=seats[-1].name, command=program.words)
        for seat in seats:
            seat.look()
        print(f"{len(seats)} programs wait; {args.minutes:g} minutes …", flush=True)
        began = time.monotonic()
        while (passed := time.monotonic() - began) < args.minutes * 60:
            time.sleep(min(EVERY, args.minutes * 60 - passed))
            minute = round((time.monotonic() - began) / 60, 1)
            for seat in seats:
                seat.look()
            wrong = {seat.name: seat.wrong for seat in seats if seat.wrong}
            write(kept, what="looked", minute=minute, wrong=wrong)
        for seat in seats:
            left, screen = seat.ends_in(), seat.look()
            seat.use_and_leave()
            events = Counter(f"{event['type']} {event.get('phase', '')}".strip() for event in seat.desk.engine.events())
            write(kept, what="left", name=seat.name, ends_in_ms=left, wrong=seat.wrong, events=events, screen=screen)
            print(f"{seat.name}: {'; '.join(seat.wrong) or 'undisturbed'}", flush=True)
        return 1 if any(seat.wrong for seat in seats) else 0


if __name__ == "__main__":
    sys.exit(main())
