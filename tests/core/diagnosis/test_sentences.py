"""Sentences are for people: what code needs to know is a field."""

from __future__ import annotations

import ast

from tests.core.diagnosis import PACKAGE

SENTENCES = frozenset({"reason", "text", "waits"})
SEARCHES = frozenset(
    {"startswith", "endswith", "replace", "find", "index", "split", "partition", "removeprefix", "count"}
)


def is_sentence(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in SENTENCES


def reads_back(node: ast.AST) -> bool:
    """A sentence is searched, compared or taken apart."""
    if isinstance(node, ast.Compare):
        return any(is_sentence(each) for each in [node.left, *node.comparators])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func
        in_it = is_sentence(method.value) and method.attr in SEARCHES
        matched = isinstance(method.value, ast.Name) and method.value.id == "re" and any(map(is_sentence, node.args))
        return in_it or matched
    return False


def test_no_rule_reads_a_sentence_back() -> None:
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not reads_back(node), f"{path.name}: {ast.unparse(node)}"


def test_the_check_finds_sentences_that_are_read_back() -> None:
    for source in ("'x' in wait.text", "wait.text.endswith('x')", "re.search('x', diagnosis.reason)"):
        assert any(reads_back(node) for node in ast.walk(ast.parse(source)))
