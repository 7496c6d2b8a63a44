"""What a CI system understands: annotations in its log, a table for its summary, JUnit XML and Markdown for a report.

Pure: text in, text out. Whatever a job printed or is called cannot become markup or a command of the CI system here.
"""

from __future__ import annotations

from unhang.core import plain_text
from unhang.core.durations import human_ms
from unhang.core.plural import several
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

GITHUB, GITLAB = "github", "gitlab"
WARNING, ERROR = "warning", "error"
_GITLAB_COLOURS = {WARNING: "33", ERROR: "31"}
# Of an output, in a report: the last of it says what went wrong.
_OUTPUT = 4000
_CELL = 500


def system_of(env: Mapping[str, str]) -> str:
    """Return which CI system this environment is of; empty: none that is known."""
    if env.get("GITHUB_ACTIONS") == "true":
        return GITHUB
    return GITLAB if env.get("GITLAB_CI") == "true" else ""


def annotation(system: str, level: str, title: str, message: str) -> str:
    """Return the line that makes the CI system show a message where a person looks first."""
    if system == GITHUB:
        return f"::{level} title={_github_property(title)}::{_github_data(message)}"
    return f"\x1b[{_GITLAB_COLOURS[level]};1m{level.upper()}: {title}: {message}\x1b[0m"


def _github_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github_data(text).replace(":", "%3A").replace(",", "%2C")


class JobReport(Record):
    """What a report says of one job."""

    job_id: str
    name: str  # empty: it was given none
    command: str
    status: str  # success, error, timeout, cancelled or running
    state: str  # the same in the words of every list
    exit_code: int | None
    message: str  # how it ended
    started: str | None  # RFC 3339
    duration_ms: float | None
    reason: str  # why it was quiet, from the diagnosis; empty if nothing is known
    suggestions: Sequence[str]
    stdout: str
    stderr: str

    @property
    def title(self) -> str:
        """Return the name, or the command."""
        return self.name or self.command


# --- Markdown -------------------------------------------------------------------------------------------------


def _cell(text: str) -> str:
    """Text as text in a cell of a table, whatever is in it."""
    line = plain_text.one_line(text, _CELL)
    for mark in "\\`*_[]<>|~#":
        line = line.replace(mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return line


def _code(text: str) -> str:
    """Text as code in a cell of a table."""
    line = plain_text.one_line(text, 120).replace("|", "\\|")
    longest = max((len(run) for run in _runs_of_backticks(line)), default=0)
    mark = "`" * (longest + 1)
    return f"{mark} {line} {mark}" if longest else f"`{line}`"


def _runs_of_backticks(line: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in line).split() if run]


def step_summary(report: JobReport) -> str:
    """Return a short table about one job that did not end well."""
    rows = [
        ("command", _code(report.command)),
        ("how it ended", _cell(report.message)),
        ("why", _cell(report.reason)),
        ("took", human_ms(report.duration_ms)),
        *(("try", _cell(hint)) for hint in report.suggestions[:2]),
        ("job", _code(report.job_id)),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows if value)
    return f"### unhang: {_cell(report.title)} {_how(report)}\n\n| | |\n|---|---|\n{table}\n\n"


def _how(report: JobReport) -> str:
    words = {"success": "succeeded", "timeout": "was ended at its limit", "cancelled": "was cancelled"}
    words |= {"running": "is still running"}
    code = "" if report.exit_code is None else f" with {report.exit_code}"
    return words.get(report.status, f"failed{code}")


def markdown(reports: Sequence[JobReport]) -> str:
    """Return a summary of jobs: a line on top, a table, and the reason of each that did not end well."""
    bad = [report for report in reports if report.status not in ("success", "running", "cancelled")]
    head = f"## unhang: {several(len(reports), 'job')}, {len(bad)} not well\n"
    lines = [head, "| job | command | status | took | why |", "|---|---|---|---|---|"]
    for each in reports:
        cells = [_cell(each.name or each.job_id), _code(each.command), _cell(each.state), human_ms(each.duration_ms)]
        lines.append("| " + " | ".join([*cells, _cell(each.reason)]) + " |")
    for each in bad:
        lines += ["", f"### {_cell(each.title)} {_how(each)}", "", _cell(each.message)]
        lines += [f"- {_cell(hint)}" for hint in each.suggestions]
        tail = _tail(each.stderr) or _tail(each.stdout)
        if tail:
            fence = "`" * (3 + max((len(run) for run in _runs_of_backticks(tail)), default=0))
            lines += ["", f"{fence}text", tail, fence]
    return "\n".join(lines) + "\n"


def _tail(text: str, most: int = _OUTPUT) -> str:
    """The end of an output, harmless, from the beginning of a line on."""
    shown = plain_text.harmless(text[-2 * most :]).strip("\n")
    if len(shown) > most:
        shown = "…\n" + shown[-most:].partition("\n")[2]
    return shown


# --- JUnit XML ------------------------------------------------------------------------------------------------


def junit(reports: Sequence[JobReport], timestamp: str) -> str:
    """Return JUnit XML, as CI systems read it: one test case a job. A timeout is an error, a bad exit a failure."""
    kinds = [_kind(report) for report in reports]
    total = sum((report.duration_ms or 0) / 1000 for report in reports)
    counts: dict[str, Any] = {
        "tests": len(reports),
        "failures": kinds.count("failure"),
        "errors": kinds.count("error"),
        "skipped": kinds.count("skipped"),
        "time": f"{total:.3f}",
    }
    head = _attributes({"name": "unhang"} | counts)
    suite = _attributes({"name": "unhang"} | counts | {"timestamp": timestamp.rstrip("Z").partition(".")[0]})
    cases = "".join(_case(report, kind) for report, kind in zip(reports, kinds, strict=True))
    top = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f"{top}<testsuites{head}>\n<testsuite{suite}>\n{cases}</testsuite>\n</testsuites>\n"


def _kind(report: JobReport) -> str:
    if report.status == "success":
        return ""
    if report.status in ("cancelled", "running"):
        return "skipped"
    return "failure" if report.status == "error" and report.exit_code is not None else "error"


def _case(report: JobReport, kind: str) -> str:
    seconds = f"{(report.duration_ms or 0) / 1000:.3f}"
    named = {"name": plain_text.one_line(report.title, 200), "classname": f"unhang.{report.job_id}", "time": seconds}
    inner = ""
    if kind:
        told = "\n".join(
            filter(None, [report.message, report.reason, *(f"try: {hint}" for hint in report.suggestions)])
        )
        kinds = {} if kind == "skipped" else {"type": report.status}
        inner = f"<{kind}{_attributes({'message': report.message or report.status} | kinds)}>{_text(told)}</{kind}>\n"
    for stream, text in (("system-out", report.stdout), ("system-err", report.stderr)):
        if shown := _tail(text):
            inner += f"<{stream}>{_text(shown)}</{stream}>\n"
    return f"<testcase{_attributes(named)}>\n{inner}</testcase>\n"


def _attributes(values: Mapping[str, Any]) -> str:
    return "".join(f' {name}="{_text(plain_text.one_line(str(value), 1000))}"' for name, value in values.items())


def _text(text: str) -> str:
    """Text as XML: what has no place in XML 1.0 at all (control characters, halves of a pair) is left out."""
    kept = "".join(c for c in text if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff")
    return kept.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
