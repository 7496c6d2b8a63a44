"""The page about installing names what there is."""

from __future__ import annotations

import tomllib

from tests.support.places import ROOT


def test_every_extra_is_on_the_page_about_installing() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = text.partition("<!-- extras -->")[2].partition("<!-- /extras -->")[0]
    assert [name for name in project["optional-dependencies"] if name != "dev" and f"| `{name}` |" not in rows] == []
