"""A prompt is reported after the output that came before it: one turn of the loop at a time, on a real pipe."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from unhang.core import events as ev
from unhang.core.diagnosis.prompt import NeedsInput
from unhang.core.diagnosis.waits import STDIN
from unhang.core.limits import Limits
from unhang.core.spec import JobSpec
from unhang.keeper.journal import Journal
from unhang.keeper.loop import KeeperParts, Loop, StartedJob
from unhang.keeper.person import Person
from unhang.keeper.streams import OutputStream, ReadBuffer
from unhang.store.layout import JobDir
from unhang.store.output import OutputStore


def begun(place: JobDir, *streams: OutputStream) -> Loop:
    """A loop about a job that waits for input, whose streams are read by hand."""
    unused: Any = SimpleNamespace(poke=lambda *_: None)
    parts = KeeperParts(unused, Journal(place, None), unused, unused, unused, unused)
    spec = JobSpec(["job"], None, "/", Limits(idle=60.0, hard=600.0), {})
    loop = Loop(spec, parts, StartedJob(1, [*streams], None, None, None), unused, Person(spec))
    observer: Any = WaitingJob()
    loop._observer = observer
    return loop


class WaitingJob:
    """An observer of a job that waits for input; its prompt is the end of what is known of its output."""

    def prompt(self, screen: Any, *, attended: bool = False) -> NeedsInput:  # noqa: ARG002 - the interface's
        return NeedsInput(1, STDIN, screen.text.decode(), False, "waits for input")


def test_a_prompt_whose_output_is_not_read_yet_is_reported_after_that_output(tmp_path: Path) -> None:
    place = JobDir(str(tmp_path), "job0000000")
    os.makedirs(place.path)
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    stream = OutputStream("stdout", ours, OutputStore(place.stream("stdout")), None, ReadBuffer())
    loop = begun(place, stream)
    journal = loop.journal
    try:
        os.write(theirs, b"Your name? ")
        loop._notice_prompt()
        assert journal.view.last_events == []
        loop._drain(stream)
        loop._notice_prompt()
        assert (journal.view.needs_input or {})["prompt"] == "Your name? "
        assert [event["type"] for event in journal.view.last_events] == [ev.OUTPUT, ev.WATCHDOG]
    finally:
        os.close(theirs)
        stream.close()


def test_a_prompt_is_what_was_printed_since_the_last_answer_and_its_line_has_no_end(tmp_path: Path) -> None:
    place = JobDir(str(tmp_path), "job0000000")
    os.makedirs(place.path)
    ends, streams = [], []
    for name in ("stdout", "stderr"):
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        ends.append(theirs)
        streams.append(OutputStream(name, ours, OutputStore(place.stream(name)), None, ReadBuffer()))
    stdout, stderr = ends
    loop = begun(place, *streams)

    def asked() -> str:
        for stream in streams:
            loop._drain(stream)
        loop._notice_prompt()
        return str((loop.journal.view.needs_input or {})["prompt"])

    try:
        os.write(stdout, b"Name? ")
        assert asked() == "Name? "
        loop.answered()
        os.write(stdout, b"Age? ")
        assert asked() == "Age? "
        loop.answered()
        os.write(stdout, b"42\n")
        os.write(stderr, b">>> ")
        assert asked() == "42\n>>> "
        loop.answered()
        assert asked() == ""  # nothing was printed since: what it asked before was answered
    finally:
        for end in ends:
            os.close(end)
        for stream in streams:
            stream.close()
