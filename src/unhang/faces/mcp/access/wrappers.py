"""Finds the commands that a command runs in its turn, from its words alone, for the lists of `check.py`.

A shell runs a line, `find` and `xargs` run a command, `eval` and `trap` run their arguments, and a wrapper such as
`sudo` runs the rest of its words. A command whose effect is not certain raises Uncertain, or is reported as `code`.
"""

from __future__ import annotations

import fnmatch
import itertools
from typing import NamedTuple

from unhang.core.policy.shell.strict_reader import HOLE, Uncertain, Word
from unhang.core.policy.shell.wrapper_commands import FIND_ACTIONS, is_assignment, options_of, unwrap
from unhang.faces.mcp.access import interpreters

# Only the grammar of these is read by `core/policy/shell/strict_reader.py`.
_SHELLS = frozenset({"sh", "bash", "dash", "ash"})
_SHELL_LETTERS = frozenset("abcefhiklmnoprstuvxBCDEHOPT")
# These change what later words of the line mean, or run a function that the line does not name.
_CHANGING = frozenset({"alias", "fc", "bind", "complete", "compgen", "enable"})
# These set variables by name; in bash they also run a substitution that stands in an index.
_SETTING = frozenset({"export", "readonly", "declare", "typeset", "local", "read", "unset", "getopts", "let", "printf"})
_TESTING = frozenset({"test", "[", "[["})
# Wrappers beside those that the policy knows: the first word that is no option is the command.
_FURTHER = (
    *("fakeroot", "eatmydata", "setpriv", "prlimit", "gosu", "su-exec", "tini", "dumb-init", "valgrind", "runcon"),
    *("cgexec", "faketime", "proot", "toybox"),
)
# Options that take no value, of the wrappers that are in daily use. With any other the command may stand elsewhere.
_FLAGS = {
    "sudo": "-E -n -H -S -k -A -b -P --preserve-env --non-interactive --set-home --stdin",
    "env": "-i - -0 -v --ignore-environment --null --debug",
    "nice": "",
    "nohup": "",
    "setsid": "-c -f -w --ctty --fork --wait",
    "timeout": "-v --foreground --preserve-status --verbose",
    "stdbuf": "",
    "time": "-p -v -a -q --portability --verbose --append --quiet",
    "exec": "-c -l -cl",
    "xargs": "-0 -r -t -p -x --null --no-run-if-empty --verbose --exit",
    "npx": "-y -q --yes --no --quiet --no-install",
    "docker run": "-i -t -it -d --rm --init --privileged --detach --interactive --tty -dit -itd",
    "docker exec": "-i -t -it -d --interactive --tty --detach --privileged",
}
_SUDO_SHELLS = frozenset({"-i", "-s", "--login", "--shell", "-e", "--edit"})


class Inside(NamedTuple):
    """The lines and commands that one command runs, and the variables that it sets."""

    lines: tuple[str, ...] = ()
    commands: tuple[tuple[Word, ...], ...] = ()
    # these words may be a command, too: an option before them is not known, or they name a script
    perhaps: tuple[Word, ...] = ()
    optional: bool = True  # `perhaps` is only a name: the allow list does not apply to it
    variables: tuple[str, ...] = ()
    code: str = ""  # not empty: it runs code that is not examined; the text says why
    transparent: bool = False  # it only runs what is inside, and does nothing of its own


def commands_inside(name: str, words: tuple[Word, ...], body: str | None) -> Inside:
    """Return what the command `words` runs. `body`: the here-document on its stdin. Raises Uncertain."""
    if name in _CHANGING or name.startswith(("ld-linux", "ld-musl", "ld.so")):
        raise Uncertain(f"{name} changes or hides what is run")
    if name in _SETTING or name in _TESTING:
        return _setting(name, words)
    special = {
        "eval": _eval,
        "trap": _trap,
        ".": _source,
        "source": _source,
        "hash": _with_option,
        "mapfile": _with_option,
        "readarray": _with_option,
        "command": _command,
        "find": _find,
        "gfind": _find,
        "xargs": _xargs,
    }.get(name)
    if special is not None:
        return special(words)
    if name in _SHELLS:
        return _shell(name, words, body)
    code = interpreters.unexamined_code(name, words)
    if code:
        return Inside(code=code)
    return _wrapper(name, words)


# --- what the shell does itself -----------------------------------------------------------------------------


