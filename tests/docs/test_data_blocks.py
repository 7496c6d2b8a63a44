"""The settings that the documents show are read by what they are for, or have the form that its makers describe."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.docs.blocks import Block, blocks, documents
from tests.support.docs.commands import complaint
from unhang.core.alerts import settings as alerts
from unhang.jobs.policy import read_policy
from unhang.sessions import settings as watch

READERS: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
DATA = [block for document in documents() for block in blocks(document) if block.language in READERS]


def _strict(**properties: object) -> dict[str, object]:
    """An object with exactly these properties."""
    return {"type": "object", "required": list(properties), "additionalProperties": False, "properties": properties}


def _some(**properties: object) -> dict[str, object]:
    """An object with some of these properties, and no other."""
    return _strict(**properties) | {"required": []}


def _all(item: object) -> dict[str, object]:
    return {"type": "array", "minItems": 1, "items": item}


TEXT, TRUTH, TEXTS = {"type": "string"}, {"type": "boolean"}, _all({"type": "string"})
COMMAND_HOOK = _strict(hooks=_all(_strict(type={"const": "command"}, command=TEXT)))
# As the reference of each program has it; of what can be said there, what the documents say.
STEP = _some(**{"uses": TEXT, "with": {"type": "object"}, "run": TEXT, "if": TEXT, "name": TEXT}) | {"minProperties": 1}
GITHUB_JOB = _strict(**{"runs-on": TEXT, "timeout-minutes": {"type": "integer"}, "steps": _all(STEP)})
GITLAB_JOB = _strict(image=TEXT, timeout=TEXT, before_script=TEXTS, script=TEXTS, after_script=TEXTS)
HOOK = _strict(id=TEXT, name=TEXT, entry=TEXT, language={"const": "system"}, pass_filenames=TRUTH)
TASK = _strict(label=TEXT, type={"const": "shell"}, command=TEXT, group={"enum": ["build", "test"]})
SCRAPE = _strict(
    job_name=TEXT, authorization=_strict(credentials_file=TEXT), static_configs=_all(_strict(targets=TEXTS))
)
SCHEMAS: dict[str, dict[str, object]] = {
    "docs/howto/ci.md jobs": _strict(jobs={"type": "object", "additionalProperties": GITHUB_JOB}),
    "docs/howto/ci.md test": _strict(test=GITLAB_JOB),
    "docs/ci.md artifacts": _strict(
        artifacts=_strict(when={"enum": ["always", "on_failure", "on_success"]}, reports=_strict(junit=TEXT))
    ),
    "docs/howto/git-hook.md repos": _strict(repos=_all(_strict(repo={"const": "local"}, hooks=_all(HOOK)))),
    "docs/howto/editors.md version": _strict(version={"const": "2.0.0"}, tasks=_all(TASK)),
    "docs/codex.md hooks": _strict(hooks={"type": "object", "additionalProperties": _all(COMMAND_HOOK)}),
    "docs/top.md statusLine": _strict(statusLine=_strict(type={"const": "command"}, command=TEXT)),
    "docs/telemetry.md scrape_configs": _strict(scrape_configs=_all(SCRAPE)),
}


def _policy(block: Block, folder: Path) -> None:
    """A part of a policy is one with the head that every policy has."""
    head = "" if block.language == "json" or "version =" in block.text else 'version = "1.0"\nextends = "built-in"\n'
    path = folder / f"policy.{block.language}"
    path.write_text(head + block.text, encoding="utf-8")
    read_policy(str(path))


OWN: dict[str, Callable[[Block, Path], object]] = {
    "docs/alerts.md": lambda block, _: alerts.parse(tomllib.loads(block.text), block.name),
    "docs/watch.md": lambda block, _: watch.parse(tomllib.loads(block.text), block.name),
    "docs/policy.md": _policy,
    "docs/howto/team-policy.md": _policy,
    "docs/migration.md": _policy,
}


@pytest.mark.parametrize("block", DATA, ids=lambda block: block.name)
def test_settings_in_a_document_are_read_by_what_they_are_for(block: Block, tmp_path: Path) -> None:
    value = READERS[block.language](block.text)
    page = block.name.rpartition(":")[0]
    if page in OWN:
        OWN[page](block, tmp_path)
    else:
        jsonschema.validate(value, SCHEMAS[f"{page} {next(iter(value))}"])


@pytest.mark.parametrize("block", DATA, ids=lambda block: block.name)
def test_every_call_of_unhang_in_settings_is_one_that_it_understands(block: Block) -> None:
    calls = [
        shlex.split(text)[1:] for text in _texts(READERS[block.language](block.text)) if text.startswith("unhang ")
    ]
    assert [(words, complaint(words)) for words in calls if complaint(words)] == []


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def test_no_schema_is_left_without_a_block() -> None:
    known = {f"{b.name.rpartition(':')[0]} {next(iter(READERS[b.language](b.text)))}" for b in DATA}
    assert set(SCHEMAS) <= known
