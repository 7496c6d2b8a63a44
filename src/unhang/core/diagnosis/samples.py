"""What a full look at a process tree shows: facts only, no verdicts.

It holds which system call each thread sits in, on which descriptors and until when; what those descriptors are and
which processes hold their other ends; whose lock it waits for; what the terminal is set to and what was last printed.

Nothing here can read anything: the sampler fills these in, the rules judge them, and a test can write them down by
hand. A number that could not be read is None, never a guess; a process that may not be read (setuid, another user) is
there with `hidden=True`, because "one process cannot be seen" is a different statement from "there is no process".
"""

from __future__ import annotations

from typing import NamedTuple

FOREVER = float("inf")


class Thread(NamedTuple):
    """One thread, and the system call that it sits in."""

    tid: int
    comm: str = ""
    state: str = "?"
    cpu: int = 0
    faults: int = 0
    switches: int = 0  # voluntary only: the others count the load of the machine, not this thread
    wchan: str = ""
    syscall: str = ""  # a name, "running", or "" where it could not be read
    reads: tuple[int, ...] = ()  # descriptors it waits to read from
    writes: tuple[int, ...] = ()  # descriptors it waits to write to
    timeout: float | None = None  # seconds it asked for; FOREVER when endless; None when unknown
    remaining: float | None = None  # seconds until it wakes by itself, where the kernel shows that
    asleep: float | None = None  # seconds since it last ran
    futex: int | None = None  # address of the lock word
    owner: int | None = None  # thread that holds that lock, where the lock says so
    shared: bool = False  # the lock word may be another process's to release
    child: int | None = None  # the one child it waits for; None for any
    traces: bool = False  # it waits as a tracer does, for what it traces as well as for its children
    path: str = ""  # the file it is opening
    hangups: tuple[int, ...] = ()  # descriptors of which it waits for the other end to be closed, and for nothing else
    unseen: bool = False  # the set it waits for could not be read whole
    common: str = ""  # what it waits for that processes share: a key of `FullSample.commons`
    signals: int = 0  # those that it waits for with sigwait and its kin, one bit each; 0 where they could not be read
    static: bool = False  # the lock word lies in the image of its program or runtime, not in memory it asked for


class Lock(NamedTuple):
    """A file lock that a process wants and another one holds."""

    kind: str  # "flock", "posix", "ofd"
    path: str
    holder: int | None
    holder_comm: str
    blocked: bool  # it sleeps in the kernel for it; False: it has the file open and another holds the lock
    holders: tuple[int, ...] = ()  # all that share the descriptor which holds it; a fork shares it, too

    @property
    def owners(self) -> tuple[int, ...]:
        """Return every process that could give the lock up, as far as is known."""
        return self.holders or (() if self.holder is None else (self.holder,))


class ProcessSample(NamedTuple):
    """One process with its threads and descriptors."""

    pid: int
    ppid: int = 0
    pgid: int = 0
    tty: int = 0
    tpgid: int = -1
    start: int = 0
    comm: str = ""
    cmd: str = ""
    state: str = "?"
    cpu: int = 0
    reaped: int = 0
    io: int = 0  # bytes through read and write
    disk: int = 0  # bytes to and from the disk, by whatever way
    fetched: int = 0  # pages that had to be fetched from the disk
    faults: int = 0
    threads: tuple[Thread, ...] = ()
    thread_count: int = 1
    fds: dict[int, str] = {}  # noqa: RUF012 - never written to; a NamedTuple has no default factory
    lock: Lock | None = None
    catches_alarm: bool = False  # has a handler for SIGALRM: a pause may end by itself
    sets_alarm: bool = False  # its program's text names an alarm, or it imports that; without a handler it would end it
    catches_signal: bool = False  # has a handler for a signal that another process, or a descriptor, sends to wake it
    catches_other: bool = False  # has one for a signal that wakes only a program that waits for nothing else
    catches_reload: bool = False  # has one for SIGHUP beside those of an end: it reads settings again, or cleans up
    catches_all: bool = False  # handles nearly every signal, so that nothing tells which of them it means
    background: bool = False  # ignores SIGINT and SIGQUIT, as a command does that a shell has started with &
    tracer: int = 0  # the process that traces it
    tracees: tuple[tuple[int, str], ...] = ()  # processes outside that it traces, where it waits for those
    timers: bool = False  # has made timers that send it signals (timer_create); whether they are set is not shown
    # Of the descriptors that one of its threads waits for:
    timerfds: dict[int, float] = {}  # noqa: RUF012 - seconds until each fires; FOREVER: it is not set
    patience: dict[int, float | None] = {}  # noqa: RUF012 - seconds after which a call on a socket gives up; None: unknown
    pidfds: dict[int, tuple[int, str]] = {}  # noqa: RUF012 - the process behind each (-1: ended), and its name
    strangers: dict[int, tuple[tuple[int, str], ...]] = {}  # noqa: RUF012 - processes outside that have it, too
    futile: int | None = None  # a JVM: wake-ups of its threads that found a monitor still taken
    hidden: bool = False
    handovers: int | None = None  # of Python's global lock, from thread to thread; None: not known, or it is free
    runtime: str = ""  # whose threads it has beside its own: a name of `runtimes`; "" where none was recognised


