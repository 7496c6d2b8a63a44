"""Makes docs/pictures: `make demo` as it looks in a terminal, and a session of Claude Code that is freed.

The first needs nothing but the demo itself, the second the programs of `make test`: a real Claude in a real tmux, with
the fake model of the tests.
"""

from __future__ import annotations

import html
import os
import pty
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 118
COLOURS = {"31": "#f7768e", "32": "#9ece6a", "33": "#e0af68", "36": "#7dcfff", "1": "#ffffff"}
NOISE = ("▐▛", "▝▜", "▝▝", "focus-events", "/effort")
LINE, LEFT, TOP, FONT = 17, 16, 40, 13


def recorded() -> str:
    """The demo on a terminal of its own, as text with colours; the paths of this machine made neutral."""
    out = bytearray()

    def keep(fd: int) -> bytes:
        data = os.read(fd, 1 << 16)
        out.extend(data)
        return data

    os.environ |= {"TERM": "xterm", "COLUMNS": str(COLUMNS)}
    pty.spawn([sys.executable, str(ROOT / "scripts" / "demo.py")], keep)
    text = out.decode("utf-8", "replace").replace("\r\n", "\n")
    text = text.replace(sys.executable, "python").replace(str(ROOT), ".")
    return re.sub(rf"{re.escape(tempfile.gettempdir())}/tmp\w+", "/tmp/demo", text)


def rows(text: str) -> list[tuple[str, str]]:
    """(colour, line), wrapped as a terminal would."""
    found: list[tuple[str, str]] = []
    for raw in text.split("\n"):
        code = re.search(r"\x1b\[(\d+)m", raw)
        colour = COLOURS.get(code.group(1), "#c0caf5") if code else "#c0caf5"
        plain = re.sub(r"\x1b\[[0-9;]*m", "", raw)
        wrapped = textwrap.wrap(plain, COLUMNS, drop_whitespace=False, replace_whitespace=False) or [""]
        found += [(colour, line) for line in wrapped]
    while found and not found[0][1].strip():
        found.pop(0)
    return found


def svg(lines: list[tuple[str, str]]) -> str:
    width, height = LEFT * 2 + round(COLUMNS * FONT * 0.605), TOP + LINE * len(lines) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#1a1b26"/>',
        *(
            f'<circle cx="{20 + 20 * i}" cy="18" r="6" fill="{c}"/>'
            for i, c in enumerate(("#f7768e", "#e0af68", "#9ece6a"))
        ),
        f'<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="{FONT}" xml:space="preserve">',
    ]
    for number, (colour, line) in enumerate(lines):
        if line.strip():
            y = TOP + LINE * number + FONT
            parts.append(f'<text x="{LEFT}" y="{y}" fill="{colour}">{html.escape(line)}</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


def freed() -> str:
    """What the watcher says about a hung WebFetch, and what the pane shows before and after."""
    sys.path.insert(0, str(ROOT))
    from tests.support.claude_sessions.harness import Desk
    from tests.support.claude_sessions.scenarios import WEB_FETCH
    from tests.support.engine import wait_until
    from tests.support.fakes.anthropic_messages import FakeAnthropic

    with FakeAnthropic() as fake, tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder), fake)
        said = Path(folder) / "said"
        try:
            session = desk.claude()
            words = ("watch", "--limit", "WebFetch=20s", "--hands-off", "2", "--cooldown", "2")
            with said.open("wb") as out:
                watcher = subprocess.Popen(
                    desk.command(*words), env=desk.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
                )
            session.ask(WEB_FETCH.prompt(desk))
            WEB_FETCH.ready(session)
            session.queue("fake: say Here is the answer to your question.")
            wait_until(lambda: "warning" in said.read_text(), "the warning")
            before = session.screen()
            session.wait_screen("● Here is the answer")
            session.wait_status("idle")
            after = session.screen()
            watcher.terminate()
            watcher.wait()
            told = said.read_text().replace(folder, "~")
        finally:
            desk.end()
            desk.close()
    shown = ["\x1b[1m$ unhang watch --limit WebFetch=20s\x1b[0m", *_coloured(told.splitlines()), ""]
    return "\n".join([*_pane("the session, while it hangs", before), *shown, *_pane("the session, afterwards", after)])


def _pane(title: str, text: str) -> list[str]:
    lines = [line.rstrip()[:COLUMNS] for line in text.splitlines()]
    lines = [line for line in lines if line and not any(word in line for word in NOISE)]
    return [f"\x1b[36m── {title} ──\x1b[0m", *lines[-20:], ""]


def _coloured(lines: list[str]) -> list[str]:
    colours = {"warning": "33", "hung": "31", "step": "33", "recovered": "32", "effect": "32"}
    found = []
    for line in lines:
        code = next((code for word, code in colours.items() if word in line), None)
        found.append(f"\x1b[{code}m{line}\x1b[0m" if code else line)
    return found


def main() -> int:
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    for name, text in (("demo", recorded), ("watch", freed)):
        if name in (sys.argv[1:] or ("demo", "watch")):
            (folder / f"{name}.svg").write_text(svg(rows(text())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
