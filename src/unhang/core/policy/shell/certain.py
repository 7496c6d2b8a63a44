"""A shell line, read with certainty or not at all: which simple commands it can run, for a list of those forbidden.

`shell.py` guesses, because a limit must be found for any text. Here a wrong guess would let a forbidden command
through, so only what dash and bash understand in the same way is understood, and everything else raises Uncertain:
brackets and parentheses that one of them takes for grammar and the other for words, quotes that end in different
places, names that are put together while the line runs. A command counts wherever it stands: in a branch that is never
taken, in a function, in a substitution.
"""

from __future__ import annotations

import re

from unhang.core.policy.shell.certain_words import HOLE, Uncertain, Word, Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# A person's line is far shorter. What a model generates beyond this is put into a file.
LONGEST = 100_000
_MOST_COMMANDS = 2000
_DEEPEST = 30

_KEYWORD = re.compile(r"(?:[a-z]+|[{}!])(?=[\s;&|<>()]|$)")
_NUMBERED = re.compile(r"[0-9]*(?=[<>])")
_PARENTHESES = re.compile(r"\([ \t]*\)")
_REDIRECTION = re.compile(r"<<<|<<-|<<|<>|<&|>>|>&|>\||<|>")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_BASH_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\+=|\[)")
# Commands of bash that count: a variable's text is looked at a second time.
_COUNTING = frozenset({"[[", "let", "declare", "typeset", "local"})
_ENDS = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
# Grammar for bash, a program's name for dash.
_OF_ONE_SHELL = frozenset({"function", "select", "coproc"})


class Command:
    """One simple command. `body` is what it is given to read, where that is written down in the line itself."""

    __slots__ = ("assigned", "body", "words")

    def __init__(self, words: tuple[Word, ...], assigned: tuple[str, ...]) -> None:
        self.words = words
        self.assigned = assigned
        self.body: str | None = None


def read(line: str, depth: int = 0) -> list[Command]:
    """Every simple command that the line holds, in the order in which they stand. Raises Uncertain."""
    if len(line) > LONGEST:
        raise Uncertain(f"it has more than {LONGEST} characters")
    found: list[Command] = []
    reader = _Reader(line, found, depth)
    reader.whole()
    if reader.hides and (
        reader.counts or any(command.words and command.words[0].text in _COUNTING for command in found)
    ):
        raise Uncertain("one shell runs a substitution that it finds in a variable while it counts")
    return found


