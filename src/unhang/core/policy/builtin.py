"""The built-in policy: categories for everyone, and how a command finds its line in the tables.

The tables (`tables/`) are plain text per command word, read only for the word that is asked about, so that a
start of the program pays for one entry and not for a few hundred. An entry looks like this:

    "docker": '''
        ~ -H --host -f@compose            options that take a value (-f only after `compose`)
        quick: ps, images, version
        long: pull, run
        server: compose up, logs -f       never ends
        long: compose up -d
    '''

A pattern is made of words. Plain words are the first words of the command that are not options, in order;
`*` in a word stands for anything; `+word` may stand at any place; `-x` and `--xyz` are
options wherever they stand, `--xyz=v` with that value; `.` is the command whatever follows, `$` the command
with nothing after it. The longest pattern that matches wins, as in a user's file. "= other" makes an alias.
"long+ci" also sets CI=1, which keeps test runners from waiting for key presses, unless a "+install" stands
in the same line: under CI the JavaScript package managers refuse to change their lock file.
"""

from __future__ import annotations

from unhang.core.limits import LONG_GRACE
from unhang.core.policy.model import Bounds, Category, Policy

DEFAULT = "default"
NEVER_ENDING = frozenset({"server", "session"})

# The numbers of the delegating servers that this grew from: idle 1–30 min, hard 5–60 min.
AGENT_BOUNDS = Bounds(60.0, 1800.0, 300.0, 3600.0)

# Each of these prevents a known kind of hang: a pager that waits for a key, a prompt for a password or
# a package's questions. They are set only where the caller has not set them.
ENV = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GH_PROMPT_DISABLED": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}

_QUIET = frozenset({"stall"})
_GRACE = frozenset({"grace"})

