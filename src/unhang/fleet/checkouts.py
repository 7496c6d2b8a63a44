"""The checkouts of a home's workers: `fleet/checkouts/WORKER/JOB.ATTEMPT/`, removed when the job's patch is kept.

    checkout.json   what is wanted
    tree/           the checkout; its job runs in it
    base            the commit that was checked out
    patch           what the job has changed
    patch.json      its size and hash, or why there is none

The job owns all of this, and can put what it likes there: files are opened as files.store opens those of a job.
"""

from __future__ import annotations

import os

from unhang.core import values
from unhang.core.fleet.checkout import LARGEST_PATCH, LONGEST_COMMIT, Checkout, is_commit, read_checkout
from unhang.core.limit_request import LimitRequest
from unhang.core.plain_text import one_line
from unhang.core.spec import AGENT, masked
from unhang.errors import StateError, UnhangError
from unhang.fleet import note
from unhang.jobs.request import Prepared, prepare
from unhang.procs import executable
from unhang.store import files, removal
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

_FOLDER = "checkouts"
_ABOUT: dict[str, values.Reading] = {"bytes": values.whole, "sha256": values.text, "why": values.text}
_LONGEST_WHY = 600
# To compare the files with the commit takes seconds, and a few minutes with the largest repositories.
_PATCH = LimitRequest(idle=0.0, hard=600.0)


def make(home: str, worker: str, name: str, checkout: Checkout) -> str:
    """Make the place of a checkout; return it."""
    place = f"{note.folder(home)}/{_FOLDER}/{worker}/{name}"
    homes.make(place)
    files.write_json(f"{place}/checkout.json", checkout.to_dict())
    return place


def wanted(place: str) -> Checkout:
    """Return what is to be checked out there."""
    found = read_checkout(files.read_json(f"{place}/checkout.json"))
    if found is None:
        raise StateError(f"{place}/checkout.json cannot be read")
    return found


def tree_of(place: str) -> str:
    """Return where the checkout is."""
    return f"{place}/tree"


def in_checkout(prepared: Prepared, place: str) -> Prepared:
    """Return the same job, run in a fresh checkout; lists show it by its own command."""
    spec = prepared.spec
    words = executable.module("unhang.fleet.run_in_checkout", place, *spec.argv)
    shown = spec.shown
    if shown is None and spec.kind != AGENT:
        shown = masked(spec.shell, spec.argv)
    return prepared.replace(spec=spec.replace(argv=words, shown=shown))


def patch_job(place: str, labels: Mapping[str, str]) -> Prepared:
    """Return the job that writes the patch of a job that has ended; it is watched as any other."""
    words = executable.module("unhang.fleet.make_patch", place)
    made = prepare(words, cwd=place, stdin="null", foreground=False, labels=labels, asked=_PATCH, retry=0)
    return made.replace(spec=made.spec.replace(shown="git diff of a checkout"))


# --- what the programs in a job leave there ---------------------------------------------------------------------


def note_base(place: str, commit: str | None) -> None:
    """Note which commit was checked out; None: none yet."""
    _write(f"{place}/base", (commit or "").encode())


def base_of(place: str) -> str:
    """Return the commit that was checked out; empty: none was."""
    found = _read(f"{place}/base", LONGEST_COMMIT).decode("ascii", "replace")
    return found if is_commit(found) else ""


def note_patch(place: str, data: bytes, about: dict[str, Any]) -> None:
    """Keep a patch, and its size and hash, or why there is none."""
    _write(f"{place}/patch", data)
    files.write_json(f"{place}/patch.json", about)


def patch_of(place: str) -> tuple[bytes, dict[str, Any]]:
    """Return the patch, and what was said about it; nothing was said: it could not be made."""
    about = values.object_of(_ABOUT)(files.read_json(f"{place}/patch.json")) or {}
    if about.get("why"):
        about["why"] = one_line(about["why"], _LONGEST_WHY)  # the job may have written it
    return _read(f"{place}/patch", LARGEST_PATCH), {name: about[name] for name in _ABOUT if about.get(name) is not None}


def _write(path: str, data: bytes) -> None:
    with open(files.open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(data)


def _read(path: str, most: int) -> bytes:
    try:
        with open(files.open_plain(path, os.O_RDONLY), "rb") as file:
            return file.read(most)
    except (OSError, UnhangError):
        return b""


# --- the end ----------------------------------------------------------------------------------------------------


def remove(place: str) -> bool:
    """Remove a checkout with all that is in it; False: something is left."""
    done = removal.remove_tree(place)
    try:
        os.rmdir(os.path.dirname(place))
    except OSError:
        pass  # the worker has others
    return done


def sweep(home: str, living: Collection[str]) -> None:
    """Remove what workers left that are not among the living: their jobs were ended with them."""
    folder = f"{home}/{note.FOLDER}/{_FOLDER}"
    try:
        workers = os.listdir(folder)
    except OSError:
        return
    for worker in workers:
        if worker not in living:
            removal.remove_tree(f"{folder}/{worker}")
