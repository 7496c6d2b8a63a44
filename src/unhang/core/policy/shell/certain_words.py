"""The words of a shell line, for `certain.py`: the quotes, escapes and expansions that all shells read alike."""

from __future__ import annotations

import re

# Stands in a word's text for what only the shell will know.
HOLE = "\uffff"

_ENDS_WORD = frozenset(" \t\n;&|<>()")
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%^+\-\]!}]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
# Without quotes, escapes and substitutions inside, whose end the shells look for in different ways; and without @,
# which can make bash run what a variable holds.
_PARAMETER = re.compile(
    r"\$\{(?:#?[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?!])"
    r"(?:(?::?[-=+?]|##?|%%?|//?|\^\^?|,,?)(?:[^}\"'`\\${(\[\n]|\$[A-Za-z_])*|:[0-9]+(?::[0-9]+)?)?\}"
)
_ARITHMETIC = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_ \t+-*/%<>=!&|~^?:,$()")


class Uncertain(ValueError):
    """It cannot be told what the line runs; the reason, for people."""


class Word:
    """`text` has a HOLE for each expansion.

    certain  it is exactly what the program gets
    whole    it is one word, whatever an expansion in it turns out to be
    bare     no quote, escape or expansion stands in it: it may be grammar
    named    as a command, it is the program of this text (or of its last part)
    """

    __slots__ = ("bare", "certain", "named", "text", "whole")

    def __init__(self, text: str, *, certain: bool = True, whole: bool = True, bare: bool = False) -> None:
        self.text = text
        self.certain = certain
        self.whole = whole
        self.bare = bare
        last = text.rsplit("/", 1)[-1]
        self.named = whole and HOLE not in last and (certain or "/" in text)


