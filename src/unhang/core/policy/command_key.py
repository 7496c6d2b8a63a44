"""One name for all runs of "the same command", so that their history is one history.

What varies from run to run without changing the work is taken out: hashes, numbers, dates, temporary paths,
long quoted texts. `pytest -q tests/test_a.py` and `pytest -q tests/test_b.py` stay two commands: they do
not take the same time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from unhang.core import mask, plain_text
from unhang.core.policy.shell.command_pieces import pieces_of

_LONGEST = 300
_MOST = 20
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T_ ]\d\d[:.-]?\d\d(?:[:.-]?\d\d)?Z?)?")
_HASH = re.compile(r"(?<![0-9a-zA-Z])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?![0-9a-zA-Z])")
_TEMPORARY = re.compile(r"(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm|/run/user/\d+)(?:/[^\s:,;]*)?")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")


def normal_word(word: str) -> str:
    """Return the word with its variable parts (temporary paths, dates, hashes, numbers) replaced.

    "…" for a long text.
    """
    if len(word) > 80 or any(char.isspace() for char in word):
        return "…"
    word = _TEMPORARY.sub("TMP", word)
    word = _UUID.sub("#", word)
    word = _DATE.sub("#", word)
    word = _HASH.sub("#", word)
    return _NUMBER.sub("N", word)


def command_key(command: Sequence[str] | str) -> str:
    """Return the key of a command: its command words as they are (python3 is not python2), and the arguments without
    what varies, secrets, and sequences for a terminal, of which the rules of the shell would leave halves.
    """
    if isinstance(command, str):
        command = mask.line(plain_text.harmless(command))
    else:
        command = mask.arguments([plain_text.harmless(word) for word in command])
    shown: list[str] = []
    for part in pieces_of(command)[:_MOST]:
        first, *rest = part.words
        shown.append(" ".join([_TEMPORARY.sub("TMP", first), *(normal_word(word) for word in rest[:60])]))
    return " ; ".join(shown)[:_LONGEST]
