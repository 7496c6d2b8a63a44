"""Splitting a shell line: what would be run, in pieces, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.core.policy.shell.split_commands import MOST_COMMANDS, split


def words(line: str) -> list[str]:
    return [" ".join(simple.words) for simple in split(line).commands]


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("a && b || c; d | e |& f", ["a", "b", "c", "d", "e", "f"]),
        ("a\nb\r\nc", ["a", "b", "c"]),
        ("(a; (b)); { c; }", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for x in 1 2; do a $x; done", ["a $x"]),
        ("for x\ndo a; done", ["a"]),
        ("while a; do b; done < f > g", ["a", "b"]),
        ("until a; do b; done", ["a", "b"]),
        ("select x in a b; do c; break; done", ["c", "break"]),
        ("case $x in a|b) c;; (d) e ;; *) f; esac; g", ["c", "e", "f", "g"]),
        ("case x in a) case y in b) c;; esac;; d) e;; esac", ["c", "e"]),
        ("a 'b c' \"d e\" f\\ g", ["a b c d e f g"]),
        ('a $(b) `c` "$(d)"', ["b", "c", "d", "a $(…) `…` $(…)"]),
        ("a $(b $(c))", ["c", "b $(…)", "a $(…)"]),
        ("a <(b) >(c)", ["b", "c", "a <(…) >(…)"]),
        ("a ${x:-$(b)} $((1 + (2))) $y", ["b", "a ${x:-$(…)} $(…) $y"]),
        ("a > f 2>&1 < g &> h 3<> i >| j <<< k", ["a"]),
        ("2>/dev/null a", ["a"]),
        ("a 2 >f", ["a 2"]),
        ("a # b; c", ["a"]),
        ("a#b c", ["a#b c"]),
        ("a \\\n b", ["a b"]),
        ("a\\\nb", ["ab"]),
        ("A=1 B='2 3' c", ["A=1 B=2 3 c"]),
        ("x=(a b; c) d", ["x=(…) d"]),
        ("! a", ["a"]),
        ("f() { a; }; f x; g", ["a", "g"]),
        ("function f { a; }\nf", ["a"]),
        ("[[ a && b || c > d ]] && e", ["[[ a b c d ]]", "e"]),
        ("echo {a,b} *.py ~/x !x", ["echo {a,b} *.py ~/x !x"]),
        ("echo if then fi", ["echo if then fi"]),
        ("'if' a", ["if a"]),
        ("a 'open", ["a open"]),
        ('a "open', ["a open"]),
        ("a $(b", ["b", "a $(…)"]),
        ("a `b", ["b", "a `…`"]),
        ("a `b c` d", ["b c", "a `…` d"]),
        ("a ) b", ["a", "b"]),
        ("a $'it\\'s' b", ["a it's b"]),
        ("$x a", ["$x a"]),
        ("", []),
        ("\u00a0a b", ["\u00a0a b"]),
    ],
)
def test_a_line_is_split_as_a_shell_would(line: str, pieces: list[str]) -> None:
    assert words(line) == pieces


@pytest.mark.parametrize(
    ("line", "pieces", "bodies"),
    [
        ("a <<E\nb; c\nE\nd", ["a", "d"], ["b; c\n", None]),
        ("a <<'E E' | f\nit's\nE E\nd", ["a", "f", "d"], ["it's\n", None, None]),
        ("a <<-E\n\tb\n\tE\nd", ["a", "d"], ["\tb\n", None]),
        ("a <<A <<B\n1\nA\n2\nB\nc", ["a", "c"], ["2\n", None]),
        ("a <<E\nnever closed", ["a"], ["never closed"]),
        ("x \"$(a <<'E'\n\"'`$(\nE\n)\" && y", ["a", "x $(…)", "y"], ["\"'`$(\n", None, None]),
    ],
)
def test_here_documents_belong_to_their_command(line: str, pieces: list[str], bodies: list[str | None]) -> None:
    found = split(line).commands
    assert [" ".join(simple.words) for simple in found] == pieces
    assert [simple.body for simple in found] == bodies


@pytest.mark.parametrize(
    ("line", "background"),
    [
        ("a & b", ["a"]),
        ("a && b & c", ["a", "b"]),
        ("a; b & c", ["b"]),
        ("(a; b) & c", ["a", "b"]),
        ("{ a; b; } & c", ["a", "b"]),
        ("for x in 1; do a; b; done & c", ["a", "b"]),
        ("while a; do b & done; c", ["b"]),
        ("a &> f; b", []),
        ("a 2>&1; b", []),
        ("if a; then b; fi & c", ["a", "b"]),
    ],
)
def test_what_a_line_leaves_in_the_background(line: str, background: list[str]) -> None:
    assert [" ".join(simple.words) for simple in split(line).commands if simple.background] == background


@pytest.mark.parametrize(
    ("line", "endless"),
    [
        ("while true; do a; done", ("while", "true")),
        ("while :; do a; done", ("while", ":")),
        ("until false; do a; done", ("until", "false")),
        ("for ((;;)); do a; done", ("for", "((;;))")),
        ("while true; do a && break; done", None),
        ("while true; do a || exit 1; done", None),
        ("while a; do true; done", None),
        ("if true; then a; fi", None),
        ("true; while a; do b; done", None),
    ],
)
def test_a_loop_is_endless_only_where_nothing_ends_it(line: str, endless: tuple[str, ...] | None) -> None:
    assert split(line).endless == endless


SHELLISH = st.lists(
    st.sampled_from([*"ab =$(){}[]'\"`\\;&|<>#!\n\t*?~-EOF1", "do ", "if ", "case x in ", "<<E\n", "世", "\u2028"]),
    max_size=60,
).map("".join)


@given(SHELLISH)
@settings(max_examples=500, deadline=None)
def test_no_text_raises_and_no_command_is_empty(line: str) -> None:
    for simple in split(line).commands:
        assert simple.words


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_unicode_text_raises(line: str) -> None:
    split(line)


@pytest.mark.parametrize(
    "seed",
    ["a;", "$(", "(", '"', "'", "`", "{ a & ", "<<E ", "<<E\n", "\\\n", "a=(", "case x in ", "f()", "$((", "${", "$'",
     '"`', "while true;", "a\\", "[[ ", "\u00a0", "if a; then ", "esac ", "}", "2>", "&>", "x=$(", "#", "\n\n"],
)  # fmt: skip
def test_a_very_long_line_gives_a_bounded_number_of_commands(seed: str) -> None:
    """A hundred kilobytes of the same piece."""
    line = seed * (100_000 // len(seed))
    assert len(split(line).commands) <= MOST_COMMANDS + 501


@given(st.lists(st.sampled_from(["ls", "npm ci", "echo 'a;b'", 'x "$(y)"']), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_joining_lines_joins_their_pieces(lines: list[str]) -> None:
    for separator in ("; ", " && ", " | ", "\n"):
        joined = words(separator.join(lines))
        assert joined == [piece for line in lines for piece in words(line)]
