"""Reads the user's alerts.toml. A project's file is never read: it could name a command to run, or an address."""

from __future__ import annotations

import os

from unhang.core import settings_text
from unhang.core.alerts.settings import DESKTOP, AlertSettings, parse
from unhang.errors import UsageError
from unhang.store import alert_news, user_file
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST = 1 << 18


def load(environ: Mapping[str, str]) -> tuple[AlertSettings, str | None]:
    """Return the settings and the file they come from. Without a file there is one target, `desktop`, and no rule.

    Raises UsageError with the one thing that is wrong with it.
    """
    path = alert_news.settings_file(environ)
    if path is None:
        refused = alert_news.untrusted_file(environ)
        if refused is not None:
            raise UsageError(homes.not_believed(refused))
        return AlertSettings({DESKTOP.name: DESKTOP}, ()), None
    text = user_file.read(os.path.expanduser(path)) or ""
    if len(text) > _LARGEST:
        raise UsageError(f"{path}: more than {_LARGEST >> 10} KiB")
    try:
        value = settings_text.toml(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise UsageError(f"{path}: {str(error)[:300]}") from None
    return parse(value, path), path
