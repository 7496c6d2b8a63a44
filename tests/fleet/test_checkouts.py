"""A job in a fresh checkout: what it has changed is a patch; nothing that a repository or a job has set runs for it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.git_repository import Repository, files_in, git
from unhang.core.fleet.checkout import LARGEST_PATCH, Checkout
from unhang.fleet import checkouts
from unhang.fleet.git import Git
from unhang.procs import executable
from unhang.store.layout import new_id


class Place:
    """A checkout of a worker, made and patched by the programs that its jobs run."""

    def __init__(self, home: Path, wanted: Checkout) -> None:
        self.path = Path(checkouts.make(str(home / "state"), "worker", new_id(), wanted))
        self.tree = self.path / "tree"
        self._env = dict(os.environ) | {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}

    def run(self, *command: str) -> subprocess.CompletedProcess[bytes]:
        return self._call("unhang.fleet.run_in_checkout", *command)

    def patch(self) -> tuple[bytes, dict[str, object]]:
        self._call("unhang.fleet.make_patch")
        return checkouts.patch_of(str(self.path))

    def _call(self, module: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        line = executable.module(module, str(self.path), *words)
        return subprocess.run(line, cwd=self.path, env=self._env, capture_output=True, timeout=120, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of the worker's user, without a configuration of git's."""
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


def worked_in(repository: Repository, home: Path, line: str) -> Place:
    """A checkout in which a job has run this line of a shell, to its end."""
    place = Place(home, Checkout(str(repository.folder), "main"))
    done = place.run("sh", "-ec", line)
    assert done.returncode == 0, done.stderr
    return place


def whole_patch(place: Place) -> bytes:
    """The patch, which is what it is said to be."""
    data, about = place.patch()
    assert about == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return data


def why_none(place: Place) -> str:
    """Why there is no patch."""
    data, about = place.patch()
    assert (data, sorted(about)) == (b"", ["why"])
    return str(about["why"])


CHANGE = r"""
echo more >> changed; rm removed; mkdir -p new/deep; printf '\0\1\377' > new/deep/bytes; echo x > object.o
printf '#!/bin/sh\n' > new/run; chmod +x new/run; ln -s ../kept new/link
git -c user.name=x -c user.email=x@x commit -q --all --message committed; echo later >> changed
"""


def test_the_patch_makes_of_the_revision_what_the_job_has_made_of_it(
    repository: Repository, home: Path, tmp_path: Path
) -> None:
    place = worked_in(repository, home, CHANGE)
    data = whole_patch(place)
    wanted = files_in(place.tree)
    assert wanted.pop("object.o") == b"x\n"  # the repository ignores it
    there = tmp_path / "there"
    assert repository.patched(there, data) == wanted
    assert os.access(there / "new/run", os.X_OK)
    assert os.readlink(there / "new/link") == "../kept"
    # the repository itself is as it was
    assert repository.git("status", "--porcelain") == ""
    # an attempt more begins anew, and what changes nothing has an empty patch
    assert place.run("true").returncode == 0
    assert place.patch()[0] == b""
    assert checkouts.remove(str(place.path))
    assert not place.path.parent.exists()


def test_each_way_to_name_a_revision_and_a_directory(repository: Repository, home: Path) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("tag", "-a", "v1", "-m", "x")
    repository.git("checkout", "-q", "-b", "feature/x")
    (repository.folder / "sub").mkdir()
    (repository.folder / "sub" / "run").write_text("echo ran in $PWD\n")  # without a first line: the shell runs it
    (repository.folder / "sub" / "run").chmod(0o755)
    second = repository.commit("second")
    # a commit to which no branch leads, as of a pull request
    (repository.folder / "kept").write_text("of a pull request\n")
    third = repository.commit("third")
    repository.git("update-ref", "refs/pull/1/head", third)
    repository.git("reset", "-q", "--hard", second)
    wanted = {"main": first, "v1": first, first[:10]: first, "feature/x": second, second: second}
    for rev, commit in (wanted | {"refs/pull/1/head": third, third: third}).items():
        place = Place(home, Checkout(f"file://{repository.folder}", rev))
        done = place.run("git", "rev-parse", "HEAD")
        assert done.stdout.decode().strip() == commit, (rev, done.stderr)
    place = Place(home, Checkout(str(repository.folder), "feature/x", "sub"))
    assert place.run("./run").stdout.decode() == f"ran in {place.tree}/sub\n"
    for checkout, words, code in (
        (Checkout(str(repository.folder), "nothing"), ["true"], 125),
        (Checkout(f"{repository.folder}-not", "main"), ["true"], 125),
        (Checkout(str(repository.folder), "main", "no/such"), ["true"], 125),
        (Checkout(str(repository.folder), "main"), ["no-such-program"], 127),
        (Checkout(str(repository.folder), "main"), ["./kept"], 126),
        (Checkout(str(repository.folder), "main"), ["sh", "-c", "exit 3"], 3),
    ):
        assert Place(home, checkout).run(*words).returncode == code, checkout


