"""From one piece to one category: the longest match wins, whole words only.

The patterns of the user's file come first; what none of them claims may go to the built-in table. A pattern
is matched from the beginning of a simple command, without regard to case, and its match must end where a
word ends: `^(ls|dir)` does not claim `lsof`, and `cargo build --release` beats `cargo build` wherever it
stands in the file. Between two matches of one length the more generous category wins, then the name, so
that the order of the patterns in the file never matters.
"""

from __future__ import annotations

from unhang.core.policy.builtin import command_name, lookup
from unhang.core.policy.model import Policy
from unhang.core.policy.shell.command_pieces import Part
from unhang.errors import UsageError

# Only so much of a command is matched against a pattern: what a command is, it says at its beginning.
LONGEST_TEXT = 512
# Steps of the matcher on one line, some 10 ms. Looked at between pieces only, so that the order of the patterns in
# the file does not matter here either.
MOST_WORK = 20_000
# Some 100 ms. A file whose patterns need more for one command is refused: whatever they would say, it comes too late.
TOO_MUCH_WORK = 200_000


class Verdict:
    """The category of one piece, and what led to it: a pattern of the file, or an entry of the built-in table."""

    __slots__ = ("category", "note", "pattern", "tag")

    def __init__(self, category: str, pattern: str | None, tag: str = "", note: str | None = None) -> None:
        self.category = category
        self.pattern = pattern
        self.tag = tag
        self.note = note


def judge(part: Part, policy: Policy, meter: list[int]) -> Verdict:
    """Find the category of each piece; `meter` counts the work on one line, and once it is full, no further piece is
    matched against the file.

    Raises UsageError for a file whose patterns take too long.
    """
    note: str | None = None
    if policy.patterns and meter[0] > MOST_WORK:
        return Verdict(policy.default, None, note="not matched: the line is too long for so many patterns")
    if policy.patterns:
        verdict = _by_patterns(part, policy, meter)
        if verdict.pattern is not None:
            return verdict
        note = verdict.note
    if part.endless:
        category = "server" if policy.builtin and "server" in policy.categories else policy.default
        return Verdict(category, " ".join(part.words), note="a loop that nothing ends")
    if policy.builtin:
        found = by_table(part)
        if found is not None:
            return found
    return Verdict(policy.default, None, note=note)


def by_table(part: Part) -> Verdict | None:
    """Return what the built-in table says of a piece, innermost command first; None if it does not know any of its
    layers.
    """
    for words, instead in reversed(part.layers):
        found = None
        if instead:
            found = lookup(instead)
            if found is not None and found.pattern == "npm run":
                found = None
        if found is None:
            found = lookup(words)
        if found is not None:
            return Verdict(found.category, found.pattern, found.tag)
    return None


def _texts(part: Part) -> list[str]:
    """Each layer as text; and again with `/usr/bin/ls` as `ls`, for both are what a person may have meant."""
    texts: list[str] = []
    for words, _ in part.layers:
        kept = words[:LONGEST_TEXT]
        texts.append(" ".join(kept)[:LONGEST_TEXT])
        name = command_name(words[0])
        if name != words[0].lower():
            texts.append(" ".join((name, *kept[1:]))[:LONGEST_TEXT])
    return texts


def _by_patterns(part: Part, policy: Policy, meter: list[int]) -> Verdict:
    texts = _texts(part)
    best: tuple[int, tuple[float, float], str, str] | None = None
    gave_up: list[str] = []
    for category, pattern, program in policy.patterns:
        length = 0
        for text in texts:
            end = program.match(text, meter)
            if meter[0] > TOO_MUCH_WORK:
                raise UsageError(
                    f"policy {policy.name}: its patterns take too long to compare with a command; make them simpler,"
                    " or take the built-in policy"
                )
            if end is None:
                gave_up.append(pattern)
            elif end > length:
                length = end
        if length:
            rank = (length, policy.categories[category].generosity(), category, pattern)
            if best is None or rank > best:
                best = rank
    note = None
    if gave_up:
        note = f"gave up on a pattern that backtracks too long: {min(gave_up)}"
    if best is None:
        return Verdict(policy.default, None, note=note)
    return Verdict(best[2], best[3], note=note)
