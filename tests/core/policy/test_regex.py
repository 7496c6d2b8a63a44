"""Patterns of a user's file: the same answers as Python's `re`, in bounded time whatever the pattern."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.core.policy.regex.match import MOST_STEPS, CompiledPattern, _Run
from unhang.core.policy.regex.parse import RegexError


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [
        ("^(ls|dir)", "ls -la", 2),
        ("^(ls|dir)", "lsof -i", 0),
        ("ls", "LS x", 2),
        ("LS", "ls x", 2),
        ("npm (run|run build)", "npm run build x", 13),
        ("npm (run build|run)", "npm run build x", 13),
        ("git ", "git status", 4),
        ("^git (status|log)(?!.*push|pull|clone)", "git log -1", 7),
        ("^python .+\\.py(?!.*train)", "python a.py --train", 0),
        ("^python .+\\.py(?!.*train)", "python a.py b.py x", 16),
        ("a{2,3}", "aaa", 3),
        ("a{2}", "aaa", 0),
        ("a{,2} b", "aa b", 4),
        ("a{2,}", "aaaaa", 5),
        ("a{x", "a{x", 3),
        ("(?:a|b)+?c", "ababc", 5),
        ("(?P<x>a)b", "ab", 2),
        ("(?i)abc", "ABC", 3),
        ("[a-c]+[^x ]", "abcz", 4),
        ("[]a]+", "]a]", 3),
        ("[a\\-z]+", "a-z", 3),
        ("[\\d\\s]+x", "1 2x", 4),
        ("\\w+\\b", "abc def", 3),
        ("\\bab\\B.", "abc", 3),
        ("\\x41\\u0042", "ab", 2),
        (".*", "x y z", 5),
        ("(?<=a)b|ab", "ab", 2),
        ("a(?<!b)c", "ac", 2),
        ("a$", "a", 1),
        ("a$", "a b", 0),
        ("", "a", 0),
        ("x*", "y", 0),
        ("ß+", "SSß", 0),
        ("世.", "世界", 2),
    ],
)
def test_the_longest_match_that_ends_with_a_word(pattern: str, text: str, end: int) -> None:
    assert CompiledPattern(pattern).match(text) == end


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 500 + "!"),
        ("(a|a)*b", "a" * 500),
        ("(a|aa)+$", "a" * 500 + "!"),
        ("(.*a){12}", "a" * 500 + "b"),
        ("(x+x+)+y", "x" * 500),
        ("(\\w+\\s?)*:", "word " * 100),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 500 + "!"),
        ("a*a*a*a*a*a*b", "a" * 500),
        ("(?:(?=.*z).)*", "a" * 500 + "z"),
        ("(?:(?=(?=.*z).*y).)*", "a" * 500),
        ("((a{0,10}){0,10}){0,4}b", "a" * 500),
        (".*.*.*.*=.*", "x" * 500),
    ],
)
def test_a_pattern_that_backtracks_for_ever_elsewhere_ends_here(pattern: str, text: str) -> None:
    """Counted rather than timed: no run does more than its budget, which is some milliseconds."""
    program = CompiledPattern(pattern)
    run = _Run(program._ops, program._sets, text)
    run.longest(0, 0, whole_words=True)
    assert run.steps <= MOST_STEPS + 50
    assert program.match(text) in (0, None)


@pytest.mark.parametrize(
    ("pattern", "message", "at"),
    [
        ("(a", "a ( that is never closed", 0),
        ("a)", "a ) that closes nothing", 1),
        ("[a", "a [ that is never closed", 0),
        ("*a", "nothing to repeat", 0),
        ("a**", "a repetition of a repetition", 0),
        ("a\\", "a \\ at the end", 1),
        ("(a)\\1", "back-references are not supported", 3),
        ("(?P=x)", "this kind of group is not supported", 0),
        ("(?s)a", "this kind of group is not supported", 0),
        ("(?(1)a|b)", "this kind of group is not supported", 0),
        ("a{3,2}", "the smaller number comes first", 1),
        ("a{99999}", "more than 1000 repetitions", 1),
        ("(a{1000}){1000}", "the pattern is too large", 0),
        ("[z-a]", "the range z-a is empty", 0),
        ("\\q", "unknown escape \\q", 0),
        ("\\xg0", "\\x needs 2 hexadecimal digits", 0),
        ("(?<=a+)b", "look-behind needs a fixed width", 0),
        ("(" * 60, "groups nested more than 40 deep", 41),
    ],
)
def test_what_is_not_supported_is_refused_with_its_place(pattern: str, message: str, at: int) -> None:
    with pytest.raises(RegexError) as caught:
        CompiledPattern(pattern)
    assert message in str(caught.value)
    assert caught.value.at == at


ATOMS = st.sampled_from(["a", "b", " ", ".", "[ab]", "[^a]", "\\w", "\\s", "ab", "\\b"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "*?"])).map(lambda p: f"(?:{p[0]}){p[1]}")
    return st.one_of(
        repeated,
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        inner.map(lambda p: f"(?={p})"),
        inner.map(lambda p: f"(?!{p})"),
    )


@given(st.recursive(ATOMS, _grown, max_leaves=6), st.text(alphabet="ab ", max_size=8))
@settings(max_examples=400, deadline=None)
def test_it_agrees_with_re(pattern: str, text: str) -> None:
    """The longest end of a word that `re` can be made to stop at; the text is short, so `re` is safe here."""
    expected = 0
    for end in range(1, len(text) + 1):
        whole = end == len(text) or text[end].isspace() or text[end - 1].isspace()
        stops_here = f"(?:{pattern})(?=[\\s\\S]{{{len(text) - end}}}\\Z)"
        if whole and re.match(stops_here, text, re.IGNORECASE):
            expected = end
    assert CompiledPattern(pattern).match(text) == expected


@given(st.text(max_size=40), st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_pattern_or_a_clear_error(pattern: str, text: str) -> None:
    try:
        program = CompiledPattern(pattern)
    except RegexError:
        return
    end = program.match(text)
    assert end is None or 0 <= end <= len(text)
