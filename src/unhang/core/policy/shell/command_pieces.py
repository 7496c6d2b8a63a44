"""A command, as words or as a shell line, taken apart into the pieces that are judged one by one.

    cd x && FOO=1 sudo npm ci | tee log   →   cd x   ·   npm ci (through sudo)   ·   tee log

A piece has layers: the command as written, then what is left after each wrapper. The shell's own splitter is
imported only for a line that needs it; most lines that agents run are plain words.
"""

from __future__ import annotations

from unhang.core.policy.shell.wrapper_commands import SHELLS, is_assignment, unwrap

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from collections.abc import Sequence

# Lines within lines (bash -c "bash -c …") and wrappers around wrappers: a deeper one is not meant.
_DEEPEST = 8
# A generated script of a hundred thousand commands is judged by its first five hundred.
MOST_PIECES = 500

# Anything here, and the line needs the shell's rules; so does one that begins with a word of its grammar.
_SPECIAL = frozenset("'\"\\`;&|<>()\n#")
_RESERVED = frozenset({"if", "for", "while", "until", "case", "select", "function", "coproc", "!", "{", "[["})


class Part:
    """One simple command before it is judged."""

    __slots__ = ("background", "body", "bounded", "endless", "layers", "through")

    def __init__(self, words: tuple[str, ...], background: bool = False, body: str | None = None) -> None:
        # each layer: the words, and the words to look up in their place (`npm run x` for `yarn x`)
        self.layers: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(words, ())]
        self.through: list[str] = []
        self.background = background
        self.bounded = False
        self.endless = False
        self.body = body

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of the command as it was written, wrappers included."""
        return self.layers[0][0]

    @property
    def text(self) -> str:
        """Return the command that is left after the wrappers; `npm run dev` is a command in itself and stays whole."""
        left = self.layers[0][0]
        for words, instead in self.layers[1:]:
            if instead:
                break
            left = words
        return " ".join(left)


def pieces_of(command: Sequence[str] | str) -> list[Part]:
    """Return the simple commands of a command, at most MOST_PIECES, in the order in which they stand."""
    found: list[Part] = []
    if isinstance(command, str):
        _take_line(command, found, 0, False, ())
    else:
        _take_words(tuple(command), found, 0, False, None, ())
    return found


def _take_line(line: str, found: list[Part], depth: int, bounded: bool, through: tuple[str, ...]) -> None:
    if line.isascii() and _SPECIAL.isdisjoint(line) and "${" not in line:
        words = tuple(line.split())
        if not words:
            return
        if words[0] not in _RESERVED:
            before = len(found)
            _take_words(words, found, depth, False, None, through)
            _bind(found, before, bounded, False)
            return
    from unhang.core.policy.shell.split_commands import split

    script = split(line)
    cut = script.cut
    for simple in script.commands:
        if len(found) >= MOST_PIECES:
            cut = True
            break
        before = len(found)
        _take_words(simple.words, found, depth, simple.background, simple.body, through)
        _bind(found, before, bounded, False)
    if script.endless is not None:
        # the loop itself never ends, whatever it does inside
        loop = Part(script.endless, background=script.endless_background)
        loop.endless = True
        loop.bounded = bounded
        found.append(loop)
    if cut:
        # what was not read may be anything, and is judged as anything unknown is
        found.append(Part(("…",)))


def _bind(found: list[Part], before: int, bounded: bool, background: bool) -> None:
    """What holds for the wrapper holds for all that came out of it."""
    if bounded or background:
        for part in found[before:]:
            part.bounded = part.bounded or bounded
            part.background = part.background or background


def _take_words(
    words: tuple[str, ...],
    found: list[Part],
    depth: int,
    background: bool,
    body: str | None,
    through: tuple[str, ...],
) -> None:
    at = 0
    while at < len(words) and is_assignment(words[at]):
        at += 1
    words = words[at:]
    if not words:
        return
    part = Part(words, background, body)
    part.through.extend(through)
    line: str | None = None
    for _ in range(_DEEPEST):
        current = part.layers[-1][0]
        step = unwrap(current)
        if step is None:
            break
        if not step.instead:
            part.through.append(step.name)
        part.bounded = part.bounded or step.bounded
        if step.line is not None:
            line = step.line
            break
        if step.works and depth < _DEEPEST:
            before = len(found)
            _take_words(step.words, found, depth + 1, background, None, tuple(part.through))
            _bind(found, before, part.bounded, background)
            part.through.pop()
            break
        part.layers.append((step.words, step.instead))
    if line is None and body is not None and _reads_script(part.layers[-1][0]):
        line = body
    if line is not None and depth < _DEEPEST:
        before = len(found)
        _take_line(line, found, depth + 1, part.bounded, tuple(part.through))
        _bind(found, before, part.bounded, background)
        if len(found) > before:
            return
    found.append(part)


def _reads_script(words: tuple[str, ...]) -> bool:
    """`bash <<EOF`, `bash -s`, `ssh host <<EOF`: the here-document is the script."""
    name = words[0].rsplit("/", 1)[-1]
    if name in SHELLS:
        return all(word[:1] in "-+" for word in words[1:])
    return name == "ssh"
