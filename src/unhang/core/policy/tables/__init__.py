"""What is known about commands, by command word. The format is explained in `builtin.py`.

Looked through one after the other, the commonest first: importing all of them for `unhang run -- true`
would cost more than the rest of the decision.
"""

from __future__ import annotations


def find(name: str) -> str | None:
    """Return the entry of a command word in the built-in tables, as text; None if there is none."""
    from unhang.core.policy.tables.system import SYSTEM

    text = SYSTEM.get(name)
    if text is not None:
        return text
    return _others().get(name)


def _others() -> dict[str, str]:
    from unhang.core.policy.tables.others import OTHERS

    return OTHERS


def everything() -> dict[str, str]:
    """Return the whole table, for `policy explain`'s documentation and the tests."""
    from unhang.core.policy.tables.system import SYSTEM

    return {**SYSTEM, **_others()}