class Socket(NamedTuple):
    """A socket, with what the kernel has counted on it."""

    family: str  # "tcp", "udp", "unix", "other"
    local: str = ""
    remote: str = ""
    state: str = ""
    received: int | None = None
    sent: int | None = None
    since_receive: float | None = None
    since_send: float | None = None
    unread: int = 0  # bytes that have come, and that its process has not read
    peer: str = ""  # link of the other end, where that is on this machine and known
    segments: int | None = None  # with data, received


class Pipe(NamedTuple):
    """A pipe or a FIFO, and the processes that hold its ends."""

    readers: tuple[tuple[int, int], ...] = ()  # (pid, fd), inside the tree only
    writers: tuple[tuple[int, int], ...] = ()
    outside: tuple[tuple[int, str], ...] = ()  # (pid, comm) of others that hold the end that is waited for
    ours: bool = False  # the watchdog holds that end
    searched: bool = False  # `outside` and `ours` were looked for


class Common(NamedTuple):
    """Memory or a System V object that several processes may share, and the processes that do."""

    inside: tuple[int, ...] = ()  # of the tree
    outside: tuple[tuple[int, str], ...] = ()  # (pid, comm) of others
    reachable: bool = False  # a process that has no part in it yet could get one: it has a name or a key


class TerminalSettings(NamedTuple):
    """The settings of the job's terminal."""

    path: str = ""
    echo: bool = True
    canonical: bool = True
    foreground: int = 0  # process group
    own: bool = True  # False: a stranger outside of the job has made it, and no session but the job's sits at it
    patience: float = FOREVER  # seconds after which a read of it returns without a key (VMIN 0, VTIME)


class FullSample(NamedTuple):
    """Everything that one full look at a tree has seen."""

    at: float
    hz: int
    processes: dict[int, ProcessSample]
    others: dict[int, ProcessSample] = {}  # noqa: RUF012 - outside the tree, but a process in it waits for them
    sockets: dict[str, Socket] = {}  # noqa: RUF012 - by link, "socket:[123]"
    pipes: dict[str, Pipe] = {}  # noqa: RUF012 - by link, "pipe:[123]" or the path of a FIFO
    commons: dict[str, Common] = {}  # noqa: RUF012 - by device and inode, or by kind and number
    terminal: TerminalSettings | None = None
    masters: dict[str, tuple[int, ...]] = {}  # noqa: RUF012 - terminal -> processes of the tree that made it
    screen: str = ""  # the last that was printed, raw
    leader: int | None = None  # the job's first process, where the caller knows it
    printed: int | None = None  # bytes that the job has printed so far, where the caller knows it
    command: str = ""  # with which the job was started, where the caller knows it
    notes: tuple[str, ...] = ()  # what was not looked at, and why
    took: float = 0.0  # seconds
