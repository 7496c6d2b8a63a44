"""Read a shell line with certainty or not at all: which simple commands can it run? For lists of forbidden commands.

`split_commands.py` guesses, because a limit must be found for any text. Here a wrong guess would let a forbidden
command through, so only what dash and bash understand in the same way is understood, and everything else raises
Uncertain: brackets and parentheses that one of them takes for grammar and the other for words, quotes that end in
different places, names that are put together while the line runs. A command counts wherever it stands: in a branch
that is never taken, in a function, in a substitution.
"""

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
    """It cannot be told what the line runs; the message says why, for people."""


def of_one_shell(word: str) -> Uncertain:
    """Return why a line with this word cannot be told: a shell may take it for its grammar, and another not."""
    return Uncertain(f"{word!r} is grammar in one shell and a command in another")


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
    """A position in a text, and the words from there on. A subclass reads what is inside a substitution."""

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
        """Read the commands of a substitution, up to and past its closing parenthesis."""
        raise NotImplementedError

    def commands_of(self, text: str) -> None:
        """Read the commands of a text that stands apart, such as the inside of backquotes."""
        raise NotImplementedError

    def blanks(self) -> None:
        """Skip blanks, continued lines and a comment, but no newline."""
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
        """Read the word that begins here. Raises Uncertain where two shells would read it differently."""
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
        """Note a text that is a substitution only for a shell that reads it a second time."""
        self.hides = self.hides or "$(" in text or "`" in text

    def expansions(self) -> None:
        """Read a text that is no command, as in a here-document: only what is substituted in it runs."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\":
                self.at += 2
            elif not self._substitution(char, quoted=True):
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
        else:
            self._substitution(char, quoted=False)

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
            elif not self._substitution(char, quoted=True):
                self._made.append(char)
                self.at += 1

    # -- expansions

    def _substitution(self, char: str, *, quoted: bool) -> bool:
        """Read what is substituted here; False: nothing is."""
        if char == "$":
            self._dollar(quoted=quoted)
        elif char == "`":
            self._backquote(quoted=quoted)
        else:
            return False
        return True

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


# --- commands --------------------------------------------------------------------------------------------------------


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
# All words of the grammar.
GRAMMAR = _ENDS | _OF_ONE_SHELL | {"!", "{", "if", "for", "while", "until", "case"}


class StrictCommand:
    """One simple command. `body` is what it is given to read, where that is written down in the line itself."""

    __slots__ = ("assigned", "body", "words")

    def __init__(self, words: tuple[Word, ...], assigned: tuple[str, ...]) -> None:
        self.words = words
        self.assigned = assigned
        self.body: str | None = None


def read(line: str, depth: int = 0) -> list[StrictCommand]:
    """Return every simple command that the line holds, in the order in which they stand. Raises Uncertain."""
    if len(line) > LONGEST:
        raise Uncertain(f"it has more than {LONGEST} characters")
    found: list[StrictCommand] = []
    reader = _Reader(line, found, depth)
    reader.whole()
    if reader.hides and (
        reader.counts or any(command.words and command.words[0].text in _COUNTING for command in found)
    ):
        raise Uncertain("one shell runs a substitution that it finds in a variable while it counts")
    return found


class _Reader(Words):
    def __init__(self, text: str, commands: list[StrictCommand], depth: int) -> None:
        super().__init__(text)
        if depth > _DEEPEST:
            raise Uncertain("it is nested too deep")
        self._commands = commands
        self._depth = depth
        # here-documents that begin after the next newline: delimiter, with tabs, quoted, whose
        self._due: list[tuple[str, bool, bool, StrictCommand | None]] = []
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
            raise of_one_shell(keyword)
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
        self._add(StrictCommand((), (name.text,)))
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
        command = StrictCommand((), ())
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

    def _add(self, command: StrictCommand) -> None:
        if len(self._commands) >= _MOST_COMMANDS:
            raise Uncertain(f"it has more than {_MOST_COMMANDS} commands")
        self._commands.append(command)

    # -- redirections

    def _redirections(self, command: StrictCommand | None) -> None:
        self.blanks()
        while self._redirection(command):
            self.blanks()

    def _redirection(self, command: StrictCommand | None) -> bool:
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