def _certain(words: tuple[Word, ...], what: str) -> list[str]:
    if not all(word.certain for word in words):
        raise Uncertain(f"{what} is put together while it runs")
    return [word.text for word in words]


def _eval(words: tuple[Word, ...]) -> Inside:
    return Inside(lines=(" ".join(_certain(words[1:], "what eval is given")),), transparent=True)


def _trap(words: tuple[Word, ...]) -> Inside:
    given = [text for text in _certain(words[1:], "what trap is given") if text != "--"]
    if len(given) < 2 or given[0] in ("", "-") or given[0].isdigit() or given[0] in ("-l", "-p"):
        return Inside()
    return Inside(lines=(given[0],))


def _source(words: tuple[Word, ...]) -> Inside:
    """A sourced file is a script like any other. Code on the line itself, or from a pipe, is refused."""
    if len(words) < 2 or not interpreters.is_file(words[1]):
        raise Uncertain("the file that is read is not named")
    return Inside(perhaps=words[1:])


def _with_option(words: tuple[Word, ...]) -> Inside:
    """`hash -p` gives a command another program, `mapfile -C` runs a command."""
    if any(word.text.startswith(("-p", "-C")) or not word.certain for word in words[1:]):
        raise Uncertain(f"{words[0].text} may change or hide what is run")
    return Inside()


def _setting(name: str, words: tuple[Word, ...]) -> Inside:
    indexed = name in _SETTING or any(word.text == "-v" for word in words)
    for word in words[1:]:
        hidden = "$(" in word.text or "`" in word.text or (indexed and HOLE in word.text)
        if "[" in word.text and hidden:
            raise Uncertain("one shell runs the substitution that stands in an index")
    if name in _TESTING:
        return Inside()
    if name == "printf":
        if len(words) > 1 and words[1].text.startswith("-v"):
            return Inside(variables=tuple(_certain(words[1:3], "the variable")))
        return Inside()
    variables: list[str] = []
    for word in words[1:]:
        if word.text.startswith("-"):
            continue
        variable, equals, _ = word.text.partition("=")
        if not (word.whole or equals) or (HOLE in variable and variable.replace(HOLE, "_").isidentifier()):
            raise Uncertain(f"which variable {name} sets is not written out")
        variables.append(variable)
    return Inside(variables=tuple(variables))


def _command(words: tuple[Word, ...]) -> Inside:
    rest = words[1:]
    while rest and rest[0].certain and rest[0].text.startswith("-"):
        if "v" in rest[0].text.lower():
            return Inside()  # it only asks where a command is
        rest = rest[1:]
    return Inside(commands=(rest,) if rest else ())


# --- commands that run a command -------------------------------------------------------------------------------


def _find(words: tuple[Word, ...]) -> Inside:
    found: list[tuple[Word, ...]] = []
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if word.certain and word.text in FIND_ACTIONS:
            start = at
            while at < len(words) and words[at].text not in (";", "+"):
                at += 1
            if at in (start, len(words)):
                raise Uncertain(f"{word.text} has no command, or no end")
            found.append(tuple(_with_hole(one, "{}") for one in words[start:at]))
        elif not word.whole and (HOLE in word.text or any(fnmatch.fnmatchcase(one, word.text) for one in FIND_ACTIONS)):
            raise Uncertain("what find is to do is put together while it runs")
    return Inside(commands=tuple(found))


def _with_hole(word: Word, mark: str) -> Word:
    """Return the word with its mark as a hole, because the text that replaces the mark is not known."""
    if not mark or mark not in word.text:
        return word
    return Word(word.text.replace(mark, HOLE), certain=False)


def _xargs(words: tuple[Word, ...]) -> Inside:
    texts = tuple(word.text for word in words)
    step = unwrap(texts)
    if step is None:
        return Inside()
    start = len(words) - len(step.words)
    options, inner = texts[1:start], words[start:]
    mark = ""
    for option, following in itertools.pairwise((*options, "")):
        if option.startswith("-I"):
            mark = option[2:] or following
        elif option.startswith("-i"):
            mark = option[2:] or "{}"
        elif option.startswith("--replace"):
            mark = option.partition("=")[2] or "{}"
    if mark:
        inner = tuple(_with_hole(word, mark) for word in inner)
    else:
        inner = (*inner, Word(HOLE, certain=False, whole=False))
    return Inside(commands=(inner,), perhaps=_doubtful("xargs", words[1:start], inner), optional=False)