class Words:
    """A place in a text. What is inside a substitution is the business of whoever extends this."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        # it counts with names; a text that looks like a substitution stands in quotes
        self.counts = self.hides = False
        self._no_range = 0
        # of the word that is being read
        self._made: list[str] = []
        self._certain = self._whole = self._bare = True

    def commands_until_parenthesis(self) -> None:
        raise NotImplementedError

    def commands_of(self, text: str) -> None:
        raise NotImplementedError

    def blanks(self) -> None:
        """Past blanks, continued lines and a comment, but not past a newline."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t":
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
            elif text[self.at] == "#" and (self.at == 0 or text[self.at - 1] in _ENDS_WORD):
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            else:
                return

    def word(self) -> Word:
        outer = self._made, self._certain, self._whole, self._bare
        start = self.at
        self._made, self._certain, self._whole, self._bare = [], True, True, True
        if self.text[self.at : self.at + 1] == "~":
            self._certain = False
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                self.commands_until_parenthesis()
                self._hole(quoted=True)
                continue
            if char in _ENDS_WORD:
                break
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                self._made.append(plain.group())
                self.at = plain.end()
            elif char in "'\"\\$`":
                self._quoting(char)
            else:
                self._special(char)
                self._made.append(char)
                self.at += 1
        if self.at == start:
            raise Uncertain(f"it cannot be read from {self.text[start : start + 20]!r} on")
        made = "".join(self._made)
        self.note_hidden(made)
        found = Word(made, certain=self._certain, whole=self._whole, bare=self._bare and self._certain)
        self._made, self._certain, self._whole, self._bare = outer
        return found

    def _special(self, char: str) -> None:
        """A character that is neither a letter nor the beginning of something quoted."""
        if char in "*?[{":
            # names of files, and in bash several words; but `{}` is what find and xargs replace, and `[` is a command
            alone = (char == "{" and self.text.startswith("{}", self.at)) or (char == "[" and not self._is_range())
            if not alone:
                self._certain = self._whole = False
        elif char < " " or char.isspace() or char in ("\x7f", HOLE):
            raise Uncertain(f"{char!r} is a blank in one shell and a letter in another")

    def _is_range(self) -> bool:
        """Whether a ] follows in this word. Where none does is looked for once: a word may be all brackets."""
        if self.at < self._no_range:
            return False
        end = self.at
        while end < len(self.text) and self.text[end] not in _ENDS_WORD:
            if self.text[end] == "]":
                return True
            end += 1
        self._no_range = end
        return False

    def note_hidden(self, text: str) -> None:
        """What is a substitution only for a shell that looks at it a second time."""
        self.hides = self.hides or "$(" in text or "`" in text

    def expansions(self) -> None:
        """Of a text that is no command, as in a here-document: only what is substituted in it runs."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\":
                self.at += 2
            elif char == "$":
                self._dollar(quoted=True)
            elif char == "`":
                self._backquote(quoted=True)
            else:
                self.at += 1

    # -- quotes

    def _quoting(self, char: str) -> None:
        if char == "'":
            self._bare = False
            self._made.append(self._up_to_quote(self.at + 1))
        elif char == '"':
            self._bare = False
            self.at += 1
            self._double()
        elif char == "\\":
            self._escape()
        elif char == "`":
            self._backquote(quoted=False)
        else:
            self._dollar(quoted=False)

    def _up_to_quote(self, start: int) -> str:
        end = self.text.find("'", start)
        if end < 0:
            raise Uncertain("a quote is not closed")
        self.at = end + 1
        return self.text[start:end]

    def _escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            if self.text[self.at : self.at + 1] not in ("", *_ENDS_WORD):
                raise Uncertain("a word goes on in the next line")
        elif not following:
            raise Uncertain("it ends with a backslash")
        else:
            self._bare = False
            self._made.append(following)

    def _double(self) -> None:
        text = self.text
        while True:
            if self.at >= len(text):
                raise Uncertain("a quote is not closed")
            char = text[self.at]
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                following = text[self.at + 1 : self.at + 2]
                if following and following in '$`"\\':
                    self._made.append(following)
                elif following != "\n":
                    self._made.append(char + following)
                self.at += 2
            elif char == "$":
                self._dollar(quoted=True)
            elif char == "`":
                self._backquote(quoted=True)
            else:
                self._made.append(char)
                self.at += 1

    # -- expansions

    def _hole(self, *, quoted: bool) -> None:
        self._made.append(HOLE)
        self._certain = self._bare = False
        self._whole = self._whole and quoted

    def _dollar(self, *, quoted: bool) -> None:
        text = self.text
        following = text[self.at + 1 : self.at + 2]
        if following == "(":
            if text.startswith("$((", self.at):
                self._arithmetic()
            else:
                self.at += 2
                self.commands_until_parenthesis()
        elif following == "{":
            found = _PARAMETER.match(text, self.at)
            if found is None:
                raise Uncertain("what stands between ${ and } is too involved")
            self.at = found.end()
            quoted = quoted and "@" not in found.group()
        elif following == "'" and not quoted:
            inside = self._up_to_quote(self.at + 2)
            if inside.endswith("\\"):
                raise Uncertain("$'…' ends in different places in different shells")
            self._made.append(inside)
            quoted = True
        elif following == '"' and not quoted:
            self.at += 2
            self._double()
            quoted = True
        elif following == "[":
            raise Uncertain("$[ is arithmetic in one shell and text in another")
        else:
            name = _NAME.match(text, self.at + 1)
            if name is None:
                self._made.append("$")
                self.at += 1
                return
            self.at = name.end()
            quoted = quoted and name.group() != "@"
        self._hole(quoted=quoted)

    def _arithmetic(self) -> None:
        """`$((…))`. With a command or a quote inside, or a bracket that does not fit, it may be a substitution."""
        at, depth = self.at + 3, 0
        while at < len(self.text) and self.text[at] in _ARITHMETIC and not self.text.startswith("$(", at):
            if self.text[at] == "(":
                depth += 1
            elif self.text[at] == ")":
                if depth == 0:
                    if self.text[at + 1 : at + 2] != ")":
                        break
                    self.counts = self.counts or any(map(str.isalpha, self.text[self.at : at]))
                    self.at = at + 2
                    return
                depth -= 1
            at += 1
        raise Uncertain("$(( may begin arithmetic or a command")

    def _backquote(self, *, quoted: bool) -> None:
        end = self.text.find("`", self.at + 1)
        if end < 0:
            raise Uncertain("a backquote is not closed")
        inside = self.text[self.at + 1 : end]
        if "\\" in inside or (quoted and '"' in inside):
            raise Uncertain("quotes or backquotes stand inside backquotes")
        self.at = end + 1
        self.commands_of(inside)
        self._hole(quoted=quoted)
