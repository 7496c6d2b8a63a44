"""Which revisions of which repositories are checked out, and what git is not allowed to do."""

from __future__ import annotations

import pytest

from unhang.core.fleet.checkout import Checkout, git_environment, parse_checkout, read_checkout
from unhang.core.fleet.task import Task, read_task
from unhang.errors import UsageError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "folder", "wanted"),
    [
        ("https://host/project.git@main", None, Checkout("https://host/project.git", "main")),
        ("git@host:team/project.git@v1.2+x", ".", Checkout("git@host:team/project.git", "v1.2+x")),
        ("ssh://git@host:22/p@feature/a-b", "sub/dir", Checkout("ssh://git@host:22/p", "feature/a-b", "sub/dir")),
        (f"/srv/a b/project@{COMMIT}", None, Checkout("/srv/a b/project", COMMIT)),
        ("file:///srv/project@refs/pull/7/head", None, Checkout("file:///srv/project", "refs/pull/7/head")),
    ],
)
def test_a_revision_is_read_as_it_is_given(text: str, folder: str | None, wanted: Checkout) -> None:
    found = parse_checkout(text, folder)
    assert found == wanted
    assert found.shown == text
    assert read_checkout(found.to_dict()) == wanted


HOSTILE = [
    ("/srv/project", ""),
    ("@main", ""),
    ("/srv/project@", ""),
    ("git@host:team/project.git", ""),
    ("--upload-pack=touch x@main", ""),
    ("-oProxyCommand=x:y@main", ""),
    ("ssh://-oProxyCommand=x/y@main", ""),
    ("ssh://-x@host/y@main", ""),
    ("ext::sh -c touch% x@main", ""),
    ("fd::17@main", ""),
    ("ftp://host/x@main", ""),
    ("https://@main", ""),
    ("https://token@host/x@main", ""),
    ("ssh://me:secret@host/x@main", ""),
    ("project@main", ""),
    ("../project@main", ""),
    ("/srv/pro\nject@main", ""),
    ("/srv/project@-f", ""),
    ("/srv/project@--output=x", ""),
    ("/srv/project@a..b", ""),
    ("/srv/project@main^", ""),
    ("/srv/project@a b", ""),
    ("/srv/project@.lock", ""),
    (f"/srv/project@{'a' * 1001}", ""),
    ("/srv/project@main", "/etc"),
    ("/srv/project@main", "a/../../b"),
    ("/srv/project@main", "-x"),
]


@pytest.mark.parametrize(("text", "folder"), HOSTILE)
def test_what_git_could_take_for_an_option_or_a_command_is_refused(text: str, folder: str) -> None:
    with pytest.raises(UsageError):
        parse_checkout(text, folder)
    # and once more by the worker, whoever has written the task
    repo, _, rev = text.rpartition("@")
    task = Task(["true"], None, "x", {}, {}, {}, checkout={"repo": repo, "rev": rev, "folder": folder})
    assert read_checkout(task.checkout) is None
    assert read_task(task.to_bytes()) is None


@pytest.mark.parametrize("odd", ["text", 1, [], {}, {"repo": "/x", "rev": "y"}, {"repo": "/x", "rev": 1, "folder": ""}])
def test_a_task_whose_checkout_cannot_be_read_is_no_task(odd: object) -> None:
    assert read_checkout(odd) is None
    task = Task(["true"], None, "x", {}, {}, {})
    assert read_task(task.to_bytes()) == task
    assert read_task(task.replace(checkout=odd).to_bytes()) is None


def test_git_is_pointed_nowhere_by_the_environment_and_asks_no_person() -> None:
    given = {"HOME": "/h", "GIT_DIR": "/x", "GIT_CONFIG_COUNT": "1", "GIT_SSH_COMMAND": "ssh -i k", "SSH_ASKPASS": "/a"}
    found = git_environment(given, {"GIT_WORK_TREE": "/t"})
    assert {"GIT_DIR", "GIT_CONFIG_COUNT"}.isdisjoint(found)
    assert (found["HOME"], found["GIT_SSH_COMMAND"], found["GIT_WORK_TREE"]) == ("/h", "ssh -i k", "/t")
    assert (found["GIT_TERMINAL_PROMPT"], found["GIT_ASKPASS"], found["SSH_ASKPASS"]) == ("0", "", "")
    assert {"ext", "fd"}.isdisjoint(found["GIT_ALLOW_PROTOCOL"].split(":"))
