"""Signed addresses that answer an alert: each names a job, an event of it and one act, and works once.

    https://ORIGIN/act/JOB.SEQ.ACT.EXPIRY.SIGNATURE

The signature is an HMAC with a key of this home (`alerts/link.key`), so an address that was changed in any part is
none. `alerts/used/` holds an empty file for each event that was answered: all links of one event are spent together.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import os
from typing import TYPE_CHECKING

from unhang.alerts import pages
from unhang.core.alerts.answers import ACTS
from unhang.core.record import Record
from unhang.errors import StateError
from unhang.store import files
from unhang.store import home as homes
from unhang.store.alert_news import FOLDER, sweep
from unhang.store.layout import is_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.core.alerts.occasions import Occasion

PATH = "/act/"
# An answer that comes later than this after the event is refused.
LIFE = 7 * 86_400
_KEY_SIZE = 32


class Link(Record):
    """What a signed address stands for. `expiry` is in seconds since 1970."""

    job: str
    seq: int
    act: str
    expiry: int

    def __str__(self) -> str:
        return f"{self.job}.{self.seq}.{self.act}.{self.expiry}"


def maker(home: str, page: str) -> Callable[[Occasion, str], str] | None:
    """Return what makes the addresses for the alerts of a home; None where no page of ours serves this origin."""
    if not page or not pages.is_served(home, page):
        return None
    return functools.partial(_address, page, _key(home))


def read(home: str, text: str) -> Link | None:
    """Return the link in the path of an address; None for what this home has not signed."""
    given, _, signature = text.rpartition(".")
    parts = given.split(".")
    if len(parts) != 4 or not hmac.compare_digest(
        _sign(_key(home), given).encode(), signature.encode("utf-8", "replace")
    ):
        return None
    job, seq, act, expiry = parts
    return Link(job, int(seq), act, int(expiry)) if act in ACTS and is_id(job) else None


def is_spent(home: str, link: Link) -> bool:
    """Return whether the event of this link was answered by a link."""
    return os.path.lexists(_mark(home, link))


def spend(home: str, link: Link) -> bool:
    """Use up all links of the event; False: that has been done."""
    folder = f"{home}/{FOLDER}/used"
    homes.make(folder)
    sweep(folder, 2 * LIFE)  # those links have expired
    try:
        os.close(files.open_plain(_mark(home, link), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except (FileExistsError, StateError):
        return False
    files.sync_path(folder)
    return True


def _address(page: str, key: bytes, occasion: Occasion, act: str) -> str:
    link = Link(occasion.subject.id, occasion.seq, act, int(occasion.at) + LIFE)
    return f"{page}{PATH}{link}.{_sign(key, str(link))}"


def _sign(key: bytes, text: str) -> str:
    digest = hmac.new(key, text.encode("utf-8", "replace"), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest[:18]).decode()


def _key(home: str) -> bytes:
    """The key of this home, made at its first use."""
    homes.make(f"{home}/{FOLDER}")
    path = f"{home}/{FOLDER}/link.key"
    for _ in range(2):
        try:
            fd = files.open_plain(path, os.O_RDONLY)
        except FileNotFoundError:
            files.create_once(path, os.urandom(_KEY_SIZE))
            continue
        try:
            key = os.read(fd, _KEY_SIZE + 1)
        finally:
            os.close(fd)
        if len(key) != _KEY_SIZE:
            raise StateError(f"{path} is damaged: delete it; links that were sent before are refused then")
        return key
    raise StateError(f"cannot make {path}")


def _mark(home: str, link: Link) -> str:
    return f"{home}/{FOLDER}/used/{link.job}.{link.seq}"
