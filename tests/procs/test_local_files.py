"""A look touches no file that another machine or a process serves: that may be what the job hangs for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from unhang.procs.linux.sampler import local_files
from unhang.procs.linux.sampler.alarms import may_set_alarm
from unhang.procs.linux.sampler.exports import exporter_of
from unhang.procs.linux.sampler.full import full
from unhang.procs.linux.sampler.local_files import Mounts, find_local, is_local

MOUNTS = rb"""21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /home rw - nfs4 server:/home rw
23 21 0:21 / /home/me/local rw master:3 propagate_from:2 - xfs /dev/sdb1 rw
24 21 0:22 / /with\040a\040blank rw - fuse.sshfs x rw
25 21 0:23 / /twice rw - ext4 /dev/sdc1 rw
26 25 0:24 / /twice rw - cifs //s/x rw
half a line
"""
SCRIPT = "import signal; signal.alarm(80); print('READY', flush=True); input()"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/usr/bin/python3", b"ext4"),
        ("/home", b"nfs4"),
        ("/home/me/x", b"nfs4"),
        ("/homes/x", b"ext4"),
        ("/home/me/local/x", b"xfs"),
        ("/with a blank/x", b"fuse.sshfs"),
        ("/twice/x", b"cifs"),
        ("/", b"ext4"),
    ],
)
def test_a_file_is_on_the_nearest_mount_above_it(path: str, kind: bytes) -> None:
    assert Mounts(MOUNTS).kind_at(path) == kind


@pytest.mark.parametrize("mounts", [b"", b" - \n", b"1 2 3 4 / - \n\xff\xfe"])
def test_of_a_table_that_says_nothing_nothing_is_known(mounts: bytes) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_files, "read_all", lambda _: mounts)
        assert not is_local(os.getpid(), "/usr/bin/env")


def test_a_file_is_found_as_its_process_would(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").touch()
    (tmp_path / "link").symlink_to("folder/../folder")
    (tmp_path / "round").symlink_to("round")
    me = os.getpid()
    for word in (f"{tmp_path}/link/./file", os.path.relpath(folder / "file")):
        found = find_local(me, word)
        assert found is not None
        assert os.path.samefile(found, folder / "file")
    assert find_local(me, f"{tmp_path}/none") is None
    assert find_local(me, f"{tmp_path}/round") is None


@contextmanager
def _served_by_another_machine(folder: Path) -> Iterator[None]:
    served = f"30 21 0:30 / {folder} rw - nfs4 server:/x rw\n".encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_files, "read_all", lambda _: b"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + served)
        yield


@pytest.mark.parametrize("through_link", [False, True])
def test_a_script_of_another_machine_is_not_read(tmp_path: Path, through_link: bool) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "script.py").write_text(SCRIPT)
    (tmp_path / "link").symlink_to(there)
    path = (tmp_path / "link" if through_link else there) / "script.py"
    with subprocess.Popen([sys.executable, "-u", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            assert may_set_alarm(job.pid, {})
            with _served_by_another_machine(there):
                assert not may_set_alarm(job.pid, {})
        finally:
            job.kill()


def test_a_library_of_another_machine_is_not_read() -> None:
    def found() -> bool:
        maps, name = Path("/proc/self/maps").read_bytes(), b"_IO_2_1_stdout_"
        exports = exporter_of(os.getpid(), maps, lambda each: each.startswith("libc"), name)
        if exports is not None:
            exports.close()
        return exports is not None

    assert found()
    with _served_by_another_machine(Path("/")):
        assert not found()


def test_an_open_file_of_another_machine_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opens = "import sys; file = open(sys.argv[1], 'w'); print('READY', flush=True); input()"
    whole, asked = os.stat, list[str]()

    def stat(path: int | str, **options: Any) -> os.stat_result:
        asked.append(str(path))
        return whole(path, **options)

    with subprocess.Popen(
        [sys.executable, "-c", opens, tmp_path / "file"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            monkeypatch.setattr(os, "stat", stat)
            with _served_by_another_machine(tmp_path):
                seen = full(os.getpid()).processes[job.pid]
            (fd,) = [fd for fd, target in seen.fds.items() if target == str(tmp_path / "file")]
            assert f"/proc/{job.pid}/fd/{fd}" not in asked
        finally:
            job.kill()


def test_the_device_of_a_mount_is_known_by_its_number() -> None:
    assert Mounts(MOUNTS).device(b"23") == (0, 21)
    assert Mounts(MOUNTS).device(b"99") is None
