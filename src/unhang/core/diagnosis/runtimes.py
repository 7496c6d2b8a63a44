"""What the threads of a language's runtime look like, and which of them say nothing of the program.

A runtime keeps threads of its own: they tick, collect and sleep whatever the program does, also under a deadlock. The
sampler recognises the runtime (`ProcessSample.runtime`) by what its program file or its maps hold; which of its threads
are housekeeping is decided here, by the call that they sit in.

* **Go**: `sysmon`, the first thread that the runtime starts, sleeps in a futex for at most 60 s. A goroutine that
  waits is no thread: its thread goes idle, in an endless futex. The next timer of the program is the timeout of the
  one thread that sits in the network poller, and it is there whenever there is a timer.
* **OCaml**: a tick thread sleeps 50 ms in a `select` of nothing, to make the others share the master lock.
* **Haskell**: a thread ticks while the program computes, to switch between its own; it stands still when that does.
* **Python**: a thread that waits for the GIL asks again every 5 ms. The word that it sleeps on lies in the
  interpreter's own image; every other lock lies in memory that was asked for. Beside that word stands how often the
  GIL has passed to another thread: as long as the number stays, none of those that ask has got it.
* **Erlang**: schedulers sleep until the next slot of a timer wheel, which holds the system's timers as well as the
  program's. Which of both it is cannot be seen from outside.
* **Node**: it handles SIGUSR1 to open a debugger's port. V8 looks 8 s after a burst of work whether memory can be given
  back. Until then the event loop has a timeout that looks like a timer of the program, and counts as one: it is gone by
  the time that a silence is worth a word.
* **Ruby**: a timer with SIGVTALRM to switch between threads; the sampler leaves it out. It handles nearly every signal
  itself. A program of one thread that waits for ever in Ruby's own wait has called `sleep`, to be woken by a signal: of
  any other such wait Ruby makes an error.
* **The JVM**: threads with well-known names.
* **Mono**: a thread with a well-known name, and handlers of real-time signals with which it stops its threads.
"""

from __future__ import annotations

from unhang.core.diagnosis.samples import FOREVER, ProcessSample, Thread

GO, OCAML, PYTHON, ERLANG, JVM, MONO, NODE = "go", "ocaml", "python", "erlang", "jvm", "mono", "node"
HASKELL, RUBY = "haskell", "ruby"

# Half of the time between two collections that Go forces; sysmon sleeps no longer than that.
SYSMON = 60.0
# The longest that Go's network poller asks for: there is a timer, and it is weeks away.
LONGEST = 1_000_000.0
# Python's threads ask for the GIL every 5 ms, unless a program has set another interval.
SWITCH = 0.1
# OCaml's tick, in seconds.
TICK = 0.05
# The JVM's own threads tick for ever, also under a deadlock. Names as the kernel cuts them, at 15 characters. There is
# one of each of the first, made before the program can name one of its own so; the others are numbered.
_JVM_SINGLE = frozenset({
    "VM Thread", "VM Periodic Tas", "G1 Main Marker", "G1 Service", "Reference Handl", "Finalizer", "Signal Dispatch",
    "Service Thread", "Monitor Deflati", "Notification Th", "Common-Cleaner", "Sweeper thread", "Attach Listener",
    "ZDirector", "ZDriver", "ZStat", "ZUncommitter", "ZUnmapper", "Shenandoah Cont",
})  # fmt: skip
_JVM_SEVERAL = (
    "GC Thread#",
    "G1 Conc#",
    "G1 Refine#",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "ZWorker#",
    "Shenandoah GC T",
)
# The names of BEAM's threads, before and since OTP 26.
_ERLANG_THREADS = ("sys_sig_dispatc", "erts_ssig_disp")
_SCHEDULERS = "_scheduler", "erts_sched_"
_MONO_THREAD = "SGen worker"
_HASKELL_TICKER = "ghc_ticker"
# What a scheduler waits for while it has nothing to run: a message of its fellows, or a timer.
_AT_REST = frozenset({"futex", "timer", "loop", "self_pipe", "child", "running"})


