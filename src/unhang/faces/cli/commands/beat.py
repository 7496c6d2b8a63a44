"""`unhang beat`: a heartbeat from inside a job, for programs that do not speak the notify protocol."""

from __future__ import annotations

import argparse
import os

from unhang.errors import UnhangError

# A keeper that does not read (stopped, or flooded by the job) must not hang the job that sends the heartbeat.
PATIENCE = 5.0
SUMMARY = "from inside a job: say that it is alive, and how far it is"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang beat`."""
    parser.add_argument(
        "text", nargs="?", default="", metavar="TEXT", help="a line that says how far it is: 'step 3 of 9'"
    )
    parser.add_argument("--extend", metavar="D", help="ask for up to D without a sign of life from now on")


def main(args: argparse.Namespace) -> int:
    """Send one heartbeat to the keeper of the job that this process belongs to; print nothing."""
    message = "WATCHDOG=1"
    if args.text:
        message += "\nSTATUS=" + " ".join(args.text.split())
    if args.extend is not None:
        from unhang.core.limit_request import read_duration

        message += f"\nEXTEND_TIMEOUT_USEC={int((read_duration('--extend', args.extend, off=False) or 0.0) * 1e6)}"
    send(os.environ.get("NOTIFY_SOCKET", ""), message)
    return 0


def send(address: str, message: str) -> None:
    """Send a message of the notify protocol to a socket; raise UnhangError if it does not arrive."""
    import socket

    if not address:
        raise UnhangError("not inside a job: NOTIFY_SOCKET is not set")
    path = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.settimeout(PATIENCE)
        try:
            line.sendto(message.encode("utf-8", "replace"), path)
        except OSError as error:
            raise UnhangError(f"the heartbeat was not heard: {error.strerror or error}") from None
