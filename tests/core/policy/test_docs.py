"""docs/policy.md says what is so: categories, variables, keys, sources."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.places import ROOT
from unhang.core.durations import human
from unhang.core.policy import builtin, tables
from unhang.core.policy.file import allowed_env, load

TEXT = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")


def test_every_category_is_listed_with_its_limits() -> None:
    for category in builtin.categories().values():
        idle = "–" if category.idle is None else human(category.idle)
        hard = "–" if category.hard is None else human(category.hard)
        ends = " (never ends)" if category.never_ending else ""
        assert f"| `{category.name}` | {idle} | {hard} | {category.description}{ends} |" in TEXT


def test_every_variable_is_listed() -> None:
    for name, value in builtin.ENV.items():
        assert f"`{name}={value}`" in TEXT


def test_every_variable_that_a_project_may_set_is_listed_with_its_values() -> None:
    for name, values in allowed_env.VALUES.items():
        row = next(line for line in TEXT.splitlines() if line.startswith("| `") and f"`{name}`" in line)
        assert row.endswith(f"| {', '.join(f'`{value}`' for value in values[1:])} |"), name
    for name, shape in allowed_env.SHAPES.items():
        row = next(line for line in TEXT.splitlines() if line.startswith("| `") and f"`{name}`" in line)
        assert row.endswith(f"| {shape} |"), name


def test_every_key_of_the_file_is_explained() -> None:
    table = "\n".join(line for line in TEXT.splitlines() if line.startswith("| `"))
    for key in load._TOP | load._IN_CATEGORY:
        assert f"`{key}`" in table


@pytest.mark.parametrize("document", ["README.md", "docs/policy.md", "docs/explanation.md", "docs/faq.md"])
def test_the_number_of_commands_that_a_document_names_is_about_right(document: str) -> None:
    [named] = re.findall(r"knows? some (\d+) command", (ROOT / document).read_text(encoding="utf-8"))
    assert int(named) == pytest.approx(len(tables.everything()), rel=0.05)


def test_the_schema_is_json_and_says_which_draft() -> None:
    schema = json.loads((ROOT / "src" / "unhang" / "data" / "policy.schema.json").read_text(encoding="utf-8"))
    assert schema["$schema"].startswith("https://json-schema.org/draft/2020-12/")
