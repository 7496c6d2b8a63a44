"""Which failures show that a program asked and nothing could answer; a parser's end of file is none of them."""

from __future__ import annotations

import pytest

from unhang.core.unanswered import INPUT, TERMINAL, would_have_helped

TRACEBACK = 'Traceback (most recent call last):\n  File "<string>", line 1\nEOFError: EOF when reading a line\n'


@pytest.mark.parametrize(
    ("stdout", "stderr", "needed", "asked"),
    [
        ("Your name: ", TRACEBACK, INPUT, "Your name:"),
        ("Name, please\n", TRACEBACK, INPUT, ""),
        ("Press ^C at any time to quit.\npackage name: (np3) ", "", INPUT, "package name: (np3)"),
        ("", "rm: remove regular file 'a'? ", INPUT, "rm: remove regular file 'a'?"),
        ("Continue? [y/N] ", "unexpected end of input\n", INPUT, "Continue? [y/N]"),
        ("", "sudo: a terminal is required to read the password\n", TERMINAL, ""),
        ("", "the input device is not a TTY\n", TERMINAL, ""),
        ("", "fatal: could not read Username for 'https://a': terminal prompts disabled\n", TERMINAL, ""),
    ],
)
def test_a_question_without_an_answer_is_recognised(stdout: str, stderr: str, needed: str, asked: str) -> None:
    assert would_have_helped(stdout, stderr) == (needed, asked)


@pytest.mark.parametrize(
    ("stdout", "stderr"),
    [
        ("", ""),
        ("all tests:\n", ""),
        ("", 'sh: 3: Syntax error: end of file unexpected (expecting "done")\n'),
        ("", "SyntaxError: unexpected EOF while parsing\n"),
        ("compiling a.c (3 of 5)", "a.c:3: error: expected ;\n"),
        ("", "fatal: early EOF\nfatal: index-pack failed\n"),
        ("downloading 40 %", ""),
    ],
)
def test_any_other_failure_is_not(stdout: str, stderr: str) -> None:
    assert would_have_helped(stdout, stderr) is None
