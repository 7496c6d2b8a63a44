"""In CI: annotations on stderr, a table in the step's summary, and reports that the systems can read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.core.test_ci import read_as_the_runner_does
from tests.support.desk import Desk
from tests.support.engine import Engine


def test_a_timeout_is_an_annotation_and_a_table_in_the_summary(engine: Engine, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# what another step has written\n")
    engine.env |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = engine.run("--name", "web", "--hard", "1", "--warn", "0.5", "--", "sleep", "1000")
    assert done.code == 124
    lines = [line for line in done.err.decode().splitlines() if line.startswith("::")]
    found = [read_as_the_runner_does(line) for line in lines]
    assert [(command, told["title"]) for command, told, _ in found] == [
        ("warning", "unhang: web"),
        ("error", "unhang: web"),
    ]
    others = [line for line in done.err.decode().splitlines() if not line.startswith("::")]
    assert "Why: " in found[0][2], "an annotation stands alone"
    assert not [line for line in others if "Why: " in line]
    text = summary.read_text()
    assert text.startswith("# what another step has written\n### unhang: web ")
    assert "| command | `sleep 1000` |" in text
    assert engine.run("--", "false").code == 1
    assert summary.read_text() == text, "an exit code is in the log already"


@pytest.mark.parametrize("plant", ["link", "pipe", "folder"])
def test_a_report_is_written_through_no_link_and_waits_for_no_pipe(engine: Engine, tmp_path: Path, plant: str) -> None:
    """The folder may be a downloaded project, whose author has put something in the place of the report."""
    engine.run("--name", "good", "--", "true")
    victim, planted = tmp_path / "victim", tmp_path / "report"
    victim.write_text("of another file\n")
    if plant == "link":
        planted.symlink_to(victim)
    elif plant == "pipe":
        os.mkfifo(planted)
    else:
        planted.mkdir()
    for option in ("--junit", "--markdown"):
        done = engine.unhang("report", "good", option, planted)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
    engine.env["GITHUB_STEP_SUMMARY"] = str(planted)
    done = engine.run("--hard", "0.5", "--warn", "0", "--", "sleep", "1000")
    assert done.code == 124
    assert b"step summary" in done.err
    assert victim.read_text() == "of another file\n"
    assert engine.unhang("report", "good", "--junit", "/dev/stdout").out.startswith(b"<?xml")


def test_gitlab_gets_lines_in_colour(engine: Engine) -> None:
    engine.env |= {"GITLAB_CI": "true"}
    done = engine.run("--hard", "1", "--warn", "0.5", "--", "sleep", "1000")
    assert b"\x1b[33;1mWARNING: unhang: sleep: " in done.err
    assert b"\x1b[31;1mERROR: unhang: sleep: " in done.err


@pytest.mark.parametrize("system", ["GITHUB_ACTIONS", "GITLAB_CI"])
def test_at_a_terminal_an_annotation_has_a_line_of_its_own_as_any_notice(
    desk_of: Callable[..., Desk], system: str
) -> None:
    """A runner can give a job a terminal, which is in raw mode while the command has one of its own."""
    desk = desk_of(columns=200)
    desk.enter(f"{system}=true unhang run --hard 1 --warn 0.5 -- sh -c 'printf working; sleep 1000'")
    desk.sees("more: unhang events")
    shown = desk.screen().splitlines()
    (warning,) = [line for line in shown if "Running for" in line]
    assert warning.startswith(("::warning ", "WARNING: "))
    assert next(line for line in shown if "ending it" in line).startswith("unhang: sh: ")
    assert "working" in shown[1:]


def test_a_report_counts_and_names_the_jobs_of_a_label(engine: Engine, tmp_path: Path) -> None:
    label = ("--label", "run=7")
    engine.run(*label, "--name", "good", "--", "true")
    engine.run(*label, "--", "sh", "-c", "echo '<&]]>'; echo '::error::x' >&2; exit 3")
    engine.run(*label, "--hard", "0.5", "--", "sleep", "1000")
    engine.run("--", "true")
    junit, markdown = tmp_path / "unhang.xml", tmp_path / "unhang.md"
    done = engine.unhang("report", *label, "--junit", junit, "--markdown", markdown)
    assert (done.code, done.out, done.err) == (0, b"", b"")
    suite = ElementTree.parse(junit).getroot()[0]
    assert [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "0"]
    assert suite[0].attrib["name"] == "good"
    assert suite[1].findtext("system-out") == "<&]]>"
    assert suite[2].find("error") is not None
    assert "3 jobs, 2 not well" in markdown.read_text()
    rows = [line.split(" | ") for line in markdown.read_text().splitlines() if line.startswith("| ")]
    assert [row[2] for row in rows[1:]] == ["done", "failed (3)", "timed out"], "as every list has it"
    assert engine.unhang("report", "good").out.decode().count("\n| ") == 2
    assert engine.unhang("report", "good", *label).code == 2
