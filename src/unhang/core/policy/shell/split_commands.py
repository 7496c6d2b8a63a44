"""Split any shell line into its simple commands: just enough of the grammar to see what would be run.

One pass from left to right with a stack of frames instead of recursion, so that the cost is linear, a hundred
thousand opening parentheses are only a list, and no input raises: what is left open at the end is closed
there, what closes nothing is skipped. A generated script is read only so far (`MOST_STEPS`,
`MOST_COMMANDS`): what a line is, it says long before that, and an answer must come in milliseconds. Each
frame is one context of the grammar:

    list    commands up to the end, `)` or a backquote: the line itself, ( … ), $( … ), ` … `, <( … )
    quote   inside "…": only $ and ` and \\ mean anything
    brace   inside ${…}
    arith   inside $(( … )) and (( … )), where nothing is a command
    skip    words that are no commands: the elements of an array, an extended glob

Commands inside substitutions are commands like any other, since they run. Here-documents are taken out and
kept with their command, because `bash <<EOF` runs them.
"""

from __future__ import annotations

# After these a command begins; before these one ends.
_OPENERS = frozenset({"if", "while", "until", "{", "case", "for", "select"})
_CLOSERS = frozenset({"fi", "done", "esac", "}"})
_MIDDLES = frozenset({"then", "else", "elif", "do", "!", "coproc"})
_HEADERS = frozenset({"for", "select"})
_ENDINGS = frozenset({"break", "exit", "return", "exec"})
_FOREVER = {
    "while": frozenset({("true",), (":",), ("[", "1", "]"), ("/bin/true",)}),
    "until": frozenset({("false",)}),
}


class Simple:
    """One simple command: its words without quotes, and the here-document it reads."""

    __slots__ = ("background", "body", "words")

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self.background = False
        self.body: str | None = None


class Script:
    """The commands in the order in which they end; `endless` is the head of a loop that nothing leaves."""

    __slots__ = ("commands", "cut", "endless", "endless_background")

    def __init__(self) -> None:
        self.commands: list[Simple] = []
        self.endless: tuple[str, ...] | None = None
        self.endless_background = False
        self.cut = False


class Frame:
    """One level of nesting that is still open: a list of commands, a substitution, or text that is skipped."""

    __slots__ = (
        "bodies", "cases", "closer", "depth", "header", "heredoc", "in_test", "in_word", "kind", "lists",
        "loop", "quoted", "start", "target", "word", "words",
    )  # fmt: skip

    def __init__(self, kind: str, closer: str, start: int) -> None:
        self.kind = kind
        self.closer = closer
        self.words: list[tuple[str, bool]] = []
        self.word: list[str] = []
        self.in_word = False
        self.quoted = False
        self.target = ""  # "file" after a redirection, "here" or "here-" after << : the next word belongs to it
        self.bodies: list[tuple[str, bool]] = []  # here-documents that begin after the next newline
        self.heredoc: list[Simple] = []  # commands that read them
        self.header = ""  # inside `for x in …` or before the `in` of `case`
        self.cases: list[bool] = []  # one per open `case`; True while a pattern is expected
        self.in_test = False
        self.loop = ""
        self.start = start  # how many commands there were when this list began: what a `&` sends to the background
        self.lists: list[int] = []
        self.depth = 0


