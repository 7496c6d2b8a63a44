"""Annotations, summaries and reports, read back as CI systems read them: no text of a job becomes a command there."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.core import ci
from unhang.core.durations import human_ms

TEXTS = st.text(max_size=60) | st.sampled_from(
    ["::error::x", "a|b`c`\n# d", "]]>&<x>", "%0A%25", "\x00\x1b[31m\ud800\ufffe", "a:b,c"]
)
REPORTS = st.builds(
    ci.JobReport,
    job_id=st.from_regex(r"[a-z0-9]{10}", fullmatch=True),
    name=st.just("") | TEXTS,
    command=TEXTS,
    status=st.sampled_from(["success", "error", "timeout", "cancelled", "running"]),
    state=TEXTS,
    exit_code=st.none() | st.integers(0, 255),
    message=TEXTS,
    started=st.none() | st.just("2026-01-02T03:04:05Z"),
    duration_ms=st.none() | st.floats(0, 1e9),
    reason=TEXTS,
    suggestions=st.lists(TEXTS, max_size=3),
    stdout=TEXTS,
    stderr=TEXTS,
)  # fmt: skip


def read_as_the_runner_does(line: str) -> tuple[str, dict[str, str], str]:
    """As `ActionCommand.TryParseV2` of GitHub's runner: the command, its properties, its data."""
    line = line.strip()
    assert line.startswith("::")
    end = line.index("::", 2)
    info, data = line[2:end], line[end + 2 :]
    command, _, rest = info.partition(" ")
    properties = {}
    for pair in filter(None, (part.strip() for part in rest.split(","))):
        name, _, value = pair.partition("=")
        for escaped, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            value = value.replace(escaped, char)
        properties[name] = value
    for escaped, char in (("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        data = data.replace(escaped, char)
    return command, properties, data


@given(title=st.text(min_size=1).filter(str.strip), message=st.text(min_size=1).filter(str.strip))
def test_github_reads_an_annotation_as_it_was_meant(title: str, message: str) -> None:
    line = ci.annotation(ci.GITHUB, ci.WARNING, title, message)
    assert "\n" not in line
    assert "\r" not in line
    command, properties, data = read_as_the_runner_does(line)
    assert command == "warning"
    # the runner trims, and unescapes one after the other: a literal %250A is the only text that it cannot be told
    if "%" not in title + message:
        assert (properties["title"].strip(), data.strip()) == (title.strip(), message.strip())


@pytest.mark.parametrize(
    ("env", "system"),
    [({"GITHUB_ACTIONS": "true"}, ci.GITHUB), ({"GITLAB_CI": "true"}, ci.GITLAB), ({"CI": "true"}, ""), ({}, "")],
)
def test_the_system_is_known_by_its_variable(env: dict[str, str], system: str) -> None:
    assert ci.system_of(env) == system


def test_gitlab_gets_a_line_in_colour() -> None:
    assert ci.annotation(ci.GITLAB, ci.ERROR, "web", "ended") == "\x1b[31;1mERROR: web: ended\x1b[0m"


# Of the schema that Jenkins publishes for JUnit files, which GitLab's and GitHub's readers take, too.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors", "skipped"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
    "system-err": set(),
}
INSIDE = {
    "testsuites": ["testsuite"],
    "testsuite": ["testcase"],
    "testcase": ["skipped", "error", "failure", "system-out", "system-err"],
}


@given(st.lists(REPORTS, max_size=4))
@settings(max_examples=50)
def test_junit_is_valid_and_its_numbers_are_true(reports: list[ci.JobReport]) -> None:
    text = ci.junit(reports, "2026-01-02T03:04:05")
    root = ElementTree.fromstring(text.encode("utf-8", "strict"))
    for element in root.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag]
        order = INSIDE.get(element.tag, [])
        assert [child.tag for child in element if child.tag not in order] == []
        places = [order.index(child.tag) for child in element]
        assert element.tag == "testsuite" or places == sorted(places)
    suite = root[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    for counted, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[counted]) == len(list(suite.iter(tag)))
    assert len(list(suite)) == len(reports)
    assert len(list(suite.iter("failure"))) == sum(r.status == "error" and r.exit_code is not None for r in reports)


@given(st.lists(REPORTS, max_size=4))
@settings(max_examples=50)
def test_every_row_of_the_tables_has_its_cells(reports: list[ci.JobReport]) -> None:
    lines = ci.markdown(reports).split("\n")
    rows = [line for line in lines if line.startswith("| ")][1 : len(reports) + 1]
    assert len(rows) == len(reports)
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 6
    for report in reports:
        table = [line for line in ci.step_summary(report).split("\n") if line.startswith("| ")]
        assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in table)


def test_the_summary_of_a_timeout_says_why_and_what_to_try() -> None:
    report = ci.JobReport(
        job_id="a1b2c3d4e5",
        name="web",
        command="npm test",
        status="timeout",
        state="timed out",
        exit_code=None,
        message="no sign of life for 5 min",
        started="2026-01-02T03:04:05Z",
        duration_ms=300_000,
        reason="it waits for input from the terminal",
        suggestions=["answer it: unhang send web yes", "give it no terminal", "a third is left out"],
        stdout="",
        stderr="",
    )
    head, _, *table = ci.step_summary(report).rstrip().split("\n")
    assert head == "### unhang: web was ended at its limit"
    assert table == [
        "| | |",
        "|---|---|",
        "| command | `npm test` |",
        "| how it ended | no sign of life for 5 min |",
        "| why | it waits for input from the terminal |",
        f"| took | {human_ms(300_000)} |",
        "| try | answer it: unhang send web yes |",
        "| try | give it no terminal |",
        "| job | `a1b2c3d4e5` |",
    ]
    unknown = ci.step_summary(report.replace(reason="", suggestions=[]))
    assert "| why |" not in unknown
    assert "| try |" not in unknown
