"""A few texts that a pattern matches, made from its tree; for `lint.py`, and for tests.

Not every text and not every pattern: look-around is ignored, so an example may not match after all. The
caller tries it.
"""

from __future__ import annotations

from typing import cast

from unhang.core.policy.regex.parse import Chars, Node

_MOST = 12
_LONGEST = 200
# Tried in this order, so that a class becomes a letter rather than a control character.
_LETTERS = "xaz019_-. /:"


def examples_of(tree: Node) -> list[str]:
    """Return at most a dozen texts that the tree matches, without those that are blank."""
    return [text for text in _texts(tree) if text.strip()][:_MOST]


def _texts(node: Node) -> list[str]:
    kind = node[0]
    if kind == "set":
        char = _char(cast("Chars", node[1]))
        return [] if char is None else [char]
    if kind == "alt":
        return [text for branch in cast("list[Node]", node[1]) for text in _texts(branch)[:4]][:_MOST]
    if kind == "seq":
        made = [""]
        for item in cast("list[Node]", node[1]):
            following = _texts(item)
            made = [(text + more)[:_LONGEST] for text in made for more in following][:_MOST]
        return made
    if kind == "rep":
        inner, least, most = cast("Node", node[1]), cast("int", node[2]), node[3]
        once = max(least, 1) if most is None or cast("int", most) > 0 else 0
        longer = [text * min(once, 20) for text in _texts(inner)[:4]]
        return ([""] if least == 0 else []) + longer
    return [""]


def _char(chars: Chars) -> str | None:
    if not chars.negative and len(chars.singles) >= 1 and not chars.ranges and not chars.classes:
        return min(chars.singles)
    for char in _LETTERS:
        if chars.accepts(char):
            return char
    if chars.ranges and not chars.negative:
        return chars.ranges[0][0]
    return min(chars.singles, default=None) if not chars.negative else None
