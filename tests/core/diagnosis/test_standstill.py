"""A tree that has not run was then as it is now: and only then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from unhang.core.diagnosis.samples import FullSample, ProcessSample, Socket, Thread
from unhang.core.diagnosis.standstill import SURELY, as_it_is, as_it_was
from unhang.procs.sampler.cheap import TreeSampler

SLEEPER = ProcessSample(pid=7, start=3, threads=(Thread(tid=7, state="S", asleep=40.0),), thread_count=1)


def sample(process: ProcessSample = SLEEPER, **rest: Any) -> FullSample:
    return FullSample(at=100.0, hz=100, processes={process.pid: process}, **rest)


def test_a_tree_that_slept_through_was_then_as_it_is_now() -> None:
    was = as_it_was(sample(), since=70.0)
    assert was == sample()._replace(at=70.0)


def test_the_past_is_known_only_as_far_back_as_all_threads_slept() -> None:
    was = as_it_was(sample(), since=10.0)
    assert was is not None
    assert was.at == 60.0


def test_a_sample_of_long_ago_is_brought_up_to_date() -> None:
    thread = SLEEPER.threads[0]._replace(remaining=50.0)
    now = as_it_is(sample(SLEEPER._replace(threads=(thread,))), 130.0)
    assert now.at == 130.0
    assert now.processes[7].threads == (thread._replace(asleep=70.0, remaining=20.0),)
    assert now.processes[7]._replace(threads=()) == SLEEPER._replace(threads=())


@pytest.mark.parametrize(
    "seen",
    [
        sample(SLEEPER._replace(hidden=True)),
        sample(SLEEPER._replace(thread_count=2)),
        sample(SLEEPER._replace(threads=(SLEEPER.threads[0]._replace(asleep=None),))),
        sample(SLEEPER._replace(threads=(SLEEPER.threads[0]._replace(asleep=SURELY / 2),))),
        sample(others={9: SLEEPER}),
        sample(notes=("looked at 512 of 600 processes",)),
        sample(sockets={"socket:[5]": Socket("tcp", received=10, sent=0)}),
        sample()._replace(processes={}),
    ],
    ids=["hidden", "unseen thread", "unknown", "ran just now", "a lock outside", "not all seen", "network", "nobody"],
)
def test_nothing_is_known_of_the_past_where_something_may_have_moved_unseen(seen: FullSample) -> None:
    assert as_it_was(seen, since=70.0) is None


SCRIPT = """
import json, os, signal, subprocess, sys, time
from unhang.keeper import observer
from unhang.procs.sampler import full as sampler

taken = []
real = sampler.full
sampler.full = lambda *a, **k: taken.append(k.get("still")) or real(*a, **k)
observer.STILL_FOR = 1.2  # five seconds in a keeper
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, start_new_session=True)
seen, screen = observer.Observer(), observer.Screen(b"", None, child.pid)
time.sleep(0.3)  # it has started, and waits
first = seen.cheap()
while not first.still:  # the time that passes is the thing tested
    time.sleep(0.1)
    first = seen.cheap()
then = seen.full(screen)[1]
observer.STILL_FOR = 3600.0  # the other one takes both of its looks, however long a busy machine makes them
ordinary = observer.Observer()
ordinary.full(screen)
time.sleep(1.1)  # as long as a standstill takes to be one
other = ordinary.full(screen)[1]
os.killpg(child.pid, signal.SIGKILL)
child.wait()
print(json.dumps({"taken": taken, "then": then, "other": other}))
"""


@pytest.mark.parametrize(
    "command", [["sleep", "60"], ["cat"], ["sh", "-c", "sleep 60; true"]], ids=["sleep", "cat", "sh"]
)
def test_one_full_look_at_a_sleeping_tree_says_what_two_say(command: list[str]) -> None:
    words = [sys.executable, "-c", SCRIPT, *command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    said = json.loads(done.stdout)
    assert said["taken"][0] >= 1.2
    assert said["taken"][1:] == [None, None]
    for name in ("state", "cause"):
        assert said["then"][name] == said["other"][name]


def test_a_tree_that_slept_since_a_prompt_was_looked_for_is_not_looked_at_again() -> None:
    script = SCRIPT.replace(
        "first = seen.cheap()\nwhile", "seen.cheap()\nseen.prompt(screen)\nfirst = seen.cheap()\nwhile"
    )
    words = [sys.executable, "-c", script, "sleep", "60"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    said = json.loads(done.stdout)
    assert len(said["taken"]) == 3  # for the prompt, and two for the ordinary one
    assert said["then"]["cause"] == said["other"]["cause"] == "timer"


def test_a_tree_that_runs_now_and_then_is_never_still() -> None:
    """A line on its stdin is a moment of work, too short for any clock of the kernel's but one."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        sampler = TreeSampler(os.getpid())
        sampler.look()
        for _ in range(20):
            child.stdin.write(b"x\n")
            child.stdin.flush()
            child.stdout.readline()
            sampler.look()
            assert sampler.still_since is None
        child.stdin.close()


def test_a_sleeping_tree_is_still_since_the_first_look_until_it_ends() -> None:
    """Below a shell, so that nothing else that this process has started is looked at."""
    with subprocess.Popen(["sh", "-c", "cat; read go"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(b"x\n")
        shell.stdin.flush()
        shell.stdout.readline()
        sampler = TreeSampler(shell.pid)
        first = sampler.look()
        while sampler.still_since is None:  # no event tells that a process has begun to wait
            last, first = first, sampler.look()
        assert sampler.still_since == last.at
        samples = [sampler.look() for _ in range(5)]
        assert sampler.still_since == last.at
        assert all(sample.processes is last.processes for sample in samples)
        shell.stdin.close()
        shell.wait()
        assert not sampler.look().processes
        assert sampler.still_since is None


def test_a_tree_with_several_threads_is_looked_at_each_time() -> None:
    code = "import threading; threading.Thread(target=input).start(); print(flush=True); threading.Event().wait()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        sampler = TreeSampler(os.getpid())
        assert sampler.look().processes is not sampler.look().processes
        assert sampler.still_since is None
        child.kill()
