"""`make bench`: every budget of the design as a ratio to its reference, measured in the same run.

Machines are shared and noisy: a reference and its subject are measured in turns, the median of each is taken, and only
the ratio is judged. `--only NAME` runs some of them, `--json FILE` writes what was measured.
The exit code is 1 if a budget is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile

from bench import budgets
from bench.measure import Row

HEAD = f"{'what':<42} {'measured':>16} {'reference':>16} {'ratio':>8} {'budget':>8}"


def line(row: Row) -> str:
    shown = (
        f"{row.name:<42} {row.shown(row.measured):>16} {row.shown(row.reference):>16} "
        f"{row.ratio_text():>8} {row.budget_text():>8}  {row.verdict()}"
    )
    return f"{shown}\n    {row.note}" if row.note else shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--only", metavar="NAME", action="append", help="a part of a budget's name")
    args = parser.parse_args()
    rows: list[Row] = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="unhang-bench-") as home:
        os.environ["UNHANG_HOME"] = f"{home}/state"
        for budget in budgets.ALL:
            if args.only and not any(part in budget.__name__ for part in args.only):
                continue
            print(f"measuring {budget.__name__} …", file=sys.stderr, flush=True)
            for row in budget(home):  # at once: the whole takes a quarter of an hour, and may be ended before
                print(line(row), flush=True)
                rows.append(row)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"rows": [row.to_json() for row in rows]}, file, indent=2)
            file.write("\n")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
