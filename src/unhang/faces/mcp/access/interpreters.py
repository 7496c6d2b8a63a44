"""Finds interpreters that get code on the command line or on their input, for the lists of `check.py`.

Code can start any program, and each interpreter has a language of its own. Only programs of `awk` and `sed` are read:
both are in daily use, and the few ways in which they can start a program are easy to find.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.policy.shell.strict_reader import Word

# Interpreter → the options that are followed by code. With the name of a script, or `-m` of Python, there is none.
_INTERPRETERS = {
    "python": "-c",
    "pypy": "-c",
    "perl": "-e -E",
    "ruby": "-e",
    "node": "-e -p -pe --eval --print",
    "nodejs": "-e -p -pe --eval --print",
    "bun": "-e -p --eval --print",
    "deno": "eval",
    "php": "-r -R -B -E --run",
    "lua": "-e",
    "luajit": "-e",
    "tclsh": "",
    "wish": "",
    "expect": "-c",
    "osascript": "-e",
    "rscript": "-e",
    "r": "-e",
    "julia": "-e -E --eval --print",
    "ghc": "-e",
    "ocaml": "-e",
    "erl": "-eval",
    "elixir": "-e --eval",
    "groovy": "-e",
    "scala": "-e",
    "guile": "-c",
    "racket": "-e",
    "sbcl": "--eval",
    "pwsh": "-c -command -Command -EncodedCommand",
    "fish": "-c -C --command",
    "zsh": "-c",
    "ksh": "-c",
    "mksh": "-c",
    "yash": "-c",
    "csh": "-c",
    "tcsh": "-c",
    "nu": "-c",
    "xonsh": "-c",
}
# These run a line from their words or from their input, each by rules of its own.
_LINE_RUNNERS = frozenset({"watch", "at", "batch", "crontab", "parallel", "entr", "tmux", "screen", "hyperfine"})
_CODE_MODULES = frozenset({"timeit", "code", "pdb", "trace", "cprofile", "profile"})
_HARMLESS = frozenset({"--version", "--help"})
_VERSION = {"-v": "node nodejs perl ruby php lua luajit bun julia fish", "-V": "python pypy deno", "-VV": "python"}
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk", "original-awk"})
_SEDS = frozenset({"sed", "gsed"})
_SED_FLAGS = frozenset("nErsuz")
_SED_LONG = (
    *("--quiet", "--silent", "--regexp-extended", "--separate", "--unbuffered", "--null-data", "--in-place"),
    *("--posix", "--sandbox", "--debug", "--version", "--help", "--file"),
)


def unexamined_code(name: str, words: tuple[Word, ...]) -> str:
    """Return why this command runs code that is not examined; empty if it runs none."""
    if name in _AWKS:
        return _awk(words)
    if name in _SEDS:
        return _sed(words)
    if name in _LINE_RUNNERS:
        return f"{name} runs lines"
    plain = name if name in _INTERPRETERS else name.rstrip("0123456789.-")
    if plain not in _INTERPRETERS:
        return ""
    return _interpreter(plain, _INTERPRETERS[plain].split(), words[1:])


def _interpreter(name: str, flags: list[str], words: tuple[Word, ...]) -> str:
    given = f"{name} is given code"
    letters = {flag[1] for flag in flags if len(flag) == 2}
    at = 0
    while at < len(words):
        text = words[at].text
        if text in flags or (name == "deno" and text in ("repl", "eval")):
            return given
        if not text.startswith("-") or text == "-":
            break
        if not words[at].certain:
            return f"an option of {name} is put together while it runs"
        if name == "python" and text.startswith("-m"):
            module = text[2:] or (words[at + 1].text if at + 1 < len(words) else "")
            return given if module.lower() in _CODE_MODULES or not module else ""
        if text.startswith("--"):
            if text.partition("=")[0] in flags:
                return given
        elif _cluster_has(name, text, letters):
            return given
        at += 2 if name == "python" and text in ("-W", "-X") else 1
    if at >= len(words):
        only = words[0].text if len(words) == 1 else ""
        asks = only in _HARMLESS or name in _VERSION.get(only, "").split()
        return "" if asks else f"{name} runs what it reads"
    return "" if is_file(words[at]) else f"which script {name} is to run is not named"


def is_file(word: Word) -> bool:
    """Return whether the word is the written-out name of a script, and not another name of standard input."""
    if not word.named or word.text.startswith("-"):
        return False
    parts = [part for part in word.text.split("/") if part not in ("", ".")]
    device = word.text.startswith("/") and parts[:1] in (["dev"], ["proc"])
    return not device and parts[-1:] != ["stdin"] and "fd" not in parts[-2:-1]


def _cluster_has(name: str, text: str, letters: set[str]) -> bool:
    """Whether a group of letters has one that is followed by code: `perl -lane CODE`, `python -uc CODE`.

    An earlier letter may take the rest of the word as its value.
    """
    takes_rest = {"perl": "IxFDi", "ruby": "rICEFx", "python": "WX"}.get(name, "")
    for number, letter in enumerate(text[1:], 1):
        if letter in letters:
            return True
        if name == "perl" and letter in "Mm":  # what follows is put into the program as it is
            return re.fullmatch(r"-?[A-Za-z0-9_:]+(=[A-Za-z0-9_:,]*)?", text[number + 1 :]) is None
        if letter in takes_rest:
            return False
    return False


# --- awk ----------------------------------------------------------------------------------------------------


def _awk(words: tuple[Word, ...]) -> str:
    at, from_file = 1, False
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if not text.startswith("-") or text == "-":
            break
        if text[:2] in ("-F", "-v", "-f"):
            from_file = from_file or text[:2] == "-f"
            at += 1 if len(text) > 2 else 2
        elif text in ("--version", "--help", "-V") or text.startswith(("--field-separator=", "--assign=")):
            at += 1
        else:
            return f"an option of {words[0].text} may be code"
    if from_file or at >= len(words):
        return ""
    program = words[at]
    if not program.certain:
        return f"the program of {words[0].text} is put together while it runs"
    if "system" in program.text or "|" in program.text.replace("||", "") or "@" in program.text:
        return f"the program of {words[0].text} may start others"
    return ""


# --- sed ----------------------------------------------------------------------------------------------------


def _sed(words: tuple[Word, ...]) -> str:
    scripts: list[Word] = []
    operands: list[Word] = []
    from_file = False
    at = 1
    while at < len(words):
        word = words[at]
        text = word.text
        at += 1
        if not text.startswith("-") or text == "-":
            operands.append(word)
        elif text.startswith("--expression="):
            scripts.append(word)
        elif text.startswith("--"):
            from_file = from_file or text.startswith("--file")
            if text.partition("=")[0] not in _SED_LONG:
                return "an option of sed may be code"
        else:
            for number, letter in enumerate(text[1:], 2):
                if letter in "ef":
                    from_file = from_file or letter == "f"
                    if text[number:]:
                        return "an option of sed is followed by its script without a blank"
                    scripts += words[at : at + 1] if letter == "e" else ()
                    at += 1
                    break
                if letter == "i":
                    break
                if letter not in _SED_FLAGS:
                    return "an option of sed may be code"
    if not scripts and not from_file:
        scripts = operands[:1]
    for script in scripts:
        if not script.certain:
            return "the script of sed is put together while it runs"
        if not _is_plain_sed(script.text.removeprefix("--expression=")):
            return "the script of sed may start a program"
    return ""


# A bracket may hold the sign that ends the pattern, and the kinds of sed do not agree on what that means.
_REGEX = r"(?:\[\^?\]?[^\]/\n]*\]|[^/\\\n\[]|\\.)*"
_PLACE = rf"(?:[0-9]+|\$|/{_REGEX}/[IM]*)"
_ADDRESS = re.compile(rf"{_PLACE}(?:[,~]\s*[+~]?{_PLACE})?")
# Without e, which runs the pattern space, and without w, which may be followed by anything.
_SUBSTITUTION = re.compile(
    r"s([/|#,:!@%_])(?:\[\^?\]?(?:(?!\1)[^\]\n])*\]|(?!\1)[^\\\n\[]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpIim0-9]*"
)
_TEXT_COMMAND = re.compile(r"[aic](?:\\\n|\\|\s)[^\n]*")
_LABEL_COMMAND = re.compile(r"[:btT][ \t]*[A-Za-z0-9_]*")
_SIMPLE_COMMAND = re.compile(r"[qQ][ \t]*[0-9]*|[pdDgGhHnNPxl=F]")
_PLAIN_COMMANDS = (_SUBSTITUTION, _TEXT_COMMAND, _LABEL_COMMAND, _SIMPLE_COMMAND)


def _is_plain_sed(script: str) -> bool:
    """Whether the script is a list of commands with addresses, none of which can start a program."""
    at = 0
    while True:
        while at < len(script) and script[at] in " \t\n;{}":
            at += 1
        if at >= len(script):
            return True
        address = _ADDRESS.match(script, at)
        at = address.end() if address else at
        while at < len(script) and script[at] in " \t!{":
            at += 1
        found = next((found for kind in _PLAIN_COMMANDS if (found := kind.match(script, at))), None)
        if found is None:
            return False
        at = found.end()
        while at < len(script) and script[at] in " \t":
            at += 1
        if at < len(script) and script[at] not in ";\n}":
            return False
