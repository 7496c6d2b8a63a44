"""Matching a pattern of the user's file in bounded time.

Python's `re` tries every way through `(a+)+$` before it says no, for years if need be, and nothing can
interrupt it. So a pattern is compiled to a small program, and the matcher visits each pair of (instruction,
position) at most once: whatever the pattern, the work is at most its size times the length of the text.
Without back-references a visit can teach nothing new the second time, so the answer is exact. A budget of
steps caps even that.

The answer is the end of the *longest* match from the beginning of the text that ends where a word ends; 0 is
none. Alternatives may therefore stand in any order.
"""

from __future__ import annotations

from typing import cast

from unhang.core.policy.regex.parse import Chars, Node, RegexError, parse

# Some 5 ms. A pattern of ten alternatives on a command of a hundred characters needs a few hundred.
MOST_STEPS = 10_000
_LARGEST = 2000
# Parts of the pattern that are looked at while it is compiled: `((){999}){999}` is a million of nothing.
_MOST_VISITS = 4 * _LARGEST

# One instruction: (what, first operand, second operand).
_Op = tuple[str, int, int]


class CompiledPattern:
    """A compiled pattern. Raises RegexError if the text is no pattern, or none that can be matched safely."""

    __slots__ = ("_begins", "_first", "_ops", "_sets", "_visits", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._ops: list[_Op] = []
        self._sets: list[Chars] = []
        self._visits = 0
        self._emit_tree(parse(text))
        self._add("match")
        self._first = self._first_sets()
        # what has been found out about first characters: most commands are turned away by theirs
        self._begins: dict[str, bool] = {}

    @property
    def size(self) -> int:
        """Return how many instructions it has."""
        return len(self._ops)

    # -- compiling

    def _add(self, what: str, one: int = 0, two: int = 0) -> int:
        if len(self._ops) >= _LARGEST:
            raise RegexError("the pattern is too large", 0)
        self._ops.append((what, one, two))
        return len(self._ops) - 1

    def _emit_tree(self, node: Node) -> None:
        self._visits += 1
        if self._visits > _MOST_VISITS:
            raise RegexError("the pattern is too large", 0)
        kind = node[0]
        if kind == "set":
            self._sets.append(cast("Chars", node[1]))
            self._add("set", len(self._sets) - 1)
        elif kind == "seq":
            for item in cast("list[Node]", node[1]):
                self._emit_tree(item)
        elif kind == "at":
            self._add(cast("str", node[1]))
        elif kind == "alt":
            self._emit_alternatives(cast("list[Node]", node[1]))
        elif kind == "rep":
            self._emit_repetition(cast("Node", node[1]), cast("int", node[2]), cast("int | None", node[3]))
        else:
            negative, behind, inner = cast("bool", node[1]), cast("bool", node[2]), cast("Node", node[3])
            width = _width(inner) if behind else 0
            if width is None:
                raise RegexError("look-behind needs a fixed width", 0)
            look = self._add("look", 0, 0)
            self._emit_tree(inner)
            self._add("match")
            # the second operand holds both: the width to go back, and whether the answer is turned around
            self._ops[look] = ("look", len(self._ops), width * 2 + negative)

    def _emit_alternatives(self, branches: list[Node]) -> None:
        jumps: list[int] = []
        for index, branch in enumerate(branches):
            if index == len(branches) - 1:
                self._emit_tree(branch)
                break
            fork = self._add("fork")
            self._emit_tree(branch)
            jumps.append(self._add("jump"))
            self._ops[fork] = ("fork", fork + 1, len(self._ops))
        for jump in jumps:
            self._ops[jump] = ("jump", len(self._ops), 0)

    def _emit_repetition(self, node: Node, least: int, most: int | None) -> None:
        for _ in range(least):
            self._emit_tree(node)
        if most is None:
            fork = self._add("fork")
            self._emit_tree(node)
            self._add("jump", fork)
            self._ops[fork] = ("fork", fork + 1, len(self._ops))
            return
        forks: list[int] = []
        for _ in range(most - least):
            forks.append(self._add("fork"))
            self._emit_tree(node)
        for fork in forks:
            self._ops[fork] = ("fork", fork + 1, len(self._ops))

    def _first_sets(self) -> list[int] | None:
        """Which sets may take the first character; None when nothing can be said. It spares most runs."""
        found: list[int] = []
        seen: set[int] = set()
        pending = [0]
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            what, one, two = self._ops[at]
            if what == "set":
                found.append(one)
            elif what == "fork":
                pending += [one, two]
            elif what == "jump":
                pending.append(one)
            elif what == "start":
                pending.append(at + 1)
            else:
                return None
        return found

    # -- matching

    def match(self, text: str, meter: list[int] | None = None) -> int | None:
        """Return the end of the longest match; 0 when there is none; None when the budget was used up.

        The steps that it took are added to `meter[0]`.
        """
        if meter is not None:
            meter[0] += 1
        if not text or not self._may_begin(text[0]):
            return 0
        run = _Run(self._ops, self._sets, text)
        end = run.longest(0, 0, whole_words=True)
        if meter is not None:
            meter[0] += run.steps
        return None if run.steps > MOST_STEPS else max(end, 0)

    def _may_begin(self, char: str) -> bool:
        if self._first is None:
            return True
        answer = self._begins.get(char)
        if answer is None:
            answer = self._begins[char] = any(self._sets[index].accepts(char) for index in self._first)
        return answer


class _Run:
    """One text against one program."""

    def __init__(self, ops: list[_Op], sets: list[Chars], text: str) -> None:
        self.ops = ops
        self.sets = sets
        self.text = text
        self.steps = 0
        self.known: dict[tuple[int, str], bool] = {}
        self.looked: dict[tuple[int, int], bool] = {}

    def longest(self, op: int, start: int, whole_words: bool) -> int:
        """-1 when there is no match. Without `whole_words` the first one found will do."""
        text, ops, size = self.text, self.ops, len(self.text)
        seen: set[int] = set()
        pending = [(op, start)]
        best = -1
        while pending:
            op, at = pending.pop()
            key = op * (size + 1) + at
            if key in seen:
                continue
            seen.add(key)
            self.steps += 1
            if self.steps > MOST_STEPS:
                return -1
            what, one, two = ops[op]
            if what == "set":
                if at < size and self._accepts(one, text[at]):
                    pending.append((op + 1, at + 1))
            elif what == "fork":
                pending.append((two, at))
                pending.append((one, at))
            elif what == "jump":
                pending.append((one, at))
            elif what == "match":
                if not whole_words:
                    return at
                if at > best and (at == size or text[at].isspace() or (at > 0 and text[at - 1].isspace())):
                    best = at
            elif what == "look":
                if self._look(op, at, two):
                    pending.append((one, at))
            elif self._place(what, at):
                pending.append((op + 1, at))
        return best

    def _accepts(self, index: int, char: str) -> bool:
        key = (index, char)
        answer = self.known.get(key)
        if answer is None:
            chars = self.sets[index]
            self.steps += len(chars.ranges) + len(chars.classes)
            answer = self.known[key] = chars.accepts(char)
        return answer

    def _look(self, op: int, at: int, packed: int) -> bool:
        key = (op, at)
        answer = self.looked.get(key)
        if answer is None:
            width, negative = divmod(packed, 2)
            found = at >= width and self.longest(op + 1, at - width, whole_words=False) >= 0
            answer = self.looked[key] = found != bool(negative)
        return answer

    def _place(self, what: str, at: int) -> bool:
        text, size = self.text, len(self.text)
        if what == "start":
            return at == 0
        if what == "end":
            return at == size
        before = at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
        after = at < size and (text[at].isalnum() or text[at] == "_")
        return (before != after) == (what == "word")


def _width(node: Node) -> int | None:
    """How many characters a tree always takes; None when that varies."""
    kind = node[0]
    if kind == "set":
        return 1
    if kind in ("at", "look"):
        return 0
    if kind == "seq":
        widths = [_width(item) for item in cast("list[Node]", node[1])]
        return None if None in widths else sum(width for width in widths if width is not None)
    if kind == "alt":
        found = {_width(item) for item in cast("list[Node]", node[1])}
        return found.pop() if len(found) == 1 else None
    inner = _width(cast("Node", node[1]))
    return inner * cast("int", node[2]) if inner is not None and node[2] == node[3] else None
