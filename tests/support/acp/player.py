"""Plays one side of a recorded conversation, in pieces of any size, and keeps what it hears from the other.

Usage: player.py RECORDING editor|agent SEED HEARD. It says a line when it has heard everything that came before it.
"""

from __future__ import annotations

import json
import os
import random
import sys

recording, side, seed, target = sys.argv[1:]
dice = random.Random(f"{side}{seed}")
heard = 0
wanted = 0
said = 0


def put(data: bytes) -> None:
    """The seed 0 says it in one piece; another one byte by byte at first, and then as the dice fall."""
    global said  # noqa: PLW0603 - a program of forty lines
    at = 0
    most = dice.choice([1, 3, 50, 1000, 100_000]) if seed != "0" and len(data) < 5000 else 1 << 20
    most = 1 if seed != "0" and not said else most
    said += 1
    while at < len(data):
        at += os.write(1, data[at : at + dice.randint(1, most)])


with open(target, "wb", buffering=0) as out, open(recording, encoding="utf-8") as lines:
    for entry in map(json.loads, lines):
        line = entry["line"].encode("utf-8", "surrogateescape")
        if entry["from"] == side:
            put(line)
            continue
        wanted += 1  # by lines and not by bytes: one of them may have been changed on its way
        while heard < wanted:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                sys.exit(f"{side}: the other side ended early")
            out.write(chunk)
            heard += chunk.count(b"\n")
    if side == "editor":
        os.close(1)
    while chunk := os.read(0, 1 << 16):
        out.write(chunk)
