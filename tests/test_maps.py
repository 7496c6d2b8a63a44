"""The maps of the code are true: what they name exists, and every public name says what it is for."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

from tests.support.places import ROOT, SOURCE, TESTS

SOURCES = sorted(SOURCE.rglob("*.py"))
ROOMS = SOURCE / "unhang"
# `keeper/loop.py`: below src/unhang or below the checkout
_FILE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.py)`")
# a hop of a flow: | 1 | `keeper/loop.py` `Loop.run` | what happens there |
_HOP = re.compile(r"^\| \d+ \| `([\w/]+\.py)` `([\w.]+)` \|", re.MULTILINE)
MAPS = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md", *sorted(ROOMS.rglob("README.md"))]


@pytest.mark.parametrize("document", MAPS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_map_names_exists(document: Path) -> None:
    named = _FILE.findall(document.read_text(encoding="utf-8"))
    places = (document.parent, ROOMS, ROOT)
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert named
    assert missing == []


# `regex/match.py`, (core/once.py), events.py: a file that a sentence of the source names
_NAMED = re.compile(r"[`( ]((?:[a-z_]+/)*[a-z_]+\.py)\b")
# Files of projects: examples, and commands of the policy.
_OF_OTHERS = {"manage.py", "setup.py", "tests/test_a.py", "tests/test_b.py"}


def test_every_file_that_the_source_names_exists() -> None:
    known = [
        str(path.relative_to(ROOT)) for path in [*SOURCES, *TESTS.rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
    ]
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in SOURCES
        for name in _NAMED.findall(path.read_text(encoding="utf-8"))
        if name not in _OF_OTHERS and not any(f"/{file}".endswith(f"/{name}") for file in known)
    }
    assert found == set()


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _names(path: Path) -> set[str]:
    """Every function, class and method of a file, methods as Class.method."""
    found: set[str] = set()
    for node in _parsed(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{method.name}"
                for method in node.body
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


def test_every_hop_of_the_flows_names_a_function_that_exists() -> None:
    hops = _HOP.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert hops
    missing = [(file, name) for file, name in hops if name not in _names(ROOMS / file)]
    assert missing == []


@pytest.mark.parametrize("document", MAPS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_function_that_a_map_names_with_its_file_exists(document: Path) -> None:
    named = re.findall(r"`([\w/]+\.py): ([\w.]+)`", document.read_text(encoding="utf-8"))
    places = (document.parent, ROOMS)
    found = [(next((p / file for p in places if (p / file).exists()), None), name) for file, name in named]
    assert [(path, name) for path, name in found if path is None or not _has(path, name)] == []


def _has(path: Path, name: str) -> bool:
    return name in _names(path) or re.search(rf"^{name}\b", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_a_flow_has_at_most_eight_hops() -> None:
    numbers = re.findall(
        r"^\| (\d+) \| `", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert max(map(int, numbers)) <= 8


@pytest.mark.parametrize("room", ["core", "keeper", "jobs", "agents", "sessions", "fleet"])
def test_a_big_room_has_a_map_of_one_screen(room: str) -> None:
    lines = (ROOMS / room / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60


def _files_of(room: Path) -> list[str]:
    """What the map of a room has to name: its files, its folders, and the files of `agents/base`."""
    files = [path.stem for path in room.glob("*.py")] + [f"{path.parent.name}/" for path in room.glob("*/__init__.py")]
    files += [f"base/{path.stem}" for path in room.glob("base/*.py")]
    return sorted(name for name in files if not name.endswith("__init__"))


@pytest.mark.parametrize("room", ["core", "keeper", "jobs", "agents", "sessions", "fleet"])
def test_the_map_of_a_room_names_every_file_in_it(room: str) -> None:
    text = (ROOMS / room / "README.md").read_text(encoding="utf-8")
    missing = [name for name in _files_of(ROOMS / room) if not re.search(rf"(?<![\w/]){name}(\.py)?(?!\w)", text)]
    assert missing == []


def test_a_file_is_named_after_a_thing_or_a_verb_and_not_after_a_gerund() -> None:
    things = {"listing", "wording"}
    assert [path for path in SOURCES if path.stem.endswith("ing") and path.stem not in things] == []


def test_the_source_says_who_does_what() -> None:
    """A sentence that says "somebody" hides a noun: the caller, a person, another process."""
    texts = [*SOURCES, *ROOMS.rglob("*.md"), *ROOMS.rglob("*.js"), *ROOMS.rglob("*.html")]
    nouns = re.compile(r"\b(somebody|someone|nobody|whoever)\b", re.IGNORECASE)
    found = {str(path.relative_to(ROOMS)): nouns.findall(path.read_text(encoding="utf-8")) for path in texts}
    assert {path: words for path, words in found.items() if words} == {}


# Both are names of public libraries: of `unhang` and of `unhang.acp`.
_TWICE = {"TimedOut"}


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.walk(_parsed(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOMS)))
    assert {name: places for name, places in found.items() if len(places) > 1 and name not in _TWICE} == {}


def _shape(body: list[ast.stmt]) -> list[object]:
    """What a body does, with a number for each name: equal if two differ only in the names of variables."""
    numbers: dict[str, int] = {}
    found: list[object] = []
    for node in (each for statement in body for each in ast.walk(statement)):
        found.append(type(node).__name__)
        match node:
            case ast.Name():
                found.append(numbers.setdefault(node.id, len(numbers)))
            case ast.Attribute():
                found.append(node.attr)
            case ast.Constant():
                found.append(node.value)
            case ast.keyword() | ast.arg():
                found.append(node.arg)
    return found


def test_no_function_stands_in_the_source_twice() -> None:
    """Two functions with the same body are one function, whatever their variables are called."""
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.walk(_parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                shape = _shape(node.body[1:] if ast.get_docstring(node) else node.body)
                if len(shape) >= _TOO_LONG_TO_REPEAT:
                    found.setdefault(str(shape), []).append(f"{path.relative_to(ROOMS)}:{node.lineno}")
    assert [places for places in found.values() if len(places) > 1] == []


# In parts of the tree: `if self.fd >= 0: os.close(self.fd); self.fd = -1` may be written where a descriptor is owned.
_TOO_LONG_TO_REPEAT = 40


_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _public(body: list[ast.stmt], prefix: str = "") -> list[tuple[str, _Documented]]:
    """The public functions, classes and methods of a file, also those that are defined under a condition."""
    found: list[tuple[str, _Documented]] = []
    for node in body:
        if isinstance(node, ast.If):
            found += _public(node.body + node.orelse, prefix)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[0] != "_":
            found.append((f"{prefix}{node.name}", node))
            if isinstance(node, ast.ClassDef):
                found += _public(node.body, f"{node.name}.")
    return found


# What a function does is said by a verb. A text that begins with one of these has none, or has it late.
_NO_VERBS = re.compile(
    "a|all|always|an|another|any|anything|are|as|at|because|before|both|by|can|does|each|every|false|for|from|here|how|"
    "if|in|is|it|its|may|most|never|no|none|not|nothing|of|on|one|only|or|rows|since|something|that|the|there|these|"
    "this|those|to|true|two|until|was|what|when|where|whether|which|while|who|whose|why|with|without|words"
)


def test_every_public_name_has_a_docstring_that_is_a_sentence() -> None:
    found: list[str] = []
    for path in SOURCES:
        tree = _parsed(path)
        named: list[tuple[str, _Documented]] = [("the file", tree)] if tree.body else []
        for name, node in named + _public(tree.body):
            if name != "dataclass_transform":  # it stands for that of `typing`
                wrong = _wrong_with(ast.get_docstring(node) or "", verb=not isinstance(node, ast.Module | ast.ClassDef))
                found += [f"{path.relative_to(ROOT)}: {name} {wrong}"] if wrong else []
    assert found == []


def _wrong_with(docstring: str, *, verb: bool) -> str:
    """What is wrong with a docstring; empty: nothing. `verb`: it says what a function does."""
    first = docstring.split("\n\n")[0].rstrip()
    if not first:
        return "has none"
    if not first.endswith((".", "?", ":")):
        return f"is not said in a sentence: {first}"
    word = first.split()[0].rstrip(":,;.")
    if verb and not (word.isalpha() and word[0].isupper() and not _NO_VERBS.fullmatch(word.lower())):
        return f"does not begin with a verb: {first}"
    return ""


@pytest.mark.parametrize(
    ("docstring", "is_right"),
    [
        ("Return the job.", True),
        ("Return the job\n\nMore of it.", False),
        ("The job that has this id.", False),
        ("Whether it runs.", False),
        ("`run` for a client.", False),
        ("return the job.", False),
        ("", False),
    ],
)
def test_a_fragment_is_not_taken_for_a_sentence(docstring: str, is_right: bool) -> None:
    assert (_wrong_with(docstring, verb=True) == "") == is_right


def test_what_the_fast_tests_leave_out_exists() -> None:
    from tests.conftest import NOT_FAST

    assert [name for name in NOT_FAST if not (TESTS / name).exists()] == []
