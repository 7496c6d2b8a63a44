"""Sizes and rates: read as people write them, shown in one way on every surface."""

from __future__ import annotations

import re

import pytest

from tests.support.places import SOURCE
from unhang.core.sizes import human_rate, human_size, read_size
from unhang.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("12", 12),
        ("2k", 2048),
        ("1.5k", 1536),
        ("500M", 500 << 20),
        ("1 GiB", 1 << 30),
        ("3gb", 3 << 30),
        ("2T", 2 << 40),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert read_size("--memory", text) == size
    assert read_size("--memory", human_size(size)) == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "1e9", "nan", "1.2.3G", "1.G", "9" * 20, "٣G"])
def test_what_is_no_size_is_refused_by_the_name_of_the_option(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--memory: "):
        read_size("--memory", text)


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (3_500_000, "3.3 MiB"), (5 << 20, "5 MiB"), (3 << 40, "3 TiB")],
)
def test_a_size_is_shown_in_powers_of_1024(count: int, shown: str) -> None:
    assert human_size(count) == shown


def test_a_rate_is_shown_as_a_size_a_second_and_never_as_nothing() -> None:
    assert human_rate(4096.0) == f"{human_size(4096)}/s"
    assert human_rate(0.2) == "1 B/s"


def test_the_page_uses_the_same_units() -> None:
    script = (SOURCE / "unhang" / "faces" / "web" / "static" / "format.js").read_text(encoding="utf-8")
    units = re.search(r"const units = \[([^\]]+)\]", script)
    assert units is not None
    assert re.findall(r'"(\w+)"', units[1]) == [human_size(1 << 10 * power).split()[1] for power in range(5)]
