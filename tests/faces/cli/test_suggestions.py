"""Words that are nearly right lead to the right ones."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

import pytest

from tests.support.desk import Desk
from tests.support.jobs import Jobs
from unhang.faces.cli import suggest
from unhang.faces.cli.command_module import load
from unhang.faces.cli.main import COMMANDS, overview, run
from unhang.faces.cli.parser import parser_of
from unhang.faces.cli.plain_line import options_of
from unhang.installers import known_mcp_clients


@pytest.mark.parametrize(("word", "wanted"), suggest.OTHER_WORDS.items())
def test_the_words_that_people_try_lead_to_a_command_that_exists(word: str, wanted: str) -> None:
    assert word not in COMMANDS
    assert suggest.instead_of_command([word, "web"], list(COMMANDS)) == f"use: unhang {wanted} web"
    name, *rest = wanted.split()
    if name == "--version":
        return
    parser = parser_of(name, load(COMMANDS[name]), "")
    options = [option for action in parser._actions for option in action.option_strings]
    assert all(word in options or not word.startswith("-") or word == "--" for word in rest)


@pytest.mark.parametrize("word", ["stop", "kill", "rm", "delete", "attach", "tail", "info", "rerun", "why"])
def test_what_is_said_instead_of_a_word_about_a_job_takes_that_job(word: str) -> None:
    name, *rest = suggest.OTHER_WORDS[word].split()
    assert "web" in parser_of(name, load(COMMANDS[name]), "").parse_args([*rest, "web"]).job


@pytest.mark.parametrize("name", ["run", "start"])
def test_the_usage_shows_where_the_command_stands(name: str) -> None:
    assert parser_of(name, load(COMMANDS[name]), "").format_usage().split()[-3:] == ["--", "COMMAND", "…"]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_to_be_given_has_a_name_in_capitals(name: str) -> None:
    parsers = [parser_of(name, load(COMMANDS[name]), "")]
    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
            elif action.choices is None and action.nargs != 0:
                assert isinstance(action.metavar, str), (parser.prog, action.dest)
                assert any(c.isupper() for c in action.metavar), (parser.prog, action.metavar)


@pytest.mark.parametrize(("name", "shown"), [("cancel", "[JOB…]"), ("gc", "[JOB…]"), ("status", "JOB…")])
def test_the_usage_shows_once_that_there_may_be_several_jobs(name: str, shown: str) -> None:
    assert parser_of(name, load(COMMANDS[name]), "").format_usage().split()[-1] == shown


@pytest.mark.parametrize(
    ("command", "said", "found"),
    [
        (["ls", "--idle", "3"], "ls: unrecognized option '--idle'", "--idle"),
        (["x.py", "--hard=3"], "usage: x.py\nx.py: error: unrecognized arguments: --hard=3", "--hard"),
        (["go", "--stall", "3"], "flag provided but not defined: --stall", "--stall"),
        (["x.py", "--json"], "usage: x.py [--json]\nx.py: error: unrecognized arguments: 7", ""),
        (["ls", "--idel"], "ls: unrecognized option '--idel'", ""),
        (["curl", "--retry", "3"], "curl: (7) Failed to connect", ""),
    ],
)
def test_an_option_behind_the_command_is_ours_if_the_program_does_not_know_it(
    command: list[str], said: str, found: str
) -> None:
    assert suggest.option_behind(command, options_of(load("run").configure), said) == found


def test_an_option_behind_the_command_leads_to_its_place(jobs: Jobs) -> None:
    done = jobs.call("run", "ls", "--idle", "3")
    assert done.code == 2
    assert b"unhang run --idle \xe2\x80\xa6 -- ls" in done.err
    for words in (("--", "ls", "--idle", "3"), ("ls", "--zq7zq7"), ("true", "--idle", "3")):
        assert b"unhang" not in jobs.call("run", *words).err


@pytest.mark.parametrize(
    ("words", "got"),
    [
        (("--", "printf", "%s,", "a", "--", "b"), b"a,--,b,"),
        (("printf", "%s,", "a", "--", "b"), b"a,--,b,"),
        (("--idle", "9", "printf", "%s,", "--", "--", "b"), b"--,--,b,"),
        (("--idle", "9", "--", "printf", "%s,", "--"), b"--,"),
    ],
)
def test_two_dashes_behind_a_command_are_its_own(jobs: Jobs, words: tuple[str, ...], got: bytes) -> None:
    """`git checkout -- file` is another command than `git checkout file`."""
    assert jobs.call("run", *words).out == got


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stop", "web"], "unhang cancel web"),
        (["kill", "web"], "unhang cancel web"),
        (["ls"], "unhang ps"),
        (["rm", "web"], "unhang gc web"),
        (["attach", "web"], "unhang logs -f web"),
        (["tail", "web"], "unhang logs -f web"),
        (["statsu", "web"], "did you mean: unhang status web"),
        (["rnu", "--", "ls"], "did you mean: unhang run -- ls"),
        (["PS"], "unhang ps"),
        (["sh", "-c", "a b"], "unhang run -- sh -c 'a b'"),
        (["zq7zq7"], "unhang --help"),
        (["ps", "--lable", "a=b"], "did you mean --label?"),
        (["run", "--idel", "5s", "true"], "did you mean --idle?"),
        (["run", "-idle", "5s", "true"], "did you mean --idle?"),
        (["gc", "--keep"], "unrecognized arguments: --keep (see"),
        (["mcp", "install", "--dryrun", "codex"], "did you mean --dry-run? (see: unhang mcp install --help)"),
        (["policy", "explain", "--polcy", "x", "ls"], "did you mean --policy? (see: unhang policy explain --help)"),
        (["fleet", "jion"], "did you mean unhang fleet join?"),
        (["policy", "expain", "make"], "did you mean unhang policy explain?"),
        (["mcp", "instal"], "did you mean unhang mcp install?"),
        (["policy", "zq7zq7"], "it has explain, check, init, schema"),
        (["ps", "--sort", "nam"], "did you mean name?"),
    ],
)
def test_a_mistake_is_answered_with_what_was_meant(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["cancel", "policy", "mcp"])
def test_help_with_a_command_says_what_its_option_help_says(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", command]) == 0
    wanted = capsys.readouterr().out
    assert run([command, "--help"]) == 0
    assert capsys.readouterr().out == wanted
    assert run(["help"]) == 0
    assert capsys.readouterr().out.split() == overview().split()


def test_a_job_whose_name_or_id_is_nearly_right_is_named(jobs: Jobs) -> None:
    job = jobs.begin("--name", "build", "--", "true")
    nearly = job.id[:-1] + ("0" if job.id[-1] != "0" else "1")
    for words in (("status", "buld"), ("logs", "Build-"), ("cancel", "built")):
        done = jobs.call(*words)
        assert (done.code, b"did you mean build?" in done.err) == (125, True), done
    assert f"did you mean {job.id}?".encode() in jobs.call("status", nearly).err
    assert b"did you mean" not in jobs.call("status", "zq7zq7").err
    assert b"@last" in jobs.call("status").err, "what may stand there is said"


@pytest.mark.parametrize("columns", [40, 80])
def test_the_server_at_a_terminal_says_what_it_is_by_words(desk_of: Callable[..., Desk], columns: int) -> None:
    desk = desk_of(columns=columns, rows=40)
    desk.enter("unhang mcp; echo code $?")
    desk.matches(r"^code 2$")
    assert "    unhang mcp install claude-code" in desk.lines()
    text = " ".join(desk.lines())
    clients = [*known_mcp_clients.known({"HOME": "/"})]
    for words in ("A client (an editor, an agent) starts it", f"{', '.join(clients[-3:])}."):
        assert words in text, "no word is broken"


def test_a_program_that_cannot_be_started_is_named_once(jobs: Jobs) -> None:
    assert jobs.run("--", "zq7zq7").err == b"unhang: command not found: zq7zq7\n"
    assert jobs.run("--name", "web", "--", "zq7zq7").err == b"unhang: web: command not found: zq7zq7\n"


def test_a_shell_line_without_shell_says_what_it_needs(jobs: Jobs) -> None:
    done = jobs.run("--", "echo a && echo b")
    assert done.code == 127
    assert re.search(rb"--shell 'echo a && echo b'", done.err)
    assert jobs.run("--shell", "echo a && echo b").out == b"a\nb\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [(("cd", "/"), b"--shell 'cd "), (("source", "env"), b"--shell "), (("A=1", "env"), b"--env A=1")],
)
def test_what_only_a_shell_understands_says_what_it_needs(jobs: Jobs, words: tuple[str, ...], meant: bytes) -> None:
    done = jobs.run("--", *words)
    assert done.code == 127
    assert meant in done.err
    assert len(done.err.splitlines()) == 1


def test_a_secret_where_the_command_should_stand_is_neither_shown_nor_in_the_events(jobs: Jobs) -> None:
    done = jobs.run("--env", "OTHER_TOKEN=swordfish1", "--", "API_TOKEN=hunter2hunter2", "x")
    assert done.code == 127
    assert done.err.endswith(b"--env API_TOKEN=*** \xe2\x80\xa6)\n")
    assert jobs.run("--env", "OTHER_TOKEN=swordfish1", "--", "swordfish1").code == 127
    logs = [path.read_text() for path in jobs.home.glob("jobs/*/events.ndjson")]
    assert len(logs) == 2
    assert not any(secret in log for log in logs for secret in ("hunter2", "swordfish1"))


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize(
    "words", [[], *([name] for name in COMMANDS), ["policy", "explain"], ["mcp", "install"], ["acp", "install"]]
)
def test_no_word_of_the_help_is_broken_at_the_edge(
    words: list[str], width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run([*words, "--help"]) == 0
    _, _, text = capsys.readouterr().out.partition("\n\n")  # the usage is argparse's own, and breaks at options
    # what has no blank to break at is as long as it is
    assert [line for line in text.splitlines() if len(line) > width and len(line.split()) > 3] == []
