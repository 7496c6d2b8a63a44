"""Rows of all machines in one list: each job once, files before what was published, `unknown` where none knows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.core.fleet.presence import Machine, machines_of, read_machine, refusal
from unhang.core.fleet.rows import found_by, merge_rows, read_row, row_to_publish, row_to_show
from unhang.core.fleet.subjects import (
    is_machine,
    machine_from,
    row_key,
    session_in,
    session_part,
    split_key,
    split_name,
)
from unhang.errors import AmbiguousJob, NoSuchJob

_IDS = st.text("0123456789abcdef", min_size=10, max_size=10)
_MACHINES = st.sampled_from(["alpha", "beta", "gamma"])
_STATUSES = st.sampled_from(["running", "success", "error", "timeout", "cancelled"])


def a_row(job: str, status: str = "running", **more: Any) -> dict[str, Any]:
    row = {"jobId": job, "name": None, "status": status, "phase": "running" if status == "running" else "completed"}
    return row | {"createdAt": "2026-01-01T00:00:00Z", "why": "", "needs": None, "ports": [":80"]} | more


@given(
    st.dictionaries(st.tuples(_MACHINES, _IDS), _STATUSES, max_size=12),
    st.sets(_MACHINES),
    st.lists(_IDS, max_size=4, unique=True),
    st.sampled_from(["", "alpha"]),
)
def test_each_job_is_there_once_and_no_end_is_invented(
    there: dict[tuple[str, str], str], online: set[str], local: list[str], own: str
) -> None:
    rows = {where: a_row(where[1], status) for where, status in there.items()}
    machines = {name: Machine(name, name in online, "then") for name in ("alpha", "beta", "gamma")}
    found = merge_rows([a_row(job) for job in local], own, rows, machines, 0.0)
    keys = [(row["machine"], row["jobId"]) for row in found]
    assert len(keys) == len(set(keys))
    assert set(keys) == {(own, job) for job in local} | {where for where in there if where[0] != own}
    for row in found:
        if row["machine"] == own:
            assert row["status"] == "running"  # as the files say, whatever was published
            continue
        was = there[row["machine"], row["jobId"]]
        known = was != "running" or row["machine"] in online
        assert row["status"] == (was if known else "unknown")
        assert known or (row["phase"], row["needs"], row["ports"]) == ("unknown", None, [])


@given(st.integers(0, 10**9), st.floats(0, 2e9))
def test_the_time_that_is_left_goes_on_at_the_viewer(left: int, now: float) -> None:
    row = row_to_publish(a_row("a", endsInMs=left), 7, now)
    assert read_row(json.dumps(row).encode()) == row
    assert row["seq"] == 7
    later = row_to_show(row, Machine("m", online=True, seen=""), "m", now + 1)
    assert abs(later["endsInMs"] - max(0, left - 1000)) <= 500


def test_what_needs_a_person_names_the_machine_in_its_command() -> None:
    row = a_row("abc", name="web", needs={"kind": "input", "command": "unhang send web ANSWER"})
    assert (
        row_to_show(row, Machine("beta", online=True, seen=""), "beta", 0)["needs"]["command"]
        == "unhang send web@beta ANSWER"
    )


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"\xff", b'{"jobId": 1}', b'{"jobId": "a", "status": "", "phase": "b"}']
)
def test_a_foreign_row_is_none(data: bytes) -> None:
    assert read_row(data) is None


def test_a_job_is_found_by_id_name_prefix_and_last() -> None:
    rows = {
        ("alpha", "aaaa111111"): a_row("aaaa111111", name="web"),
        ("beta", "aaaa222222"): a_row("aaaa222222", name="web", createdAt="2026-01-02T00:00:00Z"),
        ("beta", "bbbb333333"): a_row("bbbb333333", "success", name="web"),
    }
    assert found_by(rows, "bbbb", None) == ("beta", "bbbb333333")
    assert found_by(rows, "web", "beta") == ("beta", "aaaa222222")  # the one that runs
    assert found_by(rows, "@last", None) == ("beta", "aaaa222222")
    assert found_by(rows, "aaaa", "alpha") == ("alpha", "aaaa111111")
    # a name that is another job's id leads nowhere else
    misled = rows | {("gamma", "cccc444444"): a_row("cccc444444", name="aaaa111111")}
    assert found_by(misled, "aaaa111111", None) == ("alpha", "aaaa111111")
    for name in ("web", "aaaa"):
        with pytest.raises(AmbiguousJob):
            found_by(rows, name, None)
    for name, machine in (("cccc", None), ("bbbb", "alpha"), ("@last", "gamma")):
        with pytest.raises(NoSuchJob):
            found_by(rows, name, machine)


@given(st.text(max_size=80))
def test_any_host_name_makes_a_name(host: str) -> None:
    name = machine_from(host)
    assert is_machine(name)
    assert split_key(row_key(name, "abc")) == (name, "abc")
    assert split_key(row_key(name, session_part("a-b"))) == (name, "session.a-b")
    assert [split_key(row_key(name, each)) for each in ("a.b", "session.", "session.a.b", "")] == [None] * 4
    assert (session_in(session_part("a-b")), session_in("session"), session_in("abc")) == ("a-b", None, None)
    assert split_name(f"abc@{name}") == ("abc", name)


@pytest.mark.parametrize("name", ["@last", "abc", "a@b.c", "a@", "@", "a@-b", "a@b>", "a@*"])
def test_what_is_no_job_of_another_machine(name: str) -> None:
    assert split_name(name) is None


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", ">", "-a", "a" * 64, "ä"])
def test_a_name_cannot_mean_another_subject(name: str) -> None:
    assert not is_machine(name)


def test_presence_is_what_the_server_still_believes() -> None:
    word = json.dumps({"home": "h", "jobs": 2, "load": 0.5}).encode()
    found = machines_of({"alpha": (word, "t1"), "beta": (word, "t1"), "b*d": (word, "t1")}, {"alpha": (word, "t2")})
    assert {name: (each.online, each.seen, each.jobs) for name, each in found.items()} == {
        "alpha": (True, "t2", 2),
        "beta": (False, "t1", 2),
    }


@given(st.binary(max_size=80))
def test_any_word_of_a_machine_can_be_read(said: bytes) -> None:
    found = read_machine("alpha", said, "t", online=True)
    assert found is not None
    assert found.to_json()["machine"] == "alpha"


@pytest.mark.parametrize(
    ("version", "jetstream", "good"),
    [
        ((2, 9), True, False),
        ((2, 10), True, False),
        ((2, 11), True, True),
        ((3, 0), True, True),
        ((2, 15), False, False),
    ],
)
def test_a_server_that_will_not_do_is_refused(version: tuple[int, int], jetstream: bool, good: bool) -> None:
    why = refusal(version, jetstream)
    assert (why is None) == good
    assert why is None or "\n" not in why


def test_what_an_ended_job_needs_is_not_published_since_nothing_would_take_it_back() -> None:
    needs = {"kind": "failed", "why": "exited with 3", "since": None, "command": "unhang status a"}
    ended = row_to_publish(a_row("a", endedAt="2026-01-02T03:04:05.000Z", needs=needs), 7, 0.0)
    assert ended["needs"] is None
    assert row_to_publish(a_row("a", needs=needs | {"kind": "stuck"}), 7, 0.0)["needs"] is not None
