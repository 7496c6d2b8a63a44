"""Evidence and verdict do not contradict each other, whatever was seen: movement vetoes "hung".

Every recording is a starting point; what a look may show besides is put on top of it by chance, and the promises are
checked on all of that.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.zoo.recording import Recording, everything, read
from unhang.core.diagnosis.activity import JVM_COUNTERS
from unhang.core.diagnosis.descriptors import NOTICES
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.runtimes import JVM
from unhang.core.diagnosis.samples import FOREVER, FullSample, ProcessSample, Socket
from unhang.core.diagnosis.verdict import Diagnosis

RECORDINGS: list[Recording] = [read(path) for path in everything()]
some_recording = st.sampled_from(RECORDINGS)


def check(verdict: Diagnosis) -> None:
    """The promises that hold for every diagnosis."""
    evidence = verdict.evidence
    moves = evidence["ioBytesPerSecond"] > 0 or evidence["netBytesPerSecond"] > 0
    said = [verdict.reason, *(line.waits for line in verdict.processes)]
    if verdict.state == "hung":
        assert not moves, verdict
        assert evidence["seconds"] >= 1, verdict
    assert not (moves and "does nothing" in verdict.reason), verdict
    assert not any(re.search(r"no byte for 0|received in 0", text) for text in said), verdict


def changed(sample: FullSample, pid: int, **fields: Any) -> FullSample:
    process: ProcessSample = sample.processes[pid]._replace(**fields)
    return sample._replace(processes=sample.processes | {pid: process})


@pytest.mark.parametrize("seen", RECORDINGS, ids=lambda each: each.scenario)
def test_the_verdict_on_a_recording_agrees_with_its_evidence(seen: Recording) -> None:
    check(seen.verdict())


@settings(max_examples=150, deadline=None)
@given(some_recording, st.data())
def test_one_byte_that_moved_is_never_hung(seen: Recording, data: st.DataObject) -> None:
    pid = data.draw(st.sampled_from(sorted(seen.before.processes.keys() & seen.after.processes.keys())))
    moved = data.draw(st.integers(1, 5000))
    way = data.draw(st.sampled_from(["io", "disk"]))
    if way == "disk" and seen.after.processes[pid].runtime == JVM:
        moved += JVM_COUNTERS  # a page of the file in which it counts is none of its program's
    before = changed(seen.before, pid, disk=10**9)  # whatever it had moved before
    after = changed(seen.after, pid, disk=10**9)
    after = changed(after, pid, **{way: getattr(after.processes[pid], way) + moved})
    verdict = diagnose(before, after)
    assert verdict.state != "hung", verdict
    check(verdict)


@settings(max_examples=100, deadline=None)
@given(some_recording, st.integers(0, 5000), st.integers(0, 5000), st.floats(0, 100), st.integers(0, 9000))
def test_a_connection_that_moves_is_never_hung(
    seen: Recording, received: int, sent: int, since: float, unread: int
) -> None:
    was = Socket("tcp", "127.0.0.1:1", "127.0.0.1:2", "ESTABLISHED", 10, 10, 0.0, unread=unread)
    now = was._replace(received=10 + received, sent=10 + sent, since_receive=since, unread=0)
    link = "socket:[1]"
    before = seen.before._replace(sockets=seen.before.sockets | {link: was})
    after = seen.after._replace(sockets=seen.after.sockets | {link: now})
    verdict = diagnose(before, after)
    assert verdict.state != "hung" or not received + sent + unread, verdict
    check(verdict)


@settings(max_examples=100, deadline=None)
@given(some_recording, st.floats(0.001, 0.99))
def test_a_short_stillness_is_never_hung(seen: Recording, seconds: float) -> None:
    verdict = diagnose(seen.before._replace(at=seen.after.at - seconds), seen.after)
    assert verdict.state != "hung", verdict
    check(verdict)


@settings(max_examples=150, deadline=None)
@given(some_recording, st.data(), st.booleans())
def test_what_was_not_looked_at_is_never_part_of_a_proof(seen: Recording, data: st.DataObject, thread: bool) -> None:
    """One thread more than were looked at, or a note that something was left out."""
    assume(seen.verdict().cause != "leak")  # a `sleep` that an ended command has left is none
    living = sorted(pid for pid, each in seen.after.processes.items() if each.threads)
    assume(living)
    pid = data.draw(st.sampled_from(living))
    count = seen.after.processes[pid].thread_count
    if thread and not seen.after.processes[pid].hidden:
        after = changed(seen.after, pid, thread_count=count + 1)
    else:
        after = seen.after._replace(notes=("looked at 1 of 2",))
    verdict = diagnose(seen.before, after)
    assert verdict.state != "hung", verdict


@settings(max_examples=150, deadline=None)
@given(some_recording, st.data())
def test_the_kernel_may_end_any_wait_for_one_that_has_a_ring(seen: Recording, data: st.DataObject) -> None:
    """Beside a person who is asked it changes nothing: what it may write is none of the answer."""
    assume(seen.verdict().cause not in ("input", "leak"))
    living = sorted(pid for pid, each in seen.after.processes.items() if each.threads and not each.hidden)
    assume(living)
    pid = data.draw(st.sampled_from(living))
    ring = {1000: "anon_inode:[io_uring]"}
    before = seen.before
    if pid in before.processes:
        before = changed(before, pid, fds=before.processes[pid].fds | ring)
    verdict = diagnose(before, changed(seen.after, pid, fds=seen.after.processes[pid].fds | ring))
    assert verdict.state != "hung", verdict


@settings(max_examples=150, deadline=None)
@given(some_recording, st.data())
def test_a_stranger_at_the_other_end_is_never_hung(seen: Recording, data: st.DataObject) -> None:
    """Whichever pipe a thread waits for, and whoever else holds its other end, a living process outside is hope."""
    waited = sorted(
        {
            process.fds.get(fd, "")
            for process in seen.after.processes.values()
            for thread in process.threads
            for fd in thread.reads + thread.writes
        }
        & seen.after.pipes.keys()
    )
    # What comes over this one is housekeeping, whoever sends it.
    waited = [link for link in waited if not link.endswith(tuple(NOTICES.values()))]
    if not waited:
        return
    link = data.draw(st.sampled_from(waited))
    after = seen.after._replace(
        pipes=seen.after.pipes | {link: seen.after.pipes[link]._replace(outside=((1, "init"),), searched=True)}
    )
    verdict = diagnose(seen.before, after)
    assert verdict.state != "hung", verdict


@settings(max_examples=100, deadline=None)
@given(some_recording, st.data())
def test_a_thread_that_will_wake_is_never_hung(seen: Recording, data: st.DataObject) -> None:
    """A thread that sleeps with a timeout may do anything when it wakes."""
    kept = seen.before.processes.keys() & seen.after.processes.keys()
    living = sorted(pid for pid in kept if seen.after.processes[pid].threads)  # the others have ended
    assume(living)
    pid = data.draw(st.sampled_from(living))
    process = seen.after.processes[pid]
    asleep = process.threads[0]._replace(
        tid=10**7, syscall="clock_nanosleep", wchan="", reads=(), writes=(), timeout=30.0, remaining=20.0, state="S"
    )
    assert asleep.timeout != FOREVER
    after = changed(seen.after, pid, threads=(*process.threads, asleep), thread_count=process.thread_count + 1)
    before = changed(seen.before, pid, threads=(*process.threads, asleep), thread_count=process.thread_count + 1)
    verdict = diagnose(before, after)
    if seen.after.leader in seen.after.processes:
        assert verdict.state != "hung", verdict
    check(verdict)