class Commands:
    """What has been found so far, and the frame that is being filled."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self.script = Script()
        self.frame = Frame("list", "", 0)
        self.stack: list[Frame] = []
        self.spans: list[tuple[int, int]] = []
        self.functions: set[str] = set()
        self.ends = False
        self.loops: list[tuple[tuple[str, ...], int]] = []

    def end_word(self) -> None:
        """End the word that is being read, if there is one, and put it where it belongs."""
        frame = self.frame
        if not frame.in_word:
            return
        text, quoted = "".join(frame.word), frame.quoted
        frame.word.clear()
        frame.in_word = False
        frame.quoted = False
        if frame.kind == "skip":
            return
        if frame.target:
            if frame.target != "file":
                frame.bodies.append((text, frame.target == "here-"))
            frame.target = ""
            return
        if frame.cases and frame.cases[-1]:
            if text == "esac" and not quoted:
                frame.cases.pop()
                self._leave()
            return
        if frame.header:
            self._header_word(text)
            return
        if not frame.words and not quoted and self._reserved(text):
            return
        frame.words.append((text, quoted))
        if text == "[[" and len(frame.words) == 1:
            frame.in_test = True
        elif text == "]]" and frame.in_test:
            frame.in_test = False

    def _reserved(self, text: str) -> bool:
        frame = self.frame
        if text in _OPENERS:
            frame.lists.append(frame.start)
            if text in _HEADERS or text == "case":
                frame.header = text
            else:
                frame.loop = text
            return True
        if text in _CLOSERS:
            if text == "esac" and frame.cases:
                frame.cases.pop()
            self._leave()
            return True
        if text == "function":
            frame.header = "function"
            return True
        return text in _MIDDLES

    def _leave(self) -> None:
        """A compound command has ended: what a `&` after it sends to the background began before it."""
        frame = self.frame
        if frame.lists:
            frame.start = frame.lists.pop()
        frame.loop = ""

    def _header_word(self, text: str) -> None:
        frame = self.frame
        if frame.header == "function":
            self.functions.add(text)
            frame.header = ""
        elif frame.header == "case" and text == "in":
            frame.header = ""
            frame.cases.append(True)
        elif text == "do":
            frame.header = ""

    def end_command(self) -> None:
        """End the command that is being read and record it, if it has words."""
        frame = self.frame
        self.end_word()
        frame.target = ""
        frame.in_test = False
        if frame.header and frame.header != "case":
            frame.header = ""
        if frame.kind != "list" or not frame.words:
            frame.words.clear()
            return
        words = tuple(text for text, _ in frame.words)
        frame.words.clear()
        simple = Simple(words)
        self.script.commands.append(simple)
        if frame.bodies:
            frame.heredoc.append(simple)
        if words[0] in _ENDINGS:
            self.ends = True
        if frame.loop in ("while", "until") and words in _FOREVER[frame.loop]:
            self.loops.append(((frame.loop, *words), len(self.script.commands) - 1))
        frame.loop = ""

    def end_list(self) -> None:
        """Begin a new list: a `&` after this sends only what follows to the background."""
        self.frame.start = len(self.script.commands)

    def take_bodies(self) -> None:
        """Read the here-documents that begin at this newline and give the last one to the command that reads it."""
        frame, line = self.frame, self.line
        bodies: list[str] = []
        for delimiter, dash in frame.bodies:
            begin = self.at
            end = begin
            while end < len(line):
                newline = line.find("\n", end)
                after = len(line) if newline < 0 else newline
                text = line[end:after]
                if (text.lstrip("\t") if dash else text) == delimiter:
                    bodies.append(line[begin:end])
                    self.at = min(after + 1, len(line))
                    break
                end = after + 1
            else:
                bodies.append(line[begin:])
                self.at = len(line)
        if frame.heredoc and bodies:
            # the last one is what the command reads
            frame.heredoc[0].body = bodies[-1]
        frame.bodies.clear()
        frame.heredoc.clear()

    def finished(self) -> Script:
        """Return the script, with its background commands and its endless loop marked; no more text may follow."""
        commands = self.script.commands
        steps = [0] * (len(commands) + 1)
        for first, last in self.spans:
            steps[first] += 1
            steps[last] -= 1
        level = 0
        for index, simple in enumerate(commands):
            level += steps[index]
            simple.background = level > 0
        if self.loops and not self.ends:
            head, at = self.loops[0]
            self.script.endless = head
            self.script.endless_background = at < len(commands) and commands[at].background
        if self.functions:
            self.script.commands = [c for c in commands if c.words[0] not in self.functions]
        return self.script


# --- reading characters ----------------------------------------------------------------------------------------------


# Where a run of ordinary characters ends, in each context. Without the `re` module, whose import costs more than
# splitting any line that a person would write.
_PLAIN = frozenset(" \t\n\r\f\v'\"\\$`;&|<>()#")
_QUOTED = frozenset('"\\$`')
_BRACED = frozenset("'\"\\$`}")
_ARITHMETIC = frozenset("()$`")
_BLANK = frozenset(" \t\r\f\v")

# Some 15 ms of work on a slow machine; a quoted text or a here-document of any length is one step.
MOST_STEPS = 10_000
MOST_COMMANDS = 500
DEEPEST = 500


def split(line: str) -> Script:
    """Split a line into its commands; nothing is raised, whatever the text."""
    return _Splitter(line).run()


class _Splitter(Commands):
    def run(self) -> Script:
        line, size = self.line, len(self.line)
        commands = self.script.commands
        steps = 0
        while self.at < size:
            steps += 1
            if steps > MOST_STEPS or len(commands) >= MOST_COMMANDS or len(self.stack) > DEEPEST:
                self.script.cut = True
                break
            kind = self.frame.kind
            if kind == "list" or kind == "skip":
                self._in_list(line[self.at])
            elif kind == "quote":
                self._in_quote(line[self.at])
            elif kind == "brace":
                self._in_brace(line[self.at])
            else:
                self._in_arithmetic(line[self.at])
        while self.stack:
            self._pop()
        self.end_command()
        return self.finished()

    def _run(self, stops: frozenset[str]) -> str:
        """The ordinary characters from here on, and past them."""
        line, start, size = self.line, self.at, len(self.line)
        end = start
        while end < size and line[end] not in stops:
            end += 1
        self.at = end
        return line[start:end]

    def _end_of_ansi(self, at: int) -> int:
        """Where the quote of $'…' ends: the first one with no backslash before it, or the end."""
        end = self.line.find("'", at)
        while end >= 0:
            escape = self.line.find("\\", at, end)
            if escape < 0:
                return end
            at = escape + 2
            if end < at:
                end = self.line.find("'", at)
        return len(self.line)

    # -- the contexts

    def _in_list(self, char: str) -> None:
        frame, line = self.frame, self.line
        if char not in _PLAIN:
            frame.word.append(self._run(_PLAIN))
            frame.in_word = True
            return
        if char == "\n":
            self.end_command()
            self.end_list()
            self.at += 1
            if frame.bodies:
                self.take_bodies()
            return
        if char in _BLANK or (char == "\\" and line.startswith("\\\n", self.at)):
            if char in _BLANK:
                self.end_word()
                self.at += 1
            else:
                # a line that goes on in the middle of a word is one word
                self.at += 2
            return
        if char in "'\"\\$`":
            self._quoting(char)
            return
        if char == "#":
            if frame.in_word:
                frame.word.append(char)
                self.at += 1
            else:
                end = line.find("\n", self.at)
                end = len(line) if end < 0 else end
                # a backquoted substitution ends even inside a comment of its own
                closing = line.find("`", self.at, end) if frame.closer == "`" else -1
                self.at = closing if closing >= 0 else end
            return
        if frame.in_test and char in "&|<>()":
            self.end_word()
            self.at += 1
            return
        self._operator(char)

    def _in_quote(self, char: str) -> None:
        frame = self.frame
        if char not in _QUOTED:
            frame.word.append(self._run(_QUOTED))
        elif char == '"':
            self.at += 1
            self._pop()
        else:
            self._quoting(char)

    def _in_brace(self, char: str) -> None:
        frame = self.frame
        if char not in _BRACED:
            frame.word.append(self._run(_BRACED))
        elif char == "}":
            frame.word.append(char)
            self.at += 1
            self._pop()
        else:
            self._quoting(char)

    def _in_arithmetic(self, char: str) -> None:
        frame = self.frame
        if char not in _ARITHMETIC:
            self._run(_ARITHMETIC)
        elif char == "(":
            frame.depth += 1
            self.at += 1
        elif char == ")":
            frame.depth -= 1
            self.at += 1
            if frame.depth <= 0:
                self._pop()
        else:
            self._quoting(char)

    def _quoting(self, char: str) -> None:
        """Quotes, escapes and substitutions, which mean the same wherever they mean anything."""
        frame, line = self.frame, self.line
        if char == "`" and frame.closer == "`":
            self._close_list()
            return
        frame.in_word = True
        following = line[self.at + 1 : self.at + 2]
        if char == "\\":
            self.at += 2
            if following != "\n":
                frame.word.append(following)
                frame.quoted = True
        elif char == "'":
            end = line.find("'", self.at + 1)
            end = len(line) if end < 0 else end
            frame.word.append(line[self.at + 1 : end])
            frame.quoted = True
            self.at = end + 1
        elif char == '"':
            frame.quoted = True
            self.at += 1
            self._push("quote", '"')
        elif char == "`":
            if any(below.closer == "`" for below in self.stack[-3:]) and frame.kind == "quote":
                # the end of the substitution that this quote stands in
                self._pop()
            else:
                frame.word.append("`…`")
                self.at += 1
                self._push("list", "`")
        elif following == "(":
            frame.word.append("$(…)")
            if line.startswith("$((", self.at):
                self.at += 3
                self._push("arith", ")")
                self.frame.depth = 2
            else:
                self.at += 2
                self._push("list", ")")
        elif following == "{":
            frame.word.append("${")
            self.at += 2
            self._push("brace", "}")
        elif following == "'" and frame.kind == "list":
            end = self._end_of_ansi(self.at + 2)
            frame.word.append(line[self.at + 2 : end].replace("\\'", "'"))
            frame.quoted = True
            self.at = end + 1
        elif following == '"' and frame.kind == "list":
            self.at += 1
        else:
            frame.word.append("$")
            self.at += 1

    # -- operators

    def _operator(self, char: str) -> None:
        frame, line, at = self.frame, self.line, self.at
        if char in "<>":
            self._redirection(char)
        elif char == "&" and line.startswith("&>", at):
            self.end_word()
            self.at += 3 if line.startswith("&>>", at) else 2
            frame.target = "file"
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        else:
            self.end_command()
            if char == "&" and not line.startswith("&&", at):
                if frame.start < len(self.script.commands):
                    self.spans.append((frame.start, len(self.script.commands)))
                self.end_list()
            elif char == ";":
                self.end_list()
                if line[at + 1 : at + 2] in (";", "&") and frame.cases:
                    frame.cases[-1] = True
            self.at += 2 if line[at + 1 : at + 2] in ("&", "|", ";") else 1

    def _redirection(self, char: str) -> None:
        frame, line, at = self.frame, self.line, self.at
        if frame.in_word and not frame.quoted and "".join(frame.word).isdigit():
            frame.word.clear()
            frame.in_word = False
        if line.startswith(("<(", ">("), at):
            frame.word.append(f"{char}(…)")
            frame.in_word = True
            self.at += 2
            self._push("list", ")")
            return
        self.end_word()
        if line.startswith("<<<", at):
            self.at += 3
            frame.target = "file"
        elif line.startswith("<<", at):
            dash = line.startswith("<<-", at)
            self.at += 3 if dash else 2
            frame.target = "here-" if dash else "here"
        else:
            at += 1
            if line[at : at + 1] in (">", "&", "|"):
                at += 1
            self.at = at
            frame.target = "file"

    def _open(self) -> None:
        frame, line = self.frame, self.line
        if frame.kind == "skip":
            self.at += 1
            self._push("skip", ")")
        elif frame.in_word and frame.word and frame.word[-1][-1:] in ("=", "?", "*", "+", "@", "!"):
            # an array, or an extended glob: words, but no commands
            self.at += 1
            self._push("skip", ")")
        elif frame.in_word and line.startswith(")", self.at + 1) and not frame.words:
            self.functions.add("".join(frame.word))
            frame.word.clear()
            frame.in_word = False
            self.at += 2
        elif frame.cases and frame.cases[-1]:
            self.at += 1
        elif line.startswith("((", self.at) and not frame.in_word and (not frame.words or frame.header):
            infinite = line.startswith("((;;))", self.at)
            if infinite and frame.header == "for":
                self.loops.append((("for", "((;;))"), len(self.script.commands)))
            self.at += 2
            self._push("arith", ")")
            self.frame.depth = 2
        else:
            self.end_command()
            self.at += 1
            self._push("list", ")")

    def _close(self) -> None:
        frame = self.frame
        if frame.cases and frame.cases[-1]:
            frame.word.clear()
            frame.in_word = False
            frame.words.clear()
            frame.cases[-1] = False
            self.at += 1
        elif frame.closer == ")":
            self._close_list()
        else:
            self.end_command()
            self.at += 1

    def _close_list(self) -> None:
        self.end_command()
        self.at += 1
        self._pop()

    # -- frames

    def _push(self, kind: str, closer: str) -> None:
        outer = self.frame
        self.stack.append(outer)
        self.frame = Frame(kind, closer, len(self.script.commands))
        if kind in ("quote", "brace"):
            # one word, whatever is nested in it: copying it outward at each level would be quadratic
            self.frame.word = outer.word

    def _pop(self) -> None:
        inner = self.frame
        if inner.kind == "list":
            self.end_command()
        self.frame = self.stack.pop()
        if inner.kind in ("quote", "brace"):
            self.frame.in_word = True
        elif inner.kind == "skip":
            self.frame.word.append("(…)")