def _doubtful(spec: str, options: tuple[Word, ...], inner: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words after the command that was found, if an option before it may take its first word as a value."""
    valued, flags = options_of(spec), _FLAGS.get(spec, "").split()
    for option in options:
        text = option.text
        if not option.certain and text.startswith("-"):
            raise Uncertain(f"an option of {spec} is put together while it runs")
        if not text.startswith("-") or text in valued or text in flags or text == "--":
            continue
        if (text.startswith("--") and "=" in text) or text[:2] in valued or text[1:].isdigit():
            continue
        if spec == "stdbuf" or (spec == "exec" and set(text) <= set("-cla")):
            continue
        return inner[1:]
    return ()


def _wrapper(name: str, words: tuple[Word, ...]) -> Inside:
    texts = tuple(word.text for word in words)
    if name == "sudo" and _SUDO_SHELLS & set(texts):
        raise Uncertain("sudo is to start a shell")
    if name == "env" and any(_splits(text) for text in texts[1:]):
        return _env(words)
    if name in _FURTHER:
        at = next((at for at, text in enumerate(texts[1:], 1) if not text.startswith("-")), len(words))
        return Inside(commands=(words[at:],) if at < len(words) else (), perhaps=words[at + 1 :], optional=False)
    step = unwrap(texts)
    if step is None:
        if name in ("su", "runuser", "script", "nix-shell"):
            raise Uncertain(f"{name} starts a shell")
        return Inside()
    if step.line is not None:
        if HOLE in step.line or not all(word.certain for word in words):
            raise Uncertain(f"the line that {name} is to run is put together while it runs")
        return Inside(lines=(step.line,))
    start = len(words) - len(step.words)
    inner = words[start:]
    if step.instead or step.name.endswith(" -m"):  # a script of the project, a module: a name, and no program
        return Inside(perhaps=inner)
    if any(not word.whole for word in words[1:start]):
        raise Uncertain(f"where the command of {name} begins is put together while it runs")
    variables = tuple(text.partition("=")[0] for text in texts[1:start] if is_assignment(text))
    perhaps = _doubtful(step.name, words[1:start], inner)
    return Inside(commands=(inner,), perhaps=perhaps, optional=False, variables=variables)


def _splits(text: str) -> bool:
    return text.startswith("--s") or (text[:1] == "-" and text[:2] != "--" and "S" in text)


def _env(words: tuple[Word, ...]) -> Inside:
    """`env -S LINE …` splits its line nearly as a shell would."""
    texts = _certain(words, "what env is given")
    at = next(at for at, text in enumerate(texts) if _splits(text))
    if texts[at] not in ("-S", "--split-string") or any(char in text for text in texts for char in "\\${"):
        raise Uncertain("env -S has rules of its own")
    return Inside(lines=(" ".join(texts[at + 1 :]),))


# --- shells -------------------------------------------------------------------------------------------------


def _shell(name: str, words: tuple[Word, ...], body: str | None) -> Inside:
    takes_line = reads_input = False
    at = 1
    while at < len(words) and words[at].text[:1] in ("-", "+") and words[at].text not in ("-", "--"):
        word = words[at]
        if not word.certain or word.text in ("--rcfile", "--init-file"):
            raise Uncertain(f"an option of {name} decides what it runs")
        letters = "" if word.text.startswith("--") else word.text[1:]
        if not set(letters) <= _SHELL_LETTERS or "o" in letters[:-1].lower():
            raise Uncertain(f"an option of {name} is not known here")
        takes_line = takes_line or "c" in letters
        reads_input = reads_input or "s" in letters
        at += 2 if letters[-1:] in ("o", "O") else 1
    at += at < len(words) and words[at].text in ("-", "--")
    if takes_line:
        if at >= len(words):
            return Inside()
        (line,) = _certain(words[at : at + 1], f"the line that {name} is to run")
        return Inside(lines=(line,), transparent=True)
    if at < len(words) and not reads_input:
        if not interpreters.is_file(words[at]):
            return Inside(code=f"which script {name} is to run is not named")
        return Inside(perhaps=words[at:])
    if body is not None:
        return Inside(lines=(body,), transparent=True)
    return Inside(code=f"{name} runs what it reads")
