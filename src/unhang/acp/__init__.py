"""Agent Client Protocol: terminals over jobs, for any client of an agent.

    from unhang.acp import Terminals
    async with Terminals(hard="10m") as terminals:
        connection = connect_to_agent(terminals.mount(MyClient()), writer, reader)

Nothing here is imported by `import unhang`, and the official SDK only when an answer needs its types.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.acp.protocol import Refused
    from unhang.acp.results import Completed, TimedOut
    from unhang.acp.terminals import Terminals

__all__ = ["Completed", "Refused", "Terminals", "TimedOut"]


def __getattr__(name: str) -> object:
    if name == "Terminals":
        from unhang.acp.terminals import Terminals

        return Terminals
    if name in ("Completed", "TimedOut"):
        from unhang.acp import results

        return getattr(results, name)
    if name == "Refused":
        from unhang.acp.protocol import Refused

        return Refused
    raise AttributeError(f"module 'unhang.acp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
