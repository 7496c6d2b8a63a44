"""What an agent's own connections show: does its model write, and which peer is silent?

While a model thinks, neither the screen nor the transcript shows it; only bytes come in on its connection. But bytes
also come while nothing happens: a service that keeps a connection open sends pings, some forty bytes each, and a
request that is tried again gets the head of an answer. So a model writes if several pieces have come on one
connection, and they are larger than pings are.
"""

from __future__ import annotations

from unhang.core.durations import human
from unhang.core.record import Record

# connection → bytes and segments received so far
Wire = dict[str, tuple[int, int]]

# An event with one word of a model has 120 bytes at least, a ping 36; encryption and framing add 50 at most.
_LARGER_THAN_A_PING = 100
# The head of an answer comes in one to three pieces.
_PIECES = 5


def writes(before: Wire, after: Wire) -> bool:
    """Return whether what came between two looks is an answer that is being written."""
    return any(pieces >= _PIECES for pieces in _grown(before, after))


def may_write(before: Wire, after: Wire) -> bool:
    """Return whether too little came to tell."""
    return any(_grown(before, after))


def _grown(before: Wire, after: Wire) -> list[int]:
    """How many pieces came on each connection whose pieces are larger than pings; a new one counts from its start."""
    found: list[int] = []
    for link, (size, pieces) in after.items():
        had_size, had_pieces = before.get(link, (0, 0))
        grown, new = size - had_size, pieces - had_pieces
        if new > 0 and grown / new > _LARGER_THAN_A_PING:
            found.append(new)
    return found


class ConnectionPeer(Record):
    """The other end of one connection of the agent's own process."""

    remote: str
    state: str  # as the kernel names it
    received: int | None = None
    silent: float | None = None  # seconds since the last byte, or since it was connected


# A connection whose silence began so much earlier than the wait is not the one that is waited for.
_EARLIER = 10.0


def waits_for(peers: tuple[ConnectionPeer, ...], age: float, port: str = "") -> str:
    """Return which connection has been silent for as long as the wait lasts, in words; empty: none is.

    One to the very port that is waited for, on which not one byte has come, may have been opened late.
    """
    trying = [peer for peer in peers if peer.state == "SYN_SENT"]
    silent = [
        (peer.remote.endswith(f":{port}"), peer.received == 0, peer.silent, peer)
        for peer in peers
        if peer.state != "SYN_SENT"
        and peer.silent is not None
        and peer.silent <= age + _EARLIER
        and (age / 2 <= peer.silent or (peer.received == 0 and bool(port) and peer.remote.endswith(f":{port}")))
    ]
    if trying and (not silent or not port or any(peer.remote.endswith(f":{port}") for peer in trying)):
        return f"waits for {trying[0].remote}, which does not answer the connection attempt"
    if not silent:
        return ""
    _, _, quiet, peer = max(silent, key=lambda each: each[:3])
    what = "not one byte received" if not peer.received else f"nothing received for {human(quiet)}"
    return f"waits for {peer.remote}, connected, {what}"
