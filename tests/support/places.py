"""Where things are in a checkout. Tests name folders by these and never by the place of their own file."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SUPPORT = TESTS / "support"
ACTORS = SUPPORT / "actors"
ROOT = TESTS.parent
SOURCE = ROOT / "src"
