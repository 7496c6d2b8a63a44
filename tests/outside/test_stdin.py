"""What is given as `--stdin @FILE` is a regular file, or refused in one line: nothing is waited for."""

from __future__ import annotations

import os

import pytest

from tests.support.jobs import Jobs

REFUSED = ("pipe", "folder", "device", "link-to-pipe", "link-to-folder", "link-to-device", "dangling", "none")


@pytest.fixture
def files(jobs: Jobs) -> Jobs:
    folder = jobs.folder
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "device").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "device", "regular"):
        (folder / f"link-to-{name}").symlink_to(name)
    (folder / "dangling").symlink_to("none")
    (folder / "regular").write_text("given\n")
    return jobs


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("verb", ["run", "start"])
def test_what_is_no_regular_file_is_refused_in_one_line(files: Jobs, verb: str, name: str) -> None:
    files.refused(verb, "--hard", "1", "--stdin", f"@{files.folder}/{name}", "--", "cat", code=2)
    assert files.jobs() == []


@pytest.mark.parametrize("name", ["regular", "link-to-regular"])
def test_a_regular_file_is_read_and_its_descriptor_waits_as_usual(files: Jobs, name: str) -> None:
    code = "cat; awk '/flags/ { print $2 }' /proc/self/fdinfo/0"
    done = files.run("--stdin", f"@{files.folder}/{name}", "--shell", code)
    given, flags = done.out.decode().splitlines()
    assert given == "given"
    assert not int(flags, 8) & os.O_NONBLOCK


def test_the_null_device_is_no_input(files: Jobs) -> None:
    assert files.run("--stdin", "@/dev/null", "--", "cat").out == b""
