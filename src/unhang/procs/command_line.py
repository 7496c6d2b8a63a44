"""The command line of a process, for people: without its secrets, on one line, cut."""

from __future__ import annotations

from unhang.procs import identity

# More of it is never shown, and a process may have megabytes.
_READ = 4096
# Instead of the command of a process that cannot be looked at.
GONE = "[gone]"


def of(pid: int, longest: int = 120) -> str:
    """Return the command, else the name in brackets as `ps` shows it."""
    text = arguments_of(pid, longest)
    if not text:
        found = identity.find(pid)
        text = f"[{found.name}]" if found is not None else GONE
    return _printable(text)


def arguments_of(pid: int, longest: int) -> str:
    """Return the arguments; empty: it has none (a kernel thread, a zombie), or is gone."""
    from unhang.core import mask  # not needed before a process is to be named

    words = [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in identity.argv(pid, _READ)]
    secrets = mask.secrets_of(identity.environment(pid, 1 << 16)) if _may_hold_a_secret(words) else ()
    text = _printable(" ".join(mask.arguments(words, secrets)))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _may_hold_a_secret(words: list[str]) -> bool:
    """Whether a variable's value may stand in there, as a shell would have put it: something long with a digit in it,
    which is no path. Most commands have nothing like it, and reading an environment costs as much as all the rest."""
    return any(len(word) >= 8 and word[0] not in "/." and any(c.isdigit() for c in word) for word in words[1:])
