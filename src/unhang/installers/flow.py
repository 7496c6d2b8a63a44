"""What every installer does: show the change, ask once, back up, write; uninstall the same way.

The prompt, its answer and the lines about what was done exist here only, so every `install` and `uninstall` of unhang
speaks and behaves alike.
"""

from __future__ import annotations

import difflib
import os
import sys

from unhang.core import plain_text
from unhang.core.record import Record
from unhang.errors import UsageError
from unhang.store import user_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    class PlannedChange(Protocol):
        """One change to what belongs to a person: a file, or a service."""

        @property
        def unchanged(self) -> str | None:
            """Return why there is nothing to do, as one line; None where there is something to do."""
            ...

        def preview(self) -> list[str]:
            """Return what would be done, as lines for people."""

        def apply(self) -> str:
            """Make the change, and return what was done, as one line."""
            ...


class FileChange(Record):
    """A file of a person's, before and after. `after` None: the file is deleted, because unhang created it."""

    path: str
    before: str | None
    after: str | None
    installs: bool = True
    # whether the folder goes with the file, if it is empty then
    with_folder: bool = False

    @property
    def unchanged(self) -> str | None:
        """Return why nothing has to be written, as one line; None if the texts differ."""
        if self.before != self.after:
            return None
        return f"{'already installed' if self.installs else 'not installed'}: {self.path}"

    def preview(self) -> list[str]:
        """Return the change as a unified diff."""
        return list(
            difflib.unified_diff(
                (self.before or "").splitlines(),
                (self.after or "").splitlines(),
                self.path if self.before is not None else os.devnull,
                self.path if self.after is not None else os.devnull,
                lineterm="",
            )
        )

    def apply(self) -> str:
        """Write or remove the file, keep a backup, and return what was done, as one line."""
        backup = user_file.write(self.path, self.before, self.after)
        if self.after is not None:
            return f"written: {self.path}" + (f" (backup: {backup})" if backup else "")
        if self.with_folder:
            try:
                os.rmdir(os.path.dirname(self.path))
            except OSError:
                pass  # it holds other files
        return f"removed: {self.path}"


def plan_file(
    path: str, *, add: Callable[[str], str], remove: Callable[[str], str], installs: bool, with_folder: bool = False
) -> FileChange:
    """Return the change that `add`, or `remove`, makes to the file's text.

    A file that was not edited since unhang wrote it becomes what it was before, byte for byte: `add`, applied to a
    backup (or to no file), shows which text that was.
    """
    before = user_file.read(path)
    try:
        if installs:
            added = add(before or "")
            return FileChange(path, before, before if added == (before or "") else added)
        if before is None:
            return FileChange(path, None, None, installs=False)
        after: str | None = remove(before)
        if after != before:
            for old in [*(user_file.read(name) for name in user_file.backups(path)), None]:
                # a backup that has an entry of ours in it, too (an older one, which was updated) is no way back
                if old != before and _tried(remove, old or "") == (old or "") and _tried(add, old or "") == before:
                    after = old
                    break
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return FileChange(path, before, after, installs=False, with_folder=with_folder)


def _tried(change: Callable[[str], str], text: str) -> str | None:
    try:
        return change(text)
    except UsageError:
        return None


def carry_out(changes: Sequence[PlannedChange], *, yes: bool, dry_run: bool) -> bool:
    """Show the changes, ask unless `yes`, and make them; return False if the person said no."""
    needed = []
    for change in changes:
        if change.unchanged is None:
            needed.append(change)
        else:
            print(change.unchanged)
    for change in needed:
        for line in change.preview():
            print(plain_text.harmless(line))
    if not needed or dry_run:
        return True
    if not yes and not confirm():
        print("no changes made")
        return False
    for change in needed:
        print(change.apply())
    return True


def confirm() -> bool:
    """Ask the person at the terminal; raise UsageError if stdin is not a terminal."""
    if not sys.stdin.isatty():
        raise UsageError("stdin is not a terminal; pass --yes or --dry-run")
    sys.stdout.flush()
    print("Make this change? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
