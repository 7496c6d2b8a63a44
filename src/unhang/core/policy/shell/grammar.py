"""How words become simple commands: reserved words, redirections, here-documents, loops without an end.

The lower half of the splitter; `shell.py` has the upper one, which reads characters, and the essay on both.
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
        self.frame.start = len(self.script.commands)

    def take_bodies(self) -> None:
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