class _Reader(Words):
    def __init__(self, text: str, commands: list[Command], depth: int) -> None:
        super().__init__(text)
        if depth > _DEEPEST:
            raise Uncertain("it is nested too deep")
        self._commands = commands
        self._depth = depth
        # here-documents that begin after the next newline: delimiter, with tabs, quoted, whose
        self._due: list[tuple[str, bool, bool, Command | None]] = []
        self._due_outside = False

    def whole(self) -> None:
        self._list(frozenset())
        if self._due:
            raise Uncertain("a here-document does not end")

    # -- what `Words` needs for substitutions

    def commands_until_parenthesis(self) -> None:
        """After `$(`, `<(` or `(`, up to and past its `)`."""
        due, outside, self._due_outside = self._due, self._due_outside, self._due_outside or bool(self._due)
        self._due = []
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Uncertain("it is nested too deep")
        self._list(frozenset({")"}))
        self._depth -= 1
        if self._due:
            raise Uncertain("a here-document does not end where its command does")
        self._due, self._due_outside = due, outside

    def commands_of(self, text: str) -> None:
        """Between backquotes."""
        inner = _Reader(text, self._commands, self._depth + 1)
        inner.whole()
        self._learn(inner)

    def _learn(self, inner: _Reader) -> None:
        self.counts, self.hides = self.counts or inner.counts, self.hides or inner.hides

    # -- lists

    def _list(self, ends: frozenset[str]) -> str:
        """Commands up to one of these words or signs, and past it; without any, up to the end of the text."""
        while True:
            self._to_next_command()
            if self.at >= len(self.text):
                if ends:
                    raise Uncertain("it is not complete")
                return ""
            if self.text.startswith(";;", self.at):
                if ";;" not in ends:
                    raise Uncertain("a ;; stands outside of a case")
                self.at += 2
                return ";;"
            if self.text[self.at] == ")":
                if ")" not in ends:
                    raise Uncertain("a ) closes nothing")
                self.at += 1
                return ")"
            keyword = self._keyword()
            if keyword in ends:
                self.at += len(keyword)
                return keyword
            self._pipeline()
            self._separator()

    def _separator(self) -> None:
        self.blanks()
        rest = self.text[self.at : self.at + 2]
        if rest in ("&&", "||"):
            self.at += 2
        elif rest == "&>":
            raise Uncertain("&> is a redirection in one shell and two commands in another")
        elif rest == ";;" or rest[:1] in ("", "\n", ")"):
            return
        elif rest[:1] in (";", "&"):
            self.at += 1
            if rest == ";&":
                raise Uncertain("not every shell knows ;&")
        else:
            raise Uncertain(f"it cannot be read from {self.text[self.at : self.at + 20]!r} on")

    def _to_next_command(self) -> None:
        self.blanks()
        while self.at < len(self.text) and self.text[self.at] == "\n":
            self._newline()
            self.blanks()

    def _pipeline(self) -> None:
        while True:
            while self._keyword() == "!":
                self.at += 1
                self.blanks()
            self._command()
            self.blanks()
            if self.text[self.at : self.at + 1] != "|" or self.text.startswith("||", self.at):
                return
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self._to_next_command()

    def _keyword(self) -> str:
        found = _KEYWORD.match(self.text, self.at)
        return found.group() if found else ""

    # -- commands

    def _command(self) -> None:
        if self.text.startswith("((", self.at):
            raise Uncertain("(( is arithmetic in one shell and a command in another")
        if self.text.startswith("(", self.at):
            self.at += 1
            self.commands_until_parenthesis()
            self._redirections(None)
            return
        keyword = self._keyword()
        if keyword in _OF_ONE_SHELL:
            raise Uncertain(f"{keyword!r} is grammar in one shell and a command in another")
        if keyword in _ENDS:
            raise Uncertain(f"{keyword!r} stands where a command should")
        parse: Callable[[], None] | None = {
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "case": self._case,
            "{": self._group,
        }.get(keyword)
        if parse is None:
            self._simple()
            return
        self.at += len(keyword)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Uncertain("it is nested too deep")
        parse()
        self._depth -= 1
        self._redirections(None)

    def _if(self) -> None:
        self._list(frozenset({"then"}))
        while True:
            end = self._list(frozenset({"elif", "else", "fi"}))
            if end == "fi":
                return
            if end == "else":
                self._list(frozenset({"fi"}))
                return
            self._list(frozenset({"then"}))

    def _while(self) -> None:
        self._list(frozenset({"do"}))
        self._list(frozenset({"done"}))

    def _group(self) -> None:
        self._list(frozenset({"}"}))

    def _for(self) -> None:
        self.blanks()
        name = self.word()
        if not name.bare or not name.text.isidentifier():
            raise Uncertain("a loop's variable has no plain name")
        self._add(Command((), (name.text,)))
        self._to_next_command()
        if self._keyword() == "in":
            self.at += 2
            self.blanks()
            while self.at < len(self.text) and self.text[self.at] not in ";\n":
                self.word()
                self.blanks()
        if self.text.startswith(";", self.at):
            self.at += 1
        self._to_next_command()
        if self._keyword() != "do":
            raise Uncertain("a loop without do")
        self.at += 2
        self._list(frozenset({"done"}))

    def _case(self) -> None:
        self.blanks()
        self.word()
        self._to_next_command()
        if self._keyword() != "in":
            raise Uncertain("a case without in")
        self.at += 2
        while True:
            self._to_next_command()
            if self._keyword() == "esac":
                self.at += 4
                return
            if self.text.startswith("(", self.at):
                self.at += 1
            self._patterns()
            if self._list(frozenset({";;", "esac"})) == "esac":
                return

    def _patterns(self) -> None:
        while True:
            self.blanks()
            self.word()
            self.blanks()
            sign = self.text[self.at : self.at + 1]
            self.at += 1
            if sign == ")":
                return
            if sign != "|":
                raise Uncertain("a pattern of a case that is not closed")

    def _simple(self) -> None:
        words: list[Word] = []
        assigned: list[str] = []
        command = Command((), ())
        while True:
            self.blanks()
            if self.at >= len(self.text) or self.text[self.at] in "\n;&|)":
                break
            if self.text[self.at] == "(":
                self._function(words, assigned)
                return
            if self._redirection(command):
                continue
            start = self.at
            word = self.word()
            found = _ASSIGNMENT.match(self.text, start) if not words else None
            if found:
                assigned.append(found.group(1))
            elif not words and _BASH_ASSIGNMENT.match(self.text, start):
                raise Uncertain("+= and [ are an assignment in one shell and a command in another")
            else:
                words.append(word)
        command.words, command.assigned = tuple(words), tuple(assigned)
        self._add(command)

    def _function(self, words: list[Word], assigned: list[str]) -> None:
        """`name() { …; }`. What it would run counts whether it is called or not, and its name means nothing."""
        parentheses = _PARENTHESES.match(self.text, self.at)
        if len(words) != 1 or assigned or not words[0].bare or parentheses is None:
            raise Uncertain("a ( stands where no shell, or only one of them, allows it")
        self.at = parentheses.end()
        self._to_next_command()
        if self._keyword() != "{" and not self.text.startswith("(", self.at):
            raise Uncertain("a function without a body in braces")
        self._command()

    def _add(self, command: Command) -> None:
        if len(self._commands) >= _MOST_COMMANDS:
            raise Uncertain(f"it has more than {_MOST_COMMANDS} commands")
        self._commands.append(command)

    # -- redirections

    def _redirections(self, command: Command | None) -> None:
        self.blanks()
        while self._redirection(command):
            self.blanks()

    def _redirection(self, command: Command | None) -> bool:
        """Past one, if one begins here. Process substitutions look alike, and are words."""
        number = _NUMBERED.match(self.text, self.at)
        if number is None or self.text.startswith(("<(", ">("), self.at):
            return False
        found = _REDIRECTION.match(self.text, number.end())
        if found is None:
            return False
        if self.text.startswith(("<(", ">("), found.start()):
            raise Uncertain("a number stands before a process substitution")
        self.at = found.end()
        self.blanks()
        start = self.at
        target = self.word()
        if self.at == start:
            raise Uncertain("a redirection leads nowhere")
        sign = found.group()
        if sign in ("<<", "<<-"):
            if not target.certain or "\n" in target.text or "\\\n" in self.text[start : self.at]:
                raise Uncertain("the end of a here-document is not written out")
            self._due.append((target.text, sign == "<<-", not target.bare, command))
        elif sign == "<<<" and command is not None and target.certain:
            command.body = target.text + "\n"
        return True

    def _newline(self) -> None:
        if self._due_outside:
            raise Uncertain("a line ends inside a substitution, before a here-document that was begun outside of it")
        self.at += 1
        due, self._due = self._due, []
        for delimiter, tabs, quoted, command in due:
            body = self._body(delimiter, tabs)
            if not quoted:
                if "\\\n" in body:
                    raise Uncertain("a line of a here-document is continued")
                if "$" in body or "`" in body or "\\" in body:
                    inner = _Reader(body, self._commands, self._depth + 1)
                    inner.expansions()
                    self._learn(inner)
                    body = HOLE
            self.note_hidden(body)
            if command is not None:
                command.body = None if body == HOLE else body

    def _body(self, delimiter: str, tabs: bool) -> str:
        begin = self.at
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            start, self.at = self.at, min(end + 1, len(self.text))
            if (line.lstrip("\t") if tabs else line) == delimiter:
                return self.text[begin:start]
        raise Uncertain("a here-document does not end")
