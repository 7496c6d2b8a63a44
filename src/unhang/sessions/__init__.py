"""Interactive agents in tmux: found, watched and, when a call of theirs hangs, freed by the gentlest step that works.

    loop.py       one process for all sessions of a machine: wait, read, judge, act
    subject.py    one session: its files, its machine, what it asks for
    ears.py       what is listened to; inotify.py: the kernel's side of it
    finding.py    the status files of Claude Code, and the streams that its hooks write
    replay.py     hooks and status → facts, with times that a wall clock cannot spoil
    transcript.py did the model or a tool write since the last look?
    identity.py   is this still the same process, and is it in front on its terminal?
    panes.py      a look at a pane; tmux.py: calls of tmux, each bounded
    trees.py      the processes of one command
    steps.py      a step, taken only if at that moment everything is certain
    resume.py     starts the agent again in its pane, as it was
    settings.py   watch.toml and the options
    telling.py    events, tmux messages, the notification command
    lock.py       one watcher a home; the lock file that a hook may try
    service.py    a systemd user unit, or a plain background job

What to do is decided by `unhang.sessions.state`, which is told facts and the time; here is gathered and carried out.
"""
