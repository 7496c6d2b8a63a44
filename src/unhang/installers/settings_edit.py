"""A person's settings as JSON text with comments: read as an object, edited in place, and proved before it is used.

People's files hold comments and an order of their own. So the text is edited, not rewritten, and the result is parsed
again: it must mean what was there and the one change, and nothing else.
"""

from __future__ import annotations

from unhang.core import jsonc
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parse_object(text: str) -> dict[str, Any]:
    """Return the object in the text; an empty text is an empty object. Raises UsageError for anything else."""
    if not text.strip():
        return {}
    try:
        found = jsonc.parse(text)
    except ValueError as error:
        raise UsageError(f"cannot be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("must contain a JSON object")
    return found


def prove(text: str, wanted: dict[str, Any], instead: str) -> str:
    """Return the text, if it means `wanted`.

    Otherwise raises UsageError, which tells the person what to do `instead`.
    """
    try:
        if jsonc.same(parse_object(text), wanted):
            return text
    except UsageError:
        pass
    raise UsageError(f"cannot be edited safely; {instead}")
