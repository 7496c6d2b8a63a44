"""Many who look at and ask one job at the same time."""

from __future__ import annotations

import json
import threading

from tests.support.jobs import STILL, Jobs, actor, check_log
from unhang.testing.liveness import RollCall


def test_eight_followers_and_an_extend_a_send_and_a_cancel_at_once_all_see_the_same_sequence(
    jobs: Jobs, roll: RollCall
) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    followers = [jobs.popen("events", job.id, "--follow", "--json", "--after-seq", n % 2) for n in range(8)]
    asking = [jobs.popen("extend", job.id, "--hard", "1m"), jobs.popen("send", job.id, "print hello")]
    roll.wait_for("print hello")
    asking += [jobs.popen("extend", job.id, "--hard", "1m"), jobs.popen("cancel", job.id), jobs.popen("wait", job.id)]
    done = [jobs.finish(process) for process in asking]
    assert [d.code for d in done[:2]] == [0, 0]
    assert done[2].code in (0, 125)  # the cancel may have come first: then it is refused in one line
    assert done[3].code == 0
    assert done[4].code == 130
    events = check_log(job.place)
    assert events[-1]["phase"] == "cancelled"
    for number, follower in enumerate(followers):
        seen = [json.loads(line) for line in jobs.finish(follower).out.splitlines()]
        assert seen == events[number % 2 :]
    kinds = [event["phase"] for event in events]
    assert kinds.count("extended") in (1, 2)  # the second may have come in the same turn as the cancel
    assert job.output().data == b"hello\n"
    assert roll.is_empty()


def test_many_threads_ask_one_keeper_and_every_one_is_answered(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    problems: list[str] = []

    def ask(number: int) -> None:
        try:
            for _ in range(5):
                job.ping()
                job.extend(hard=1)
                job.send(f"print {number}\n")
        except Exception as error:
            problems.append(repr(error))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()  # each of these requests is synced to a disk that others use, too
    assert problems == []
    roll.wait_for("print 11", 5)
    job.send("exit 0\n")
    assert job.wait().ok
    events = check_log(job.place)
    assert sum(event["phase"] == "extended" for event in events) == 60
    assert sorted(job.output().data.split()) == sorted(str(n).encode() for n in range(12) for _ in range(5))
    assert job.result().limits["hardMs"]["value"] == 3_660_000


def test_several_cancels_at_once_are_one_end(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--grace", "0.2", "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    done = [jobs.finish(process) for process in [jobs.popen("cancel", job.id) for _ in range(4)]]
    assert {d.code for d in done} == {0}
    assert check_log(job.place)[-1]["phase"] == "cancelled"
    assert roll.is_empty()
