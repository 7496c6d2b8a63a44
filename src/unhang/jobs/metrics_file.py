"""Metrics as a file for the textfile collector of node_exporter, and the dashboard that shows them."""

from __future__ import annotations

import os
from importlib import resources

from unhang.errors import UnhangError, UsageError


def write_textfile(path: str, text: str) -> None:
    """Replace the file in one step, readable for others: a scrape sees the old or the new one, and never a part."""
    if not path.endswith(".prom"):
        raise UsageError(f"--textfile: node_exporter reads files whose name ends in .prom, not {path!r}")
    temporary = f"{path}.{os.urandom(4).hex()}.new"  # not .prom: the collector passes it over
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UnhangError(f"cannot write {temporary}: {error.strerror}") from None
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
            # Whatever the umask: the collector is another user. By the descriptor: in a folder of that user the name
            # may be a link to a file of ours by now.
            os.fchmod(fd, 0o644)
        os.rename(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        raise UnhangError(f"cannot write {path}: {error.strerror}") from None


def dashboard() -> str:
    """Return a dashboard for Grafana, as JSON, with every metric that there is."""
    return (resources.files("unhang.jobs") / "dashboard.json").read_text(encoding="utf-8")