def test_no_hook_and_no_program_of_a_repository_or_a_job_is_run(
    repository: Repository, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 $* >> {ran}\n")
    trap.chmod(0o755)
    # hooks in the repository, in the templates of the user, and in a folder of its configuration
    hooks = ("post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-commit")
    template = tmp_path / "template"
    (template / "hooks").mkdir(parents=True)
    for folder in (repository.folder / ".git" / "hooks", template / "hooks"):
        for hook in hooks:
            folder.mkdir(exist_ok=True)
            shutil.copy(trap, folder / hook)
    settings = (f"init.templateDir={template}", f"core.hooksPath={template}/hooks", "protocol.ext.allow=always")
    for name, _, value in (each.partition("=") for each in settings):
        git(home, "config", "--global", name, value, GIT_CONFIG_GLOBAL=str(home / ".gitconfig"))
    # what the repository says of its files, and what the job then sets in its own checkout
    for name in ("filter.trap.clean", "filter.trap.smudge", "diff.trap.command", "diff.trap.textconv"):
        repository.git("config", name, str(trap))
    (repository.folder / ".gitattributes").write_text("* filter=trap diff=trap\n")
    repository.git("-c", "filter.trap.clean=cat", "add", "--all")
    repository.git("-c", "filter.trap.clean=cat", "-c", f"core.hooksPath={os.devnull}", "commit", "-q", "-m", "traps")
    ran.unlink(missing_ok=True)
    place = Place(home, Checkout(str(repository.folder), "main"))
    assert place.run("true").returncode == 0
    assert not ran.exists(), ran.read_text()
    own = ("filter.trap.clean", "diff.trap.command", "diff.trap.textconv", "diff.external", "core.fsmonitor")
    for name in own:
        git(place.tree, "config", name, str(trap))
    (place.tree / "changed").write_text("by the job\n")
    data, about = place.patch()
    assert (b"+by the job" in data, about["bytes"]) == (True, len(data))
    assert not ran.exists(), ran.read_text()
    # a transport that is a command: refused by git, though the user's configuration allows it
    monkeypatch.setenv("HOME", str(home))
    refused = Git(str(home)).start("ls-remote", f"ext::{trap}")
    assert refused.communicate()[0] == b""
    assert refused.returncode != 0
    assert not ran.exists(), ran.read_text()
    # and not even given to git
    (place.path / "checkout.json").write_text(f'{{"repo": "ext::{trap}", "rev": "main", "folder": ""}}')
    assert place.run("true").returncode == 125
    assert not ran.exists(), ran.read_text()


def test_the_number_of_a_commit_is_that_commit_whatever_else_the_repository_calls_so(
    repository: Repository, home: Path
) -> None:
    wanted = repository.git("rev-parse", "HEAD")
    (repository.folder / "kept").write_text("another\n")
    other = repository.commit("another")
    absent, longer = other[::-1], wanted + wanted[:24]
    for number in (wanted, absent, longer):
        for kind in ("heads", "tags"):
            repository.git("update-ref", f"refs/{kind}/{number}", other)
    for rev in (wanted, wanted.upper()):
        done = Place(home, Checkout(str(repository.folder), rev)).run("git", "rev-parse", "HEAD")
        assert (done.returncode, done.stdout.decode().strip()) == (0, wanted), done.stderr
    for rev in (absent, longer):
        assert Place(home, Checkout(str(repository.folder), rev)).run("true").returncode == 125, rev


def test_a_directory_that_leads_out_of_the_checkout_is_not_run_in(
    repository: Repository, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (repository.folder / "out").symlink_to(outside)
    (repository.folder / "up").symlink_to("..")
    (repository.folder / "folder").mkdir()
    (repository.folder / "folder" / "file").touch()
    (repository.folder / "same").symlink_to("folder")
    repository.commit("links")
    for folder in ("out", "out/inner", "up"):
        place = Place(home, Checkout(str(repository.folder), "main", folder))
        assert place.run("touch", "ran").returncode == 125
        assert list(place.path.rglob("ran")) == []
    assert [path.name for path in outside.rglob("*")] == ["inner"]
    assert Place(home, Checkout(str(repository.folder), "main", "same")).run("test", "-e", "file").returncode == 0


def test_a_repository_in_the_checkout_is_left_out_of_the_patch_and_a_submodule_runs_nothing(
    repository: Repository, home: Path, tmp_path: Path
) -> None:
    submodule = Repository(tmp_path / "submodule")
    allowed = ("-c", "protocol.file.allow=always", "submodule")
    for name in ("moved", "absent"):
        repository.git(*allowed, "add", "-q", str(submodule.folder), name)
    repository.commit("submodules")
    stood_at = submodule.git("rev-parse", "HEAD")
    moved_to = submodule.commit_of("more", "more\n")
    ran, trap = tmp_path / "ran", tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 $* >> {ran}\ncat\n")
    trap.chmod(0o755)
    line = f"""
    git {" ".join(allowed)} --quiet update --init --remote moved
    cd moved; git config filter.x.clean {trap}; git config core.fsmonitor {trap}; git config diff.external {trap}
    echo '* filter=x' > .gitattributes; echo more >> changed; cd ..
    git init -q unborn; echo x > unborn/file; git clone -q {submodule.folder} cloned; echo new > new
    """
    place = worked_in(repository, home, line)
    data, about = place.patch()
    assert not ran.exists(), ran.read_text()
    assert about["bytes"] == len(data)
    assert ('"unborn"' in str(about["why"]), '"cloned"' in str(about["why"])) == (True, True)
    found = repository.patched(tmp_path / "there", data)
    assert (found["new"], "unborn/file" in found) == (b"new\n", False)
    entries = git(tmp_path / "there", "ls-files", "--stage", "moved", "absent", "cloned").splitlines()
    assert {entry.split()[3]: entry.split()[1] for entry in entries} == {"moved": moved_to, "absent": stood_at}


def test_a_repository_of_longer_numbers_has_a_patch_as_any_other(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", "--object-format=sha256")
    (folder / "file").write_text("one\n")
    git(folder, "add", "file")
    git(folder, "commit", "-q", "-m", "first")
    place = Place(home, Checkout(str(folder), git(folder, "rev-parse", "HEAD")))
    done = place.run("sh", "-c", "echo two >> file")
    assert done.returncode == 0, done.stderr
    assert b"+two" in place.patch()[0]


NAMES = (
    b"--upload-pack=x",
    b"-rf",
    b"a\nb",
    b"\xff\xfe",
    b"\x1b]0;x\x07",
    b":(exclude)*",
    b"!x",
    b'"quoted"',
    b" ",
    b"\\",
)


def test_a_file_may_be_called_anything(repository: Repository, home: Path, tmp_path: Path) -> None:
    folder = os.fsencode(repository.folder)
    for name in NAMES:
        Path(os.fsdecode(os.path.join(folder, name))).write_text("x\n")
    repository.commit("names")
    line = "for f in ./*; do echo more >> \"$f\"; done; rm ./-rf; mkdir ./--dir; echo new > './--dir/--output=z\n'"
    place = worked_in(repository, home, line)
    data = whole_patch(place)
    found = repository.patched(tmp_path / "there", data)
    assert found == files_in(place.tree)
    assert len(found) == len(NAMES) + 4


def test_a_revision_made_to_write_elsewhere_writes_nowhere(repository: Repository, home: Path, tmp_path: Path) -> None:
    outside, ran = tmp_path / "outside", tmp_path / "ran"
    outside.mkdir()

    def blob(text: str) -> str:
        path = tmp_path / "contents"
        path.write_text(text)
        return repository.git("hash-object", "-w", str(path))

    def tree(*entries: tuple[str, str, str]) -> str:
        path = tmp_path / "contents"
        path.write_bytes(b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(it) for mode, name, it in entries))
        return repository.git("hash-object", "--literally", "-t", "tree", "-w", str(path))

    script = blob(f"#!/bin/sh\ntouch {ran}\n")
    hooks = tree(("40000", "hooks", tree(("100755", "post-checkout", script))))
    file = tree(("100644", "file", script))
    hostile = {
        "git": tree(("40000", ".git", hooks)),
        "git-in-capitals": tree(("40000", ".GIT", hooks)),
        "parent": tree(("40000", "..", file)),
        "path": tree(("100644", "../../file", script)),
        "link-and-folder": tree(("120000", "a", blob(str(outside))), ("40000", "a", file)),
        "link-to-git": tree(("120000", "a", blob(".git")), ("40000", "a", hooks)),
        "attributes": tree(("120000", ".gitattributes", blob(str(outside / "file")))),
    }
    for name, made in hostile.items():
        repository.git("update-ref", f"refs/heads/{name}", repository.git("commit-tree", "-m", name, made))
        place = Place(home, Checkout(str(repository.folder), name))
        place.run("true")
        assert not (place.tree / ".git" / "hooks").exists(), name
        assert list(outside.iterdir()) == list(place.path.glob("file")) == list(place.path.parent.glob("file")) == []
        assert not ran.exists(), name
        assert checkouts.remove(str(place.path)), name


def test_a_place_that_the_job_has_spoiled_gives_no_patch_and_can_be_removed(
    repository: Repository, home: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    for spoil in (
        f"ln -sf {elsewhere} ../base",
        "echo --output=x > ../base",
        "rm -rf .git",
        f"ln -s {elsewhere} ../patch",
        "mkfifo ../patch.json; mkfifo ../patch; rm ../base; mkfifo ../base",
        f"cd ..; mv tree elsewhere; ln -s {tmp_path} tree",
        "mkdir locked; touch locked/file; chmod 0 locked; rm ../base",
    ):
        place = worked_in(repository, home, f"echo x > changed; {spoil}")
        assert "bytes" not in place.patch()[1], spoil
        assert elsewhere.read_text() == "mine"
        assert checkouts.remove(str(place.path)), spoil


PIPES_FOR_OBJECTS = """
mkfifo ../pipe; cd .git/objects; mv pack was; mkdir pack
for name in was/*; do ln -s ../../../../pipe pack/${name##*/}; done
"""


@pytest.mark.parametrize(
    "pipe",
    [
        "rm .gitignore; mkfifo .gitignore",
        "mkdir -p new/deep; touch new/deep/file; mkfifo new/deep/.gitattributes",
        "mkfifo .gitmodules",
        PIPES_FOR_OBJECTS,
        "git init -q nested; rm nested/.git/HEAD; mkfifo nested/.git/HEAD",
    ],
)
def test_a_pipe_that_the_job_has_left_for_git_to_read_is_named_and_holds_nothing(
    repository: Repository, home: Path, pipe: str
) -> None:
    place = worked_in(repository, home, pipe)
    assert "pipe" in why_none(place)
    assert checkouts.remove(str(place.path))


def test_a_pipe_elsewhere_in_the_checkout_or_beside_it_does_not_cost_the_patch(
    repository: Repository, home: Path
) -> None:
    line = "mkfifo new git; echo x > changed; mkdir ../.git; cd ../.git; mkfifo HEAD config objects"
    place = worked_in(repository, home, line)
    data, about = place.patch()
    assert (about.get("bytes"), "why" in about) == (len(data), False)
    assert b"+x" in data
    assert place.run("true").returncode == 0  # an attempt more
    assert checkouts.remove(str(place.path))


def test_a_patch_that_is_too_large_is_not_kept_and_that_is_said(repository: Repository, home: Path) -> None:
    place = Place(home, Checkout(str(repository.folder), "main"))
    # the first would be a small patch, after git had copied all of it
    for line, said in (
        (f"import os; os.truncate(os.open('large', os.O_CREAT | os.O_WRONLY), {33 * LARGEST_PATCH})", "528 MiB"),
        (f"import os; open('large', 'wb').write(os.urandom({LARGEST_PATCH}))", "16 MiB"),
    ):
        assert place.run(sys.executable, "-c", line).returncode == 0
        assert said in why_none(place)