# Commands that write what a kill would leave half-written: they get the long grace. The JavaScript package managers
# are known by the "install" tag of the tables: `npm test` is no install.
SLOW_TO_END = frozenset(
    {"apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "rpm", "zypper", "pacman", "apk", "brew", "snap", "flatpak"}
    | {"nix", "nix-env", "nix-store", "pip", "uv", "poetry", "pipenv", "pdm", "conda", "mamba", "gem", "bundle"}
    | {"composer", "postgres", "pg_ctl", "pg_dump", "pg_dumpall", "pg_restore", "pg_upgrade", "initdb", "mysqld"}
    | {"mariadbd", "mysqldump", "mongod", "mongodump", "mongorestore", "redis-server", "sqlite3", "influxd", "etcd"}
    | {"cockroach", "cassandra", "clickhouse-server", "elasticsearch"}
)


# Made once: every job asks for them.
_CATEGORIES = (
    Category("quick", 30.0, 300.0, description="answers at once: ls, cat, git status"),
    Category("medium", 120.0, 600.0, description="searches, linters, small downloads, database queries"),
    Category(DEFAULT, description="anything unknown"),
    Category("long", 300.0, 1800.0, description="installs, builds, test suites, clones"),
    Category("extended", 600.0, 3600.0, description="release builds, images, infrastructure, restores"),
    Category("training", 1800.0, 86400.0, description="model training, very large jobs"),
    Category(
        "server",
        None,
        None,
        None,
        never_ending=True,
        given=_QUIET,
        description="servers, watchers, followed logs",
    ),
    Category(
        "session",
        None,
        None,
        None,
        never_ending=True,
        given=_QUIET,
        description="full-screen programs for a person",
    ),
    Category(
        "agent-read-only",
        120.0,
        600.0,
        grace=LONG_GRACE,
        bounds=AGENT_BOUNDS,
        given=_GRACE,
        description="a coding agent that may only read",
    ),
    Category(
        "agent-write",
        300.0,
        1200.0,
        grace=LONG_GRACE,
        bounds=AGENT_BOUNDS,
        given=_GRACE,
        description="a coding agent that may change the workspace",
    ),
    Category(
        "agent-cloud",
        None,
        None,
        None,
        grace=LONG_GRACE,
        given=_QUIET | _GRACE,
        description="a coding agent in the cloud; it has its own limits",
    ),
)


def categories() -> dict[str, Category]:
    """Return the built-in categories by name, each with its limits."""
    return {category.name: category for category in _CATEGORIES}


def policy() -> Policy:
    """Return the built-in policy; every call makes a new one."""
    return Policy("built-in", categories(), DEFAULT, builtin=True, env=dict(ENV))


class Found:
    """A line of the table that fits. No tuple: the class of one costs ten times as much to create."""

    __slots__ = ("category", "pattern", "score", "tag")

    def __init__(self, category: str, pattern: str, score: int, tag: str) -> None:
        self.category = category
        self.pattern = pattern
        self.score = score
        self.tag = tag


def command_name(word: str) -> str:
    """Return the name of a program, `/usr/bin/Python3.11` → `python3.11`; what is left is looked up with and without
    its version.
    """
    if "/" in word:
        word = word.rsplit("/", 1)[1] or word
    if "\\" in word:
        word = word.rsplit("\\", 1)[1] or word
    name = word.lower()
    for suffix in (".exe", ".cmd", ".bat"):
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


def entry_of(word: str) -> tuple[str, str] | None:
    """Return the name under which the table knows this command, and its text."""
    from unhang.core.policy import tables

    name = command_name(word)
    text = tables.find(name)
    if text is None:
        name = name.rstrip("0123456789.-")
        text = tables.find(name)
        if text is None:
            return None
    if text.startswith("= "):
        name = text[2:]
        text = tables.find(name)
        assert text is not None, name
    return name, text


# A command line of a thousand file names says no more about itself than its first two hundred words.
_MOST_ARGS = 200


def lookup(words: tuple[str, ...]) -> Found | None:
    """Return the longest pattern of the table that fits these words; None for a command that it does not know."""
    entry = entry_of(words[0])
    if entry is None:
        return None
    name, text = entry
    args = words[1 : _MOST_ARGS + 1]
    valued: frozenset[str] = frozenset()
    plain: list[str] | None = None
    options: list[str] = []
    best: Found | None = None
    for line in text.split("\n"):
        line = line.strip()
        if not line:
            continue
        if line[0] == "~":
            valued = frozenset(line[1:].split())
            continue
        if plain is None:
            plain, options = sort_args(args, valued)
        category, _, patterns = line.partition(": ")
        for pattern in patterns.split(", "):
            score = _fits(pattern, args, plain, options)
            if score is not None and (best is None or score > best.score):
                shown = name if pattern in (".", "$") else f"{name} {pattern}"
                category_name, _, tag = category.partition("+")
                best = Found(category_name, shown, score, tag)
    return best


def sort_args(args: tuple[str, ...], valued: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return sub-commands and operands apart from options; `-s read-only` becomes `-s=read-only`."""
    plain: list[str] = []
    options: list[str] = []
    before = ""
    for arg in args:
        if before:
            options[-1] = f"{before}={arg}"
            before = ""
        elif arg[:1] == "-" and arg != "-":
            if arg != "--":
                options.append(arg)
                before = arg if arg in valued or f"{arg}@{''.join(plain)}" in valued else ""
        else:
            plain.append(arg)
    return plain, options


def _fits(pattern: str, args: tuple[str, ...], plain: list[str], options: list[str]) -> int | None:
    """How long the match is, or None."""
    if pattern == ".":
        return 0
    if pattern == "$":
        return None if args else 1
    at = 0
    for word in pattern.split():
        if word[0] == "-" and len(word) > 1:
            if not any(_same_option(word, option) for option in options):
                return None
        elif word[0] == "+":
            if not any(_same_word(word[1:], given) for given in plain):
                return None
        else:
            if at >= len(plain) or not _same_word(word, plain[at]):
                return None
            at += 1
    return len(pattern) + 1


def _same_word(pattern: str, word: str) -> bool:
    if "*" not in pattern:
        return pattern == word
    first, *middle, last = pattern.split("*")
    if len(word) < len(first) + len(last) or not word.startswith(first) or not word.endswith(last):
        return False
    return all(part in word[len(first) :] for part in middle)


def _same_option(pattern: str, option: str) -> bool:
    if option == pattern or option.startswith(f"{pattern}="):
        return True
    if len(pattern) == 2:
        # one letter: also in a cluster, as in `tail -n5f` or `docker run -itd`
        return len(option) <= 6 and option[1] != "-" and pattern[1] in option and option[1:].isalnum()
    return False
