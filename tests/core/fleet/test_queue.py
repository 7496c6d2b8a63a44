"""The rules of the queues: who takes what and in which order, and over virtual time with workers that freeze, are cut
off and die: no job runs twice at once, none is forgotten, nothing that a fenced worker says is stored."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from unhang.core.fleet.hold import Silences, ended_after, grace_of, renewed_every
from unhang.core.fleet.presence import Machine
from unhang.core.fleet.queue import (
    ENDED,
    FAIL,
    MOST_ATTEMPTS,
    QUEUED,
    RETRY,
    RUNNING,
    QueuedJob,
    QueueSettings,
    Worker,
    found_by_name,
    in_order,
    may_stay,
    place_of,
    read_job,
    read_settings,
    read_worker,
    submitted_last,
    to_take,
    why_it_waits,
)
from unhang.core.fleet.queue_rows import queued_row, unpublished
from unhang.core.fleet.task import Task, read_task

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def job(id: str, **fields: Any) -> QueuedJob:
    return QueuedJob("q", id, **fields)


def worker(**fields: Any) -> Worker:
    return Worker("q", "m", "w", **({"slots": 2, "memory": 8 << 30} | fields))


def test_higher_priority_goes_first_then_the_order_of_submission() -> None:
    jobs = [job("a", order=3), job("b", order=1), job("c", order=9, priority=5), job("d", order=2, state=ENDED)]
    assert [each.id for each in in_order(jobs)] == ["c", "b", "a"]
    assert [place_of(each, jobs) for each in in_order(jobs)] == [0, 1, 2]


def test_a_worker_takes_what_suits_it_and_fits_beside_each_other() -> None:
    big, gpu = job("big", order=1, memory=6 << 30), job("gpu", order=2, needs=["gpu"])
    small, last = job("small", order=3, memory=4 << 30), job("last", order=4)
    jobs = [big, gpu, small, last]
    assert to_take(worker(), jobs, QueueSettings()) == [big, last]  # small does not fit beside big, and holds nobody up
    assert to_take(worker(labels=["gpu"]), jobs, QueueSettings()) == [big, gpu]
    assert to_take(worker(labels=["gpu"], only_label=True), jobs, QueueSettings()) == [gpu]
    assert to_take(worker(busy=2), jobs, QueueSettings()) == []
    assert to_take(worker(draining=True), jobs, QueueSettings()) == []
    assert to_take(worker(), jobs, QueueSettings(paused=True)) == []
    assert to_take(worker(), [*jobs, job("r", state=RUNNING)], QueueSettings(max_running=2)) == [big]
    assert to_take(worker(), [*jobs, job("r", state=RUNNING)], QueueSettings(max_running=1)) == []


def test_of_two_claims_for_the_last_place_the_earlier_one_stays() -> None:
    first, second = job("a", state=RUNNING, place=7), job("b", state=RUNNING, place=8)
    settings = QueueSettings(max_running=1)
    assert may_stay(first, [first, second], settings)
    assert not may_stay(second, [first, second], settings)
    assert may_stay(second, [first.replace(state=ENDED, place=9), second], settings)


def test_a_job_says_why_it_waits() -> None:
    waits = job("a", needs=["gpu"], memory=4 << 30)

    def why(settings: QueueSettings, *workers: Worker, others: list[QueuedJob] | None = None) -> str:
        return why_it_waits(waits, [waits, *(others or [])], settings, workers)

    gpu = worker(labels=["gpu"])
    assert "paused" in why(QueueSettings(paused=True), gpu)
    assert "no worker of queue q" in why(QueueSettings())
    assert "no worker of queue q" in why(QueueSettings(), gpu.replace(queue="other"))
    assert "label gpu" in why(QueueSettings(), worker())
    assert "largest worker has 2 GiB" in why(QueueSettings(), gpu.replace(memory=2 << 30))
    assert "slots" in why(QueueSettings(), gpu.replace(busy=2))
    assert "4 GiB of memory left" in why(QueueSettings(), gpu.replace(busy=1, memory_taken=6 << 30))
    assert "draining" in why(QueueSettings(), gpu.replace(draining=True))
    assert "at most" in why(QueueSettings(max_running=1), gpu, others=[job("b", state=RUNNING)])
    assert why(QueueSettings(), gpu) == "about to be taken"
    row = queued_row(waits, [waits], QueueSettings(), [], {})
    assert (row["status"], row["place"], row["queue"]) == ("queued", 1, "q")


def test_a_lost_job_fails_unless_it_may_run_twice_and_not_for_ever() -> None:
    running = job("a", on_lost=RETRY).claimed("m", "w")
    assert (running.state, running.attempt) == (RUNNING, 1)
    again = running.lost("t", "gone")
    assert (again.state, again.machine, again.attempt) == (QUEUED, "", 1)
    assert again.claimed("m", "w").attempt == 2
    last = running.replace(attempt=MOST_ATTEMPTS).lost("t", "gone")
    failed = running.replace(on_lost=FAIL).lost("t", "gone")
    assert (last.state, last.phase) == (failed.state, failed.phase) == (ENDED, "lost")


def test_a_person_means_a_job_by_id_name_or_prefix() -> None:
    jobs = {
        each.id: each
        for each in (job("abc", name="web", order=1, state=ENDED), job("abd", name="web", order=2), job("xyz", order=3))
    }
    assert found_by_name(jobs, "abc") == [jobs["abc"]]
    assert found_by_name(jobs, "web") == [jobs["abd"]]
    assert found_by_name(jobs, "ab") == [jobs["abc"], jobs["abd"]]
    assert found_by_name(jobs, "nothing") == []


def test_the_last_job_is_one_that_waits_unless_a_machine_has_a_newer_one() -> None:
    first, second = job("abc", created="2026-01-02T03:04:05.000Z"), job("abd", created="2026-01-02T03:04:06.000Z")
    jobs = {each.id: each for each in (second, first)}
    older, newer = {"createdAt": "2026-01-02T03:04:05.500Z"}, {"createdAt": "2026-01-02T03:04:07.000Z"}
    assert submitted_last(jobs, [older, {}]) == [second]
    assert submitted_last(jobs, []) == [second]
    assert submitted_last(jobs, [newer, older]) == []
    assert submitted_last({}, [older]) == []
    twins = {each.id: each for each in (job("b", created=second.created, order=2), job("a", created=second.created))}
    assert submitted_last(twins, []) == [twins["b"]]  # within one millisecond


@given(ANYTHING)
def test_whatever_a_message_holds_it_is_read_or_refused(value: Any) -> None:
    import json

    data = json.dumps(value).encode()
    for field in ("queue", "jobId", "state", "needs", "labels", "attempt"):
        given = {"queue": "q", "jobId": "a", "state": QUEUED} | {field: value}
        found = read_job(json.dumps(given).encode(), 3)
        assert found is None or read_job(found.to_bytes(), 3) == found
    assert read_job(data, 1) is None or isinstance(value, dict)
    read_settings(data, 1)
    assert read_worker("q.m", data) is None
    found_worker = read_worker("q.m.w", data)
    assert found_worker is None or found_worker.id == "w"
    assert read_task(data) is None or isinstance(value, dict)


def test_a_task_is_read_whole_or_not_at_all() -> None:
    task = Task(["a", "b\udcff"], None, "/", {"K": "v"}, {}, {"idle": "5m"}, 2, stdin="pipe")
    assert read_task(task.to_bytes()) == task
    for broken in (task.replace(argv=[]), task.replace(cwd=""), task.replace(limits={"rm": "x"})):
        assert read_task(broken.to_bytes()) is None


class FleetOfWorkers(RuleBasedStateMachine):
    """Three workers and one server in virtual time. A worker sees the queue as it last read it; it may freeze, be cut
    off and die at any moment. `lives` is what really runs, which no worker can see of another."""

    HOLD = 60.0

    @initialize(limit=st.none() | st.integers(1, 3))
    def begin(self, limit: int | None) -> None:
        self.now = 1000.0
        self.place = 0
        self.settings = QueueSettings(max_running=limit)
        self.jobs: dict[str, QueuedJob] = {}
        self.history: dict[str, list[QueuedJob]] = {}
        self.words: dict[str, int] = {}
        self.lives: dict[tuple[str, str], tuple[QueuedJob, float]] = {}  # worker, job → what it runs, until when
        self.views: dict[str, dict[str, QueuedJob]] = {name: {} for name in "abc"}
        self.silences = {name: Silences() for name in "abc"}
        self.expected: dict[tuple[str, str], int | None] = {}
        self.frozen: set[str] = set()
        self.submit(0, True)

    # --- the server -------------------------------------------------------------------------------------------

    def store(self, wanted: QueuedJob) -> QueuedJob | None:
        known = self.jobs.get(wanted.id)
        if (known.place if known else 0) != wanted.place:
            return None
        self.place += 1
        stored = wanted.replace(place=self.place)
        self.jobs[stored.id] = stored
        self.history.setdefault(stored.id, []).append(stored)
        return stored

    def say(self, name: str, expected: int | None) -> int | None:
        if expected is not None and self.words.get(name, 0) != expected:
            return None
        self.place += 1
        self.words[name] = self.place
        return self.place

    # --- what happens -----------------------------------------------------------------------------------------

    @rule(priority=st.integers(-1, 1), retry=st.booleans())
    def submit(self, priority: int, retry: bool) -> None:
        name = f"j{len(self.jobs)}"
        on_lost = RETRY if retry else FAIL
        made = job(name, priority=priority, on_lost=on_lost, hold=self.HOLD, order=self.place)
        assert self.store(made) is not None

    @rule(who=st.sampled_from("abc"))
    def read(self, who: str) -> None:
        if who not in self.frozen:
            self.views[who] = dict(self.jobs)

    @rule(who=st.sampled_from("abc"), fresh=st.booleans())
    def take(self, who: str, fresh: bool = True) -> None:
        if who in self.frozen:
            return
        if fresh:
            self.read(who)
        mine = [each for owner, each in self.lives if owner == who]
        offer = Worker("q", who, who, slots=2, memory=0, busy=len(mine))
        open_ = [each for each in self.views[who].values() if (who, each.id) not in self.lives]
        for each in to_take(offer, open_, self.settings):
            stored = self.store(each.claimed(who, who))
            if stored is None:
                continue
            if not may_stay(stored, self.jobs.values(), self.settings):
                assert self.store(stored.given_back("full")) is not None
                continue
            self.lives[who, each.id] = (stored, self.now + ended_after(self.HOLD))
            self.expected[who, each.id] = None

    @rule(who=st.sampled_from("abc"))
    def hold(self, who: str) -> None:
        if who in self.frozen:
            return
        for owner, name in [key for key in self.lives if key[0] == who]:
            held, _ = self.lives[owner, name]
            stored = self.say(name, self.expected[owner, name])
            if stored is None and not self.jobs[name].is_of(who, held.attempt):
                del self.lives[owner, name]  # fenced: it ends what it runs
            elif stored is None:
                self.expected[owner, name] = self.words[name]
            else:
                self.expected[owner, name] = stored
                self.lives[owner, name] = (held, self.now + ended_after(self.HOLD))

    @rule(who=st.sampled_from("abc"), success=st.booleans())
    def finish(self, who: str, success: bool) -> None:
        for owner, name in [key for key in self.lives if key[0] == who][:1]:
            held, _ = self.lives[owner, name]
            if who in self.frozen:
                continue
            del self.lives[owner, name]
            known = self.jobs[name]
            stored = self.store(held.finished("x", "success" if success else "error", "finished", 0, "t", ""))
            assert (stored is not None) == known.is_of(who, held.attempt)

    @rule(who=st.sampled_from("abc"))
    def freeze(self, who: str) -> None:
        self.frozen ^= {who}

    @rule(who=st.sampled_from("abc"))
    def die(self, who: str) -> None:
        """Its tether ends what it ran, and another worker takes its place."""
        self.lives = {key: value for key, value in self.lives.items() if key[0] != who}
        self.views[who], self.silences[who] = {}, Silences()
        self.frozen.discard(who)

    @rule(seconds=st.sampled_from([1.0, renewed_every(HOLD), ended_after(HOLD), HOLD]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        # the tether ends what was not held, within its grace
        self.lives = {key: (held, until) for key, (held, until) in self.lives.items() if self.now < until}

    @rule(who=st.sampled_from("abc"), steps=st.sampled_from([2, 8, 15]))
    def one_is_cut_off_while_the_others_go_on(self, who: str, steps: int) -> None:
        self.take(who, True)
        for _ in range(steps):
            for other in "abc".replace(who, ""):
                self.hold(other)
                self.watch(other)
                self.take(other, True)
            self.time_passes(renewed_every(self.HOLD))
            self.no_job_runs_twice_at_once()

    @rule(who=st.sampled_from("abc"))
    def watch(self, who: str) -> None:
        if who in self.frozen:
            return
        for each in self.silences[who].look(list(self.jobs.values()), dict(self.words), self.now):
            if self.say(each.id, self.words.get(each.id, 0)) is not None:
                self.store(each.lost("t", "silent"))

    # --- what never happens -----------------------------------------------------------------------------------

    @invariant()
    def no_job_runs_twice_at_once(self) -> None:
        names = [name for _, name in self.lives]
        assert len(names) == len(set(names)), self.lives

    @invariant()
    def the_limit_of_the_queue_holds(self) -> None:
        if self.settings.max_running is not None:
            running = sum(each.state == RUNNING for each in self.jobs.values())
            assert running <= self.settings.max_running

    @invariant()
    def a_history_only_goes_on(self) -> None:
        for changes in self.history.values():
            assert [each.state for each in changes].count(ENDED) <= 1
            assert all(each.state != ENDED for each in changes[:-1])
            attempts = [each.attempt for each in changes]
            assert attempts == sorted(attempts)
            assert changes[0].on_lost == RETRY or changes[-1].attempt <= 1 or self.settings.max_running is not None

    @precondition(lambda self: self.jobs)
    @rule()
    def in_the_end_each_job_has_one(self) -> None:
        """Whatever happened: one worker that lives on brings every job to its end."""
        for name in "bc":
            self.die(name)
        self.frozen.discard("a")
        for _ in range(4 * MOST_ATTEMPTS * len(self.jobs) + 10):
            if all(each.state == ENDED for each in self.jobs.values()):
                return
            self.take("a", True)
            self.hold("a")
            self.finish("a", True)
            self.watch("a")
            self.now += renewed_every(self.HOLD)
        raise AssertionError({each.id: each.state for each in self.jobs.values()})


TestFleetOfWorkers = FleetOfWorkers.TestCase
TestFleetOfWorkers.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


@given(st.floats(2.0, 86400.0))
def test_a_job_is_gone_where_it_ran_before_another_may_take_it(hold: float) -> None:
    assert renewed_every(hold) < ended_after(hold) / 2
    assert ended_after(hold) + grace_of(hold) < 0.7 * hold


def test_silence_counts_only_while_the_server_could_be_read() -> None:
    silences, running = Silences(), job("a", state=RUNNING, hold=10.0, place=3)
    assert silences.look([running], {}, 0.0) == []
    assert silences.look([running], {}, renewed_every(10.0)) == silences.quiet == []
    assert silences.look([running], {}, 9.9) == []
    assert silences.quiet == [running]
    assert silences.look([running], {}, 10.0) == [running]
    assert silences.look([running], {"a": 4}, 11.0) == []  # a word
    silences.doubt()  # the server was away
    assert silences.look([running], {"a": 4}, 30.0) == []
    assert silences.look([running], {"a": 4}, 40.0) == [running]
    assert silences.look([running.replace(place=5)], {"a": 4}, 50.0) == []  # another has it now


def test_a_job_is_listed_from_its_submission_to_its_end_also_between_two_attempts() -> None:
    waiting = QueuedJob("q", "a", order=1)
    running = waiting.claimed("m", "w")
    lives = {"labels": {"queued": "a"}, "endedAt": None}
    over = lives | {"endedAt": "2026-01-01T00:00:00Z"}

    def listed(job: QueuedJob, *rows: dict[str, Any], online: bool = True) -> list[tuple[str, str]]:
        machines = {"m": Machine("m", online, "2026-01-01T00:00:00Z")}
        found = unpublished(rows, [job], lambda _: QueueSettings(), [], machines)
        return [(row["jobId"], row["status"]) for row in found]

    assert listed(waiting) == [("a", "queued")]
    assert listed(running) == [("a", "running")]
    assert listed(running, lives) == []
    # its worker was killed, its machine has published the end of that attempt, and the queue does not know yet
    assert listed(running, over) == [("a", "running")]
    # a machine that is offline has not published what it has taken
    assert listed(running, online=False) == [("a", "unknown")]
    assert listed(running, over, online=False) == [("a", "running")]
    assert listed(running.replace(machine="stranger")) == [("a", "unknown")]
    assert listed(running.given_back("x"), over) == [("a", "queued")]
    assert listed(running.given_back("x").claimed("n", "v"), over, lives) == []
    assert listed(running.finished("x", "success", "finished", 0, "t", ""), over) == []
    assert listed(waiting.cancelled("t", "x")) == [("a", "cancelled")]
