"""Which file holds: named, in the project, the user's own, or none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from unhang.errors import UsageError
from unhang.store import policy_file

TOML = 'default_category = "{0}"\n[categories.{0}]\n'


def write(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".toml":
        path.write_text(TOML.format(name))
    else:
        path.write_text(json.dumps({"default_category": name, "categories": {name: {}}}))
    path.chmod(0o644)
    return path


def found(cwd: Path, explicit: str | None = None, **environ: str) -> str:
    return policy_file.find(explicit, str(cwd), environ).default


def test_without_a_file_the_built_in_policy_holds(tmp_path: Path) -> None:
    policy = policy_file.find(None, str(tmp_path), {"HOME": str(tmp_path)})
    assert policy.name == "built-in"
    assert policy_file.find(None, str(tmp_path), {}).name == "built-in"


def test_files_are_searched_in_their_order(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "p" / "sub"
    project.mkdir(parents=True)
    environ = {"HOME": str(home)}
    write(home / ".config/unhang/policy.json", "user-json")
    assert found(project, **environ) == "user-json"
    write(home / ".config/unhang/policy.toml", "user-toml")
    assert found(project, **environ) == "user-toml"
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    write(tmp_path / "config/unhang/policy.toml", "xdg")
    assert found(project, **environ) == "xdg"
    write(home / "p" / ".unhang.json", "above-json")
    assert found(project, **environ) == "above-json"
    write(home / "p" / ".unhang.toml", "above")
    assert found(project, **environ) == "above"
    write(project / ".unhang.toml", "here")
    assert found(project, **environ) == "here"
    environ["UNHANG_POLICY"] = str(write(tmp_path / "named.json", "variable"))
    assert found(project, **environ) == "variable"
    assert found(project, str(write(tmp_path / "arg.toml", "argument")), **environ) == "argument"
    assert found(project, "built-in", **environ) == "default"
    assert found(project, "../.unhang.toml", **environ) == "above"


def test_the_search_ends_at_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "p").mkdir(parents=True)
    write(tmp_path / ".unhang.toml", "outside")
    assert found(home / "p", HOME=str(home)) == "default"
    assert found(home / "p", HOME="/nowhere") == "outside"


def test_a_file_that_others_may_write_decides_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / ".unhang.toml", "a")
    assert found(tmp_path) == "a"
    path.chmod(0o666)
    assert found(tmp_path) == "default"


def test_a_file_of_another_user_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / ".unhang.toml", "a")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert found(tmp_path) == "default"


def test_a_folder_of_that_name_is_no_policy(tmp_path: Path) -> None:
    (tmp_path / ".unhang.toml").mkdir()
    assert found(tmp_path) == "default"


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_a_named_file_must_be_there(tmp_path: Path, how: str) -> None:
    explicit, environ = ("nope.toml", {}) if how == "argument" else (None, {"UNHANG_POLICY": "nope.toml"})
    with pytest.raises(UsageError, match=r"nope\.toml"):
        policy_file.find(explicit, str(tmp_path), environ)


def test_a_broken_file_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / ".unhang.toml").write_text("version = \n")
    with pytest.raises(UsageError, match=r"\.unhang\.toml:1:11: "):
        found(tmp_path)
    (tmp_path / ".unhang.toml").write_bytes(b'version = "1"\nx = "\xff"\n')
    with pytest.raises(UsageError, match=r"\.unhang\.toml:2:6: "):
        found(tmp_path)
    with pytest.raises(UsageError, match="not a regular file"):
        policy_file.read("/dev/null")


def test_a_pipe_is_no_policy_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".unhang.toml")
    assert found(tmp_path) == "default"
    with pytest.raises(UsageError, match="not a regular file"):
        found(tmp_path, ".unhang.toml")


def test_a_projects_file_may_not_set_any_variable(tmp_path: Path) -> None:
    data: dict[str, Any] = {"default_category": "a", "categories": {"a": {}}, "env": {"LD_PRELOAD": "./x.so"}}
    path = tmp_path / ".unhang.json"
    path.write_text(json.dumps(data))
    path.chmod(0o600)
    with pytest.raises(UsageError, match="LD_PRELOAD"):
        found(tmp_path)
    assert found(tmp_path, str(path)) == "a"


# --- whose file it is --------------------------------------------------------------------------------------------


def test_the_file_that_was_judged_is_the_one_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user who exchanges it in the same moment, in a shared folder, comes too late."""
    path = write(tmp_path / ".unhang.toml", "judged")
    other = write(tmp_path / "other.toml", "exchanged")
    judge = policy_file._is_ours

    def exchanged(found: os.stat_result) -> bool:
        if other.exists():
            other.replace(path)
        return judge(found)

    monkeypatch.setattr(policy_file, "_is_ours", exchanged)
    assert found(tmp_path) == "judged"
    assert found(tmp_path) == "exchanged"


def test_a_link_of_ones_own_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "shared" / "policy.toml", "shared")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".unhang.toml").symlink_to("../shared/policy.toml")
    assert found(project) == "shared"
    (project / ".unhang.toml").unlink()
    for target in ("nowhere", ".unhang.toml", "/dev/zero", str(tmp_path)):
        (project / ".unhang.toml").symlink_to(target)
        assert found(project) == "default", target
        (project / ".unhang.toml").unlink()


def test_a_file_of_ones_own_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("NOT TESTED: root may read everything")
    write(tmp_path / ".unhang.toml", "a").chmod(0)
    with pytest.raises(UsageError, match="Permission denied"):
        found(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: to make a link as another user needs root")
def test_a_link_of_another_user_is_not_followed(tmp_path: Path) -> None:
    """Not even to a file of one's own: it was not meant as a policy, and would stop every command here."""
    own = tmp_path / "own"
    own.write_text("no policy at all")
    link = tmp_path / ".unhang.toml"
    link.symlink_to(own)
    with pytest.raises(UsageError):
        found(tmp_path)
    os.lchown(link, 54321, 54321)
    assert found(tmp_path) == "default"
