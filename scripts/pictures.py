"""Makes docs/pictures/demo.svg: `make demo` as it looks in a terminal. Needs nothing but the demo itself."""

from __future__ import annotations

import html
import os
import pty
import re
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 118
COLOURS = {"31": "#f7768e", "32": "#9ece6a", "33": "#e0af68", "36": "#7dcfff", "1": "#ffffff"}
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


def main() -> int:
    target = ROOT / "docs" / "pictures" / "demo.svg"
    target.parent.mkdir(exist_ok=True)
    target.write_text(svg(rows(recorded())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
