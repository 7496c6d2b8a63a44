"""What unhang writes into a downloaded project stays in it, whatever links and pipes the project brought along."""

from __future__ import annotations

import os
import time
import tomllib
from pathlib import Path

import pytest

from tests.support.jobs import Jobs
from tests.support.outside.usage import used
from unhang.installers.known_mcp_clients import known
from unhang.procs import executable

CLIENTS = {client.name: client.project for client in known({"HOME": "/home"}).values() if client.project}
PRECIOUS = "{} // precious\n"


@pytest.fixture
def project(jobs: Jobs) -> Path:
    folder = jobs.folder / "project"
    folder.mkdir()
    jobs.env["HOME"] = str(jobs.folder / "user")
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        jobs.env.pop(name, None)
    (jobs.folder / "user").mkdir()
    return folder


@pytest.fixture
def victim(jobs: Jobs, project: Path) -> Path:
    """A file of the user's own, outside of the project, that every client could read."""
    assert project.is_dir()
    file = jobs.folder / "user" / "victim"
    file.write_text("")
    file.chmod(0o600)
    return file


def unchanged(file: Path) -> bool:
    return file.read_text() == "" and file.stat().st_mode & 0o777 == 0o600 and not file.is_symlink()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_link_out_of_the_project_is_refused(jobs: Jobs, project: Path, victim: Path, client: str) -> None:
    file = project / str(CLIENTS[client])
    file.parent.mkdir(exist_ok=True)
    file.symlink_to(os.path.relpath(victim, file.parent))
    jobs.refused("mcp", "install", client, "--project", code=2, cwd=project)
    assert unchanged(victim)
    assert [entry.name for entry in file.parent.iterdir()] == [file.name], "no copy of it is left in the project"


@pytest.mark.parametrize("client", [name for name, file in CLIENTS.items() if "/" in str(file)])
@pytest.mark.parametrize("there", [True, False], ids=["to-a-folder", "dangling"])
def test_a_folder_that_is_a_link_out_of_the_project_is_refused(
    jobs: Jobs, project: Path, client: str, there: bool
) -> None:
    outside = jobs.folder / "user" / "settings"
    if there:
        outside.mkdir()
    (project / str(CLIENTS[client])).parent.symlink_to(outside)
    jobs.refused("mcp", "install", client, "--project", code=2, cwd=project)
    assert not outside.exists() or not list(outside.iterdir())


@pytest.mark.parametrize("words", [("--yes",), ("--yes", "--mcp")], ids=["hooks", "hooks-and-server"])
def test_hooks_are_not_written_through_a_link_out_of_the_project(
    jobs: Jobs, project: Path, victim: Path, words: tuple[str, ...]
) -> None:
    planted = project / ".mcp.json" if "--mcp" in words else project / ".claude" / "settings.json"
    planted.parent.mkdir(exist_ok=True)
    planted.symlink_to(victim)
    jobs.refused("claude", "install", "--project", *words, code=2, cwd=project)
    assert unchanged(victim)
    assert jobs.call("claude", "status", cwd=project).err == b""


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("there", [True, False], ids=["to-a-file", "dangling"])
def test_a_link_that_stays_inside_the_project_is_refused(jobs: Jobs, project: Path, client: str, there: bool) -> None:
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(parents=True)
    if there:
        hook.write_text("")
    file = project / str(CLIENTS[client])
    file.parent.mkdir(exist_ok=True)
    file.symlink_to(os.path.relpath(hook, file.parent))
    jobs.refused("mcp", "install", client, "--project", code=2, cwd=project)
    assert file.is_symlink()
    assert not hook.exists() or hook.read_text() == ""


@pytest.mark.parametrize("client", [name for name, file in CLIENTS.items() if "/" in str(file)])
def test_a_folder_that_is_a_link_inside_the_project_is_refused(jobs: Jobs, project: Path, client: str) -> None:
    hooks = project / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (project / str(CLIENTS[client])).parent.symlink_to(hooks)
    jobs.refused("mcp", "install", client, "--project", code=2, cwd=project)
    assert not list(hooks.iterdir())


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_hooks_are_not_written_through_a_link_inside_the_project(jobs: Jobs, project: Path, verb: str) -> None:
    hook = project / "hook"
    hook.write_text("{}")
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").symlink_to("../hook")
    jobs.refused("claude", verb, "--project", "--yes", code=2, cwd=project)
    assert hook.read_text() == "{}"


def test_planted_names_for_new_files_and_backups_are_not_followed(jobs: Jobs, project: Path, victim: Path) -> None:
    (project / ".mcp.json").write_text(PRECIOUS)
    now = time.time()
    for second in range(60):
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now + second))
        (project / f".mcp.json.unhang-{stamp}.bak").symlink_to(victim)
    for name in ("unhang-new", "new", "tmp"):
        (project / f".mcp.json.{name}").symlink_to(victim)
    assert jobs.call("mcp", "install", "claude-code", "--project", cwd=project).code == 0
    assert unchanged(victim)
    (backup,) = [file for file in project.glob(".mcp.json.unhang-*.bak") if not file.is_symlink()]
    assert backup.read_text() == PRECIOUS
    assert not (project / ".mcp.json").is_symlink()


def test_planted_backups_do_not_stop_an_uninstall(jobs: Jobs, project: Path) -> None:
    assert jobs.call("claude", "install", "--project", "--yes", cwd=project).code == 0
    folder = project / ".claude"
    os.mkfifo(folder / "settings.json.unhang-1.bak")
    (folder / "settings.json.unhang-2.bak").symlink_to("nowhere")
    assert jobs.call("claude", "uninstall", "--project", "--yes", cwd=project).code == 0
    assert not (folder / "settings.json").exists()


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(jobs: Jobs, project: Path, client: str) -> None:
    file = project / str(CLIENTS[client])
    file.parent.mkdir(exist_ok=True)
    os.mkfifo(file)
    jobs.refused("mcp", "install", client, "--project", code=2, cwd=project)


BOMBS = {
    "dotted-key": ".".join(["a"] * 30_000) + " = 1",
    "dotted-header": f"[{'.'.join(['a'] * 30_000)}]",
    "deep": "x = " + "[" * 50_000,
    "integer": "x = 1" + "0" * 5000,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_configuration_that_cannot_be_read_in_bounded_memory_is_refused(jobs: Jobs, project: Path, text: str) -> None:
    (project / ".codex").mkdir()
    (project / ".codex" / "config.toml").write_text(text)
    done = used([*executable.command(), "mcp", "install", "codex", "--project"], project, jobs.env)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert done.megabytes < 60


def test_json_that_is_nested_too_deep_is_refused(jobs: Jobs, project: Path) -> None:
    for file in (".mcp.json", ".claude/settings.json"):
        (project / file).parent.mkdir(exist_ok=True)
        (project / file).write_text('{"a":' * 3000 + "1" + "}" * 3000)
    jobs.refused("mcp", "install", "claude-code", "--project", code=2, cwd=project)
    jobs.refused("claude", "install", "--project", "--yes", code=2, cwd=project)


def test_nan_in_a_configuration_does_not_stop_an_edit(jobs: Jobs, project: Path) -> None:
    """NaN is not equal to itself, and stands in both."""
    file = jobs.folder / "user" / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text("x = nan\ny = [1, nan]\n")
    assert jobs.call("mcp", "install", "codex", cwd=project).code == 0
    assert set(tomllib.loads(file.read_text())) == {"x", "y", "mcp_servers"}
