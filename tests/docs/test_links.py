"""Every link in the documents leads to a file, a folder or a heading that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.docs.blocks import documents
from tests.support.places import ROOT, SOURCE

DOCUMENTS = [*documents(), ROOT / "CHANGELOG.md", ROOT / "SECURITY.md", *sorted(SOURCE.rglob("README.md"))]
_LINK = re.compile(r"\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")


def _prose(document: Path) -> str:
    text = document.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda found: found[0] if "](" not in found[0] else "", text)


def _anchors(document: Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 0
        while (slug if not number else f"{slug}-{number}") in found:
            number += 1
        found.add(slug if not number else f"{slug}-{number}")
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    wrong = []
    for target in _LINK.findall(_prose(document)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (document.parent / path).resolve() if path else document
        there = place.exists() and place.is_relative_to(ROOT)
        if not there or (anchor and (place.suffix != ".md" or anchor not in _anchors(place))):
            wrong.append(target)
    assert wrong == []


def test_every_document_is_in_the_index_and_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    queue = [ROOT / "README.md"]
    while queue:
        document = queue.pop()
        if document in seen or document.suffix != ".md" or not document.is_file():
            continue
        seen.add(document)
        targets = [target for target in _LINK.findall(_prose(document)) if not re.match(r"[a-z]+:|#", target)]
        queue += [(document.parent / target.partition("#")[0]).resolve() for target in targets]
    assert [str(path.relative_to(ROOT)) for path in documents() if path not in seen] == []


def test_every_page_is_in_the_index_of_the_documents() -> None:
    index = ROOT / "docs" / "README.md"
    named = {(index.parent / target.partition("#")[0]).resolve() for target in _LINK.findall(_prose(index))}
    assert [str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if path not in {*named, index}] == []
