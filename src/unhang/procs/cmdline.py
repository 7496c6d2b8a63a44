"""The command line of a process, for people: without its secrets, on one line, cut."""

from __future__ import annotations

from unhang.core import mask
from unhang.procs.stat import read_file

# More of it is never shown, and a process may have megabytes.
_READ = 4096


def shown(pid: int, longest: int) -> str:
    """Empty: it has none (a kernel thread, a zombie), or is gone."""
    data = (read_file(f"/proc/{pid}/cmdline", _READ) or b"")[:_READ].rstrip(b"\0")
    words = data.decode("utf-8", "replace").split("\0")
    text = " ".join(mask.words(words, _secrets(pid) if _may_hold_one(words) else ()))
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _may_hold_one(words: list[str]) -> bool:
    """Is a value of a variable in there, as a shell would have put it? Something long with a digit in it, which is no
    path. Most commands have nothing like it, and looking at an environment costs as much as all the rest."""
    return any(len(word) >= 8 and word[0] not in "/." and any(c.isdigit() for c in word) for word in words[1:])


def _secrets(pid: int) -> list[str]:
    """Of the process's own environment, if we may see it."""
    data = read_file(f"/proc/{pid}/environ", 1 << 16) or b""
    entries = data.decode("utf-8", "replace").split("\0")
    return mask.secrets_of(dict(entry.partition("=")[::2] for entry in entries if "=" in entry))
