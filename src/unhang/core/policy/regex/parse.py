"""Regular expressions of a policy file, as a tree. The subset of Python's syntax that can be matched safely.

Supported: literals, classes, groups (named or not), alternation, `* + ? {n,m}` (lazy or not), `. ^ $`,
`\\b \\B \\A \\Z`, `\\d \\w \\s` and their opposites, look-ahead, and look-behind of a fixed width.
Refused, with the place: back-references and conditions, for which no matcher with a bound on its time is
known, and inline flags other than `(?i)`. Matching is without regard to case in any event.
"""

from __future__ import annotations

# A tree is nested tuples: ("set", Chars) ("seq", [..]) ("alt", [..]) ("rep", node, least, most|None)
# ("look", negative, behind, node) ("at", kind). mypy cannot follow nested tuples, hence the object type.
Node = tuple[object, ...]

_DEEPEST = 40
_LARGEST_COUNT = 1000
_LONGEST_COUNTS = 40
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0", "a": "\a"}
_PLACES = {"b": "word", "B": "inside", "A": "start", "Z": "end"}


class RegexError(ValueError):
    """A pattern that is wrong or not supported; `at` is the offset in it."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class Chars:
    """A set of characters; asked about one at a time."""

    __slots__ = ("classes", "negative", "ranges", "singles")

    def __init__(
        self, singles: frozenset[str], ranges: tuple[tuple[str, str], ...], classes: str, negative: bool
    ) -> None:
        self.singles = singles
        self.ranges = ranges
        self.classes = classes
        self.negative = negative

    def accepts(self, char: str) -> bool:
        """Return whether this set has the character, in either case."""
        variants = {char, char.lower(), char.upper()}
        return any(self._has(variant) for variant in variants if len(variant) == 1) != self.negative

    def _has(self, char: str) -> bool:
        if char in self.singles or any(low <= char <= high for low, high in self.ranges):
            return True
        return any(_in_class(char, name) for name in self.classes)


def _in_class(char: str, name: str) -> bool:
    kind = name.lower()
    if kind == "d":
        member = char.isdecimal()
    elif kind == "w":
        member = char.isalnum() or char == "_"
    elif kind == "s":
        member = char.isspace()
    else:
        member = char != "\n"
    return member if name == kind else not member


def _literal(char: str) -> Node:
    return ("set", Chars(frozenset({char}), (), "", False))


# Most of a pattern is plain letters, and most patterns have the same ones.
_LITERALS = {char: _literal(char) for char in map(chr, range(32, 127))}


def parse(pattern: str) -> Node:
    """Parse a pattern into a tree. Raises RegexError."""
    parser = _Parser(pattern)
    tree = parser.alternatives(0)
    if parser.at < len(pattern):
        raise RegexError("a ) that closes nothing", parser.at)
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def alternatives(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise RegexError(f"groups nested more than {_DEEPEST} deep", self.at)
        branches = [self.sequence(depth)]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.sequence(depth))
        return branches[0] if len(branches) == 1 else ("alt", branches)

    def sequence(self, depth: int) -> Node:
        items: list[Node] = []
        while self.at < len(self.text) and self.peek() not in "|)":
            start = self.at
            item = self.atom(depth)
            if item is None:
                continue
            items.append(self.repeated(item, start))
        return ("seq", items)

    def repeated(self, item: Node, start: int) -> Node:
        counted = False
        while True:
            char = self.peek()
            bounds: tuple[int, int | None] | None = None
            if char and char in "*+?":
                bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
                self.at += 1
            elif char == "{":
                bounds = self.counts()
            if bounds is None:
                return item
            if counted:
                raise RegexError("a repetition of a repetition", start)
            if item[0] == "at":
                raise RegexError("nothing to repeat", start)
            if self.peek() == "?":
                self.at += 1  # lazy: which of several matches comes first does not matter, the longest is taken
            elif self.peek() == "+":
                raise RegexError("possessive repetition is not supported", self.at)
            counted = True
            item = ("rep", item, bounds[0], bounds[1])

    def counts(self) -> tuple[int, int | None] | None:
        """`{2}`, `{2,}`, `{,3}`, `{2,3}`; None when the brace is only a brace."""
        end = self.text.find("}", self.at, self.at + _LONGEST_COUNTS)
        inside = self.text[self.at + 1 : end] if end > 0 else ""
        low, comma, high = inside.partition(",")
        if not inside or inside == "," or any(part and not (part.isascii() and part.isdigit()) for part in (low, high)):
            return None
        if len(low) > 4 or len(high) > 4:
            raise RegexError(f"more than {_LARGEST_COUNT} repetitions", self.at)
        least = int(low or 0)
        most = (int(high) if high else None) if comma else least
        if max(least, most or 0) > _LARGEST_COUNT:
            raise RegexError(f"more than {_LARGEST_COUNT} repetitions", self.at)
        if most is not None and most < least:
            raise RegexError("the smaller number comes first", self.at)
        self.at = end + 1
        return least, most

    def atom(self, depth: int) -> Node | None:
        char, start = self.peek(), self.at
        self.at += 1
        if char == "(":
            return self.group(depth, start)
        if char == "[":
            return self.bracket(start)
        if char == "\\":
            return self.escape(start)
        if char == ".":
            return ("set", Chars(frozenset(), (), "n", False))
        if char == "^":
            return ("at", "start")
        if char == "$":
            return ("at", "end")
        if char in "*+?":
            raise RegexError("nothing to repeat", start)
        return _LITERALS.get(char) or _literal(char)

    def group(self, depth: int, start: int) -> Node | None:
        kind = "group"
        if self.peek() == "?":
            for opening, name in (("?:", "group"), ("?=", "="), ("?!", "!"), ("?<=", "<="), ("?<!", "<!")):
                if self.text.startswith(opening, self.at):
                    self.at += len(opening)
                    kind = name
                    break
            else:
                if self.text.startswith("?i)", self.at):
                    self.at += 3
                    return None
                if not self.text.startswith("?P<", self.at):
                    raise RegexError("this kind of group is not supported", start)
                end = self.text.find(">", self.at)
                if end < 0 or not self.text[self.at + 3 : end].isidentifier():
                    raise RegexError("a group without a proper name", start)
                self.at = end + 1
        inner = self.alternatives(depth + 1)
        if self.peek() != ")":
            raise RegexError("a ( that is never closed", start)
        self.at += 1
        if kind == "group":
            return inner
        return ("look", kind[-1] == "!", kind[0] == "<", inner)

    def escape(self, start: int) -> Node:
        char = self.peek()
        self.at += 1
        if not char:
            raise RegexError("a \\ at the end", start)
        if char in _PLACES:
            return ("at", _PLACES[char])
        if char in "dwsDWS":
            return ("set", Chars(frozenset(), (), char, False))
        return _literal(self.plain(char, start))

    def plain(self, char: str, start: int) -> str:
        """The character that `\\char` stands for."""
        if char in "xuU":
            size = {"x": 2, "u": 4, "U": 8}[char]
            digits = self.text[self.at : self.at + size]
            try:
                value = chr(int(digits, 16)) if len(digits) == size else ""
            except (ValueError, OverflowError):
                value = ""
            if not value:
                raise RegexError(f"\\{char} needs {size} hexadecimal digits", start)
            self.at += size
            return value
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isascii() and char.isalnum():
            what = "back-references are not supported" if char.isdigit() else f"unknown escape \\{char}"
            raise RegexError(what, start)
        return char

    def bracket(self, start: int) -> Node:
        negative = self.peek() == "^"
        if negative:
            self.at += 1
        singles: set[str] = set()
        ranges: list[tuple[str, str]] = []
        classes = ""
        first = True
        while True:
            char = self.peek()
            if not char:
                raise RegexError("a [ that is never closed", start)
            if char == "]" and not first:
                self.at += 1
                return ("set", Chars(frozenset(singles), tuple(ranges), classes, negative))
            first = False
            name = self.text[self.at : self.at + 2]
            if char == "\\" and name[1:] and name[1] in "dwsDWS":
                classes += name[1]
                self.at += 2
                continue
            low = self.member(start)
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.member(start)
                if high < low:
                    raise RegexError(f"the range {low}-{high} is empty", start)
                ranges.append((low, high))
            else:
                singles.add(low)

    def member(self, start: int) -> str:
        char = self.peek()
        self.at += 1
        if char != "\\":
            return char
        following = self.peek()
        self.at += 1
        if not following or following in "dwsDWS":
            raise RegexError("a class or nothing where a character should stand", start)
        return "\b" if following == "b" else self.plain(following, start)
