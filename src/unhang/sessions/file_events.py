"""Changes of files that concern sessions: status files, streams of hooks, and new streams."""

from __future__ import annotations

from unhang.core.record import Record
from unhang.procs.file_watch import ADDED, CHANGED, OVERFLOWED, RELEASED, REMOVED, WRITTEN, FileWatch
from unhang.sessions.claude import status_file
from unhang.store.session_log import is_session_id


class FileChanges(Record):
    """What has changed since the last read."""

    files: set[tuple[str, int]]  # config dir and pid: a status file was written or removed
    streams: set[int]  # pids: hooks came
    sessions: set[str]  # session ids: a stream has appeared
    lost: bool  # events were dropped: everything must be read again


class FileEvents:
    """Watches the files of all sessions.

    Two processes may write to one stream: a session can be resumed while its first process still runs.
    """

    def __init__(self, streams: str) -> None:
        self._files = FileWatch()
        self._home = streams
        self._home_wd: int | None = None
        self._folders: dict[int, str] = {}  # watch → config dir
        self._parents: dict[int, str] = {}  # watch → config dir in which no session has ever been
        self._streams: dict[int, set[int]] = {}  # watch → pids
        self.deaf: set[int] = set()  # pids whose stream cannot be listened to

    @property
    def fd(self) -> int:
        """Return the descriptor that becomes readable when a file has changed."""
        return self._files.fd

    def listen(self, configs: list[str]) -> None:
        """Watch the folders that exist by now."""
        known = set(self._folders.values())
        for config in configs:
            if config not in known:
                wd = self._files.add(status_file.sessions_dir(config), WRITTEN | ADDED | REMOVED)
                if wd is not None:
                    self._folders[wd] = config
                elif config not in self._parents.values() and (wd := self._files.add(config, ADDED)) is not None:
                    self._parents[wd] = config
        if self._home_wd is None:
            self._home_wd = self._files.add(self._home, ADDED)

    def listen_to(self, stream: str, pid: int) -> None:
        """Watch the stream of a session for this process; add it to `deaf` if the stream cannot be watched."""
        wd = self._files.add(stream, CHANGED)
        if wd is None:
            self.deaf.add(pid)
            return
        self.deaf.discard(pid)
        self._streams.setdefault(wd, set()).add(pid)

    def forget(self, pid: int) -> None:
        """Stop watching the stream of a process that has ended."""
        self.deaf.discard(pid)
        for wd, pids in list(self._streams.items()):
            pids.discard(pid)
            if not pids:
                del self._streams[wd]
                self._files.remove(wd)

    def read(self) -> FileChanges:
        """Return what has changed since the last call, without waiting."""
        heard = FileChanges(set(), set(), set(), lost=False)
        for wd, mask, name in self._files.read():
            if mask & RELEASED:  # what was listened to is gone; if it comes back, the next scan finds it
                self._folders.pop(wd, None)
                self._parents.pop(wd, None)
                self.deaf |= self._streams.pop(wd, set())
                self._home_wd = None if wd == self._home_wd else self._home_wd
            elif mask & OVERFLOWED:
                heard = heard.replace(lost=True)
            elif wd in self._folders:
                if pid := status_file.pid_of(name):
                    heard.files.add((self._folders[wd], pid))
            elif wd in self._parents:
                if name == status_file.SESSIONS:  # the first session ever: from now on its folder is listened to
                    del self._parents[wd]
                    self._files.remove(wd)
                    heard = heard.replace(lost=True)
            elif wd in self._streams:
                heard.streams.update(self._streams[wd])
            elif wd == self._home_wd and is_session_id(name):
                heard.sessions.add(name)
        return heard

    def close(self) -> None:
        """Stop watching, and close the descriptor."""
        self._files.close()
