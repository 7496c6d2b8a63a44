"""Prints a numbered line every tenth of a second: for ever, or as often as is said."""

from __future__ import annotations

import itertools
import sys
import time

numbers = range(int(sys.argv[1])) if sys.argv[1:] else itertools.count()
for number in numbers:
    print("line", number, flush=True)
    time.sleep(0.1)