def named_runtime(threads: tuple[Thread, ...]) -> str:
    """Return the runtime that the names of a process's threads give away; "" where they do not."""
    names = {thread.comm for thread in threads}
    if "VM Thread" in names:
        return JVM
    if any(name.startswith(_MONO_THREAD) for name in names):
        return MONO
    if _HASKELL_TICKER in names:
        return HASKELL
    return ERLANG if names.intersection(_ERLANG_THREADS) else ""


def own_threads(process: ProcessSample) -> list[Thread]:
    """Return the threads of a process without its runtime's housekeeping."""
    living = [each for each in process.threads if each.state != "Z"]
    if process.runtime == GO:
        watcher = _sysmon(process, living)
        return [each for each in living if each is not watcher]
    if process.runtime == OCAML:
        return [each for each in living if not is_tick(process.pid, each)]
    if process.runtime == HASKELL:
        return [each for each in living if each.comm != _HASKELL_TICKER]
    if process.runtime == JVM:
        first = {each.comm: each.tid for each in sorted(living, key=lambda one: one.tid, reverse=True)}
        return [each for each in living if not _is_jvms(each, first[each.comm])]
    return living


def _is_jvms(thread: Thread, first: int) -> bool:
    """Whether a thread is the JVM's own; `first` is the oldest of those that have its name."""
    return thread.comm.startswith(_JVM_SEVERAL) or (thread.comm in _JVM_SINGLE and thread.tid == first)


def _sysmon(process: ProcessSample, living: list[Thread]) -> Thread | None:
    """Go starts it first, so it is the oldest thread but the main one, and only it sleeps with a timeout on a word."""
    timed = [each for each in living if each.tid != process.pid and is_sysmon(each)]
    return min(timed, key=lambda each: each.tid, default=None)


def is_sysmon(thread: Thread) -> bool:
    """Return whether a thread of a Go program sleeps as sysmon does."""
    return _waits_briefly(thread, SYSMON)


def _waits_briefly(thread: Thread, most: float) -> bool:
    """Whether it waits for a lock, and for at most so many seconds."""
    return thread.syscall == "futex" and thread.timeout is not None and thread.timeout <= most


def is_tick(pid: int, thread: Thread) -> bool:
    """Return whether a thread of an OCaml program is the one that ticks."""
    selects = thread.syscall in ("select", "pselect6") and not thread.reads and not thread.writes
    return selects and thread.tid != pid and not thread.unseen and thread.timeout == TICK


def is_parked(process: ProcessSample, thread: Thread) -> bool:
    """Return whether it is an idle thread of Go: the goroutines that it ran wait, or there are none for it."""
    return process.runtime == GO and thread.timeout == FOREVER and not thread.shared


def wants_gil(process: ProcessSample, thread: Thread) -> bool:
    """Return whether it waits for Python's global lock, which only another thread of the process can give up."""
    return process.runtime == PYTHON and thread.static and asks_again(thread)


def asks_again(thread: Thread) -> bool:
    """Return whether it waits for a lock, and only as long as a thread that wants the GIL does before it asks again."""
    return _waits_briefly(thread, SWITCH)


def scheduler_rests(process: ProcessSample, thread: Thread, kind: str) -> bool:
    """Return whether it is one of Erlang's schedulers with nothing to run, in a wait of this kind."""
    named = thread.comm.endswith(_SCHEDULERS[0]) or thread.comm.startswith(_SCHEDULERS[1])
    return process.runtime == ERLANG and named and kind in _AT_REST


def polls_for_ever(process: ProcessSample, thread: Thread) -> bool:
    """Return whether Go's network poller waits without a timer that will fire within days."""
    return process.runtime == GO and "epoll" in thread.syscall and thread.timeout == LONGEST
