"""What the text of a pane shows. It is never believed alone: the status file is more reliable.

    ✻ Shimmying… (5s · ↓ 16 tokens)
    ──────────────
    ❯ a draft                       the input box: between the last two rules
    ──────────────
      ⏸ manual mode on · esc to interrupt

The text may carry SGR sequences (`capture-pane -e`): what is shown dim in the box is a hint of Claude Code's own, not
a person's draft.
"""

from __future__ import annotations

import re

from unhang.core.record import Record

PROMPT, DIALOG, UNKNOWN = "prompt", "dialog", "unknown"

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_OTHER_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Za-z0-9]|.)")
_RULE = re.compile(r"^\s*─{8,}")
_MARK = re.compile(r"^\s*[❯>!#][\s\u00a0]?")
_BACKGROUND = re.compile(r"Waiting for \d+ background agent")
_DIALOG = re.compile(r"(?m)^[^\S\n]*(?:│[^\S\n]*)?❯\s*\d+\.\s|Enter to confirm|Esc to cancel|Enter to select")
_TOKENS = re.compile(r"↓\s*([\d.,]+[kKmM]?) tokens")
_SPINNER = re.compile(r"^\s*[·✢✳✶✻✽*] \S.*… ?\(")
_BLOCK = re.compile(r"^[!●✻] ?\S")
_QUEUED = "Press up to edit queued messages"


class AgentScreen(Record):
    """What the screen of Claude Code shows: `kind` is a prompt, a dialog, or unknown."""

    kind: str = UNKNOWN
    busy: bool = False  # "esc to interrupt" is shown; its absence means nothing
    background: bool = False  # a free prompt that waits for agents in the background
    insert: bool = False  # vim mode, INSERT
    draft: str = ""
    shell: bool = False  # a command that a person started with ! runs: busy, and no hook fires
    tokens: str = ""  # the counter beside the spinner: it grows while an answer is written


def read(text: str) -> AgentScreen:
    """Return the text of a pane, with or without colours, as a `Screen`."""
    lines = [_plain(line) for line in text.splitlines()]
    rules = [i for i, (line, _) in enumerate(lines) if _RULE.match(line)]
    whole = "\n".join(line for line, _ in lines)
    if len(rules) < 2:
        return AgentScreen(kind=DIALOG if _DIALOG.search(whole) else UNKNOWN)
    top, bottom = rules[-2], rules[-1]
    box = lines[top + 1 : bottom]
    if not box or not _MARK.match(box[0][0]) or _is_choice(box[0][0]):
        return AgentScreen(kind=DIALOG if _DIALOG.search(whole) else UNKNOWN)
    footer = "\n".join(line for line, _ in lines[bottom + 1 :])
    if "Esc to cancel" in footer or "Enter to confirm" in footer:
        return AgentScreen(kind=DIALOG)
    above = "\n".join(line for line, _ in lines[max(0, top - 12) : top])
    return AgentScreen(
        kind=PROMPT,
        busy="esc to interrupt" in footer,
        background=bool(_BACKGROUND.search(above)),
        insert="-- INSERT --" in footer,
        draft=_draft(box),
        shell=_is_shell([line for line, _ in lines[:top]]),
        tokens=(_TOKENS.findall(above) or [""])[-1],
    )


def _is_shell(above: list[str]) -> bool:
    """The last thing before the box is `! command`, and nothing spins. (Queued messages look like the box itself.)"""
    for line in reversed(above):
        if _SPINNER.match(line):
            return False
        if _BLOCK.match(line):
            return line.startswith("!")
    return False


def _is_choice(line: str) -> bool:
    return re.match(r"^\s*❯\s*\d+\.\s", line) is not None


def _draft(box: list[tuple[str, str]]) -> str:
    whole, solid = _text([line for line, _ in box]), _text([line for _, line in box])
    # the cursor stands on the first letter of a hint and shows it solid
    return "" if whole == _QUEUED or (len(solid) <= 1 and len(whole) > 1) else solid


def _text(lines: list[str]) -> str:
    first = _MARK.sub("", lines[0], count=1)
    rest = [line[2:] if line.startswith("  ") else line for line in lines[1:]]
    return "\n".join(line.rstrip().replace("\u00a0", " ") for line in [first, *rest]).strip()


def _plain(line: str) -> tuple[str, str]:
    """The line without its colours; and the same without what is dim."""
    whole: list[str] = []
    solid: list[str] = []
    dim = False
    at = 0
    for found in _SGR.finditer(line):
        piece = _OTHER_ESCAPES.sub("", line[at : found.start()])
        whole.append(piece)
        if not dim:
            solid.append(piece)
        dim = _dim_after(found.group(1), dim)
        at = found.end()
    piece = _OTHER_ESCAPES.sub("", line[at:])
    whole.append(piece)
    if not dim:
        solid.append(piece)
    return "".join(whole), "".join(solid)


def _dim_after(codes: str, dim: bool) -> bool:
    words = codes.replace(":", ";").split(";")
    i = 0
    while i < len(words):
        word = words[i]
        if word in ("38", "48", "58"):  # a colour: its numbers are no attributes
            i += 3 if words[i + 1 : i + 2] == ["5"] else 5
            continue
        if word == "2":
            dim = True
        elif word in ("", "0", "22"):
            dim = False
        i += 1
    return dim
