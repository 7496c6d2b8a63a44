"""Sends heartbeats from N processes as fast as the socket takes them.

Usage: flooder.py ROLL N [UID ADDRESS]: as another user, to another's socket.
"""

from __future__ import annotations

import os
import socket
import sys

from unhang.testing.liveness import call

roll, count, *stranger = sys.argv[1:]
call(roll, "leader")
address = os.environ.get("NOTIFY_SOCKET", "")
if stranger:
    os.setgroups([])
    os.setgid(int(stranger[0]))
    os.setuid(int(stranger[0]))
    address = stranger[1]
for number in range(int(count)):
    if number and os.fork() == 0:
        break
line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
line.connect("\0" + address[1:] if address.startswith("@") else address)
while True:
    try:
        line.send(b"WATCHDOG=1\nSTATUS=flood")
    except ConnectionRefusedError:  # its keeper has gone
        break
