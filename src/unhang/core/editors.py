"""Editors where there is no terminal: which programs are some, and the way to the same end without one."""

from __future__ import annotations

# Programs that wait for a person's keys, by the name that the kernel has for them.
EDITORS = frozenset(
    {"vi", "vim", "vim.basic", "vim.tiny", "vim.nox", "vim.gtk3", "nvim", "nano", "pico", "emacs", "emacs-nox"}
    | {"emacs-gtk", "joe", "hx", "micro", "mcedit", "ne", "jed"}
)
# Programs that do nothing but open an editor, and choose one themselves.
EDITOR_STARTERS = frozenset({"visudo", "vipw", "vigr", "sudoedit"})
# A pager waits for keys where there is a terminal: what is printed goes on instead.
NO_PAGER = {"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat"}
# What programs that open an editor are given as one where no person can use it: it fails at once.
ABSENT_EDITOR = {"EDITOR": "false", "VISUAL": "false"}

# A word of the command line, a second one (or ""), and what to do instead.
_WAYS = (
    ("git", "commit", "pass the message: git commit -m '…' (or -F FILE; --no-edit keeps the old one)"),
    ("git", "rebase", 'give the steps: GIT_SEQUENCE_EDITOR="sed -i …" GIT_EDITOR=true git rebase -i …'),
    ("git", "tag", "pass the message: git tag -m '…'"),
    ("git", "", "set GIT_EDITOR=true to take what is there, or pass the message (-m)"),
    ("crontab", "", "write the table to a file and install it: crontab FILE; crontab -l shows it"),
    ("visudo", "", "write a file and check it: visudo -cf FILE, then install it in /etc/sudoers.d"),
    ("sudoedit", "", "write the file as root with your own tools: sudo tee FILE, sudo install, sudo sed -i"),
    ("vipw", "", "use usermod, useradd or chsh"),
    ("vigr", "", "use groupmod, gpasswd or usermod -aG"),
    ("kubectl", "edit", "use kubectl patch, or kubectl get -o yaml > FILE, change it, kubectl apply -f FILE"),
)
_OTHERWISE = "change the file with your own tools, or with sed -i, or by a here-document (cat > FILE <<'END')"


def way_without(command: str) -> str:
    """Return what to do instead of a command that opens an editor."""
    words = command.replace("\n", " ").split()
    names = {word.rsplit("/", 1)[-1] for word in words}
    return next((way for one, other, way in _WAYS if one in names and (not other or other in names)), _OTHERWISE)


def refused_editor(stderr: str) -> bool:
    """Return whether a program has failed because the editor that it was given cannot edit."""
    end = stderr[-4000:]
    return any(f"{left}false{right}" in end and "edit" in end.lower() for left, right in (("'", "'"), ('"', '"')))
