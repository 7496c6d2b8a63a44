"""Rows of a real job's output: while it runs, after a flood whose middle is gone, and of a hundred megabytes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from tests.support.jobs import STILL, Jobs, wait_until
from unhang.core import rows
from unhang.jobs.handle import Job
from unhang.jobs.output_rows import OutputRows


def _has_printed(job: Job, count: int) -> bool:
    return job.printed("stdout") == count


def test_rows_grow_with_the_output(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
    found = OutputRows(job, "stdout")
    found.refresh()
    assert found.total == 0
    sent = ""
    for text in ("one\n", "two\nthr", "ee\n", "x" * 2500, "y\n\n", "last"):
        job.send(text)
        sent += text
        wait_until(partial(_has_printed, job, len(sent)), "its output")
        found.refresh()
        whole = OutputRows(job, "stdout")
        whole.refresh()
        assert found.total == whole.total == rows.count(sent.encode())
        assert found.read(0, 100) == whole.read(0, 100)
        assert [row.text for row in found.read(0, 100)] == [row.decode() for _, row in rows.split(sent.encode())]
    for number, row in enumerate(found.read(0, 100)):
        assert found.row_at(row.offset) == number
    assert found.search("TWO") == [1]
    assert found.search("nothing") == []


def test_what_is_left_out_of_a_flood_is_a_row_that_says_so(jobs: Jobs) -> None:
    script = "import sys; [sys.stdout.write('line %07d\\n' % i) for i in range(1_500_000)]"
    job = jobs.begin("--", "python3", "-c", script)
    job.wait()
    found = OutputRows(job, "stdout")
    found.refresh()
    gaps = [row for row in found.read(found.row_at(6 << 20) - 2, 5) if row.left_out]
    assert len(gaps) == 1
    assert found.read(0, 1)[0].text == "line 0000000"
    assert found.read(found.total - 1, 5)[-1].text == "line 1499999"
    last = found.read(found.total - 1, 1)[0]
    assert last.offset == 13 * 1_499_999
    assert found.search("line 1499998") == [found.total - 2]


def test_any_part_of_a_hundred_megabytes_is_had_without_the_rest(jobs: Jobs) -> None:
    job = jobs.begin("--", "true")
    job.wait()
    line = b"%08d " + b"." * 90 + b"\n"
    with open(job.place.stream("stdout"), "wb") as file:
        for begin in range(0, 1_000_000, 10_000):
            file.write(b"".join(line % number for number in range(begin, begin + 10_000)))
    size = Path(job.place.stream("stdout")).stat().st_size
    log = Path(job.place.events).read_text().splitlines()
    last = json.loads(log[-1])
    last["bytes"] = {"stdout": size, "stderr": 0}
    Path(job.place.events).write_text("\n".join([*log[:-1], json.dumps(last)]) + "\n")
    found = OutputRows(job, "stdout")
    found.refresh()
    assert found.total == 1_000_000
    for number in (0, 1, 499_999, 999_990):
        assert found.read(number, 1)[0].text.startswith(f"{number:08d} ")
    assert found.search("00777777 ") == [777_777]
