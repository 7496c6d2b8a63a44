# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Lisp, Prolog, Scheme, PyPy, awk, Ada and Haskell without threads, live and hung, with their real runtimes."""

from __future__ import annotations

from tests.zoo.scenario import Scenario, Stage

R = b"READY"


def _lisp(form: str) -> list[str]:
    return ["sbcl", "--noinform", "--disable-debugger", "--eval", form]


def _prolog(goal: str) -> list[str]:
    return ["swipl", "-q", "-g", goal, "-t", "halt"]


def _scheme(form: str) -> list[str]:
    return ["guile", "--no-auto-compile", "-c", form]


def _ada(stage: Stage, body: str) -> list[str]:
    stage.compile("gnatmake", "-q", "-O0", stage.write("actor.adb", body), "-o", "actor")
    return [str(stage.dir / "actor")]


def _haskell_alone(stage: Stage, source: str) -> list[str]:
    stage.compile("ghc", "-v0", "-o", "actor", stage.write("Actor.hs", source))
    return [str(stage.dir / "actor")]


LISP_READY = '(format t "READY~%") (finish-output)'
LISP_ASKS = '(progn (format t "Name: ") (finish-output) (read-line))'
LISP_NEVER = f"(let ((m (sb-thread:make-mutex)) (q (sb-thread:make-waitqueue))) {LISP_READY} (sb-thread:with-mutex (m) (sb-thread:condition-wait q m)))"
LISP_LATER = f"(let ((m (sb-thread:make-mutex)) (q (sb-thread:make-waitqueue))) {LISP_READY} (sb-thread:with-mutex (m) (sb-thread:condition-wait q m :timeout 80)))"
LISP_TIMER = f"(let ((s (sb-thread:make-semaphore))) (sb-ext:schedule-timer (sb-ext:make-timer (lambda () (sb-thread:signal-semaphore s))) 80) {LISP_READY} (sb-thread:wait-on-semaphore s))"
LISP_JOINS = f"(let ((h (sb-thread:make-thread (lambda () (sleep 80))))) {LISP_READY} (sb-thread:join-thread h))"

SCHEME_NEVER = '(use-modules (ice-9 threads)) (define m (make-mutex)) (define c (make-condition-variable)) (lock-mutex m) (display "READY\\n") (force-output) (wait-condition-variable c m)'
SCHEME_LATER = SCHEME_NEVER.replace("c m)", "c m (+ (current-time) 80))")
SCHEME_JOINS = '(use-modules (ice-9 threads)) (define t (call-with-new-thread (lambda () (sleep 80)))) (display "READY\\n") (force-output) (join-thread t)'

PYPY_ORDER = "import threading\na, b, both = threading.Lock(), threading.Lock(), threading.Barrier(3)\ndef take(x, y):\n    with x:\n        both.wait()\n        with y: pass\nfor p in ((a, b), (b, a)): threading.Thread(target=take, args=p).start()\nboth.wait(); print('READY')"
PYPY_WORKS = "import threading, hashlib\ndef work():\n    x = b''\n    while True: x = hashlib.sha256(x + bytes(1000)).digest()\nthreading.Thread(target=work).start(); print('READY')\nthreading.Event().wait()"

ADA_DELAY = 'with Ada.Text_IO; procedure Actor is task T; task body T is begin delay 80.0; end T; begin Ada.Text_IO.Put_Line ("READY"); Ada.Text_IO.Flush; end Actor;'
ADA_NEVER = 'with Ada.Text_IO; procedure Actor is task T is entry Go; entry Other; end T; task body T is begin accept Go; end T; begin Ada.Text_IO.Put_Line ("READY"); Ada.Text_IO.Flush; T.Other; end Actor;'
ADA_OR_DELAY = 'with Ada.Text_IO; procedure Actor is task T is entry Go; end T; task body T is begin select accept Go; or delay 80.0; end select; end T; begin Ada.Text_IO.Put_Line ("READY"); Ada.Text_IO.Flush; end Actor;'

SBCL, SWIPL, GUILE, PYPY, GAWK, GNAT = ("sbcl",), ("swipl",), ("guile",), ("pypy3",), ("gawk",), ("gnatmake",)
MORE_LANGUAGES = (
    # These two were labelled hung before their first run. SBCL keeps a handler for SIGALRM, with whose timer (`setitimer`)
    # it runs those of the program: whether one is set cannot be seen.
    Scenario("sbcl-asks", "ambiguous", ("input",), lambda _: _lisp(LISP_ASKS), io="pty", ready=b"Name: ", settle=1.0, needs=SBCL, prompt="Name:"),
    Scenario("sbcl-condition-never", "ambiguous", ("deadlock", "idle"), lambda _: _lisp(LISP_NEVER), ready=R, settle=1.0, needs=SBCL),
    Scenario("sbcl-condition-80s", "alive", ("timer",), lambda _: _lisp(LISP_LATER), ready=R, settle=1.0, needs=SBCL),
    Scenario("sbcl-timer-80s", "alive", ("timer", "deadlock", "idle"), lambda _: _lisp(LISP_TIMER), ready=R, settle=1.0, needs=SBCL),
    Scenario("sbcl-joins-a-sleeper", "alive", ("timer",), lambda _: _lisp(LISP_JOINS), ready=R, settle=1.0, needs=SBCL),
    # Was labelled hung, and the next but one without `poll`: SWI-Prolog looks for messages and signals four times a second.
    Scenario("prolog-message-never", "ambiguous", ("deadlock", "idle", "poll"), lambda _: _prolog("writeln('READY'), flush_output, thread_get_message(x)"), ready=R, settle=1.0, needs=SWIPL),
    Scenario("prolog-message-of-a-sleeper", "alive", ("timer", "poll"), lambda _: _prolog("thread_self(M), thread_create((sleep(80), thread_send_message(M, x)), _), writeln('READY'), flush_output, thread_get_message(x)"), ready=R, settle=1.0, needs=SWIPL),
    Scenario("prolog-time-limit-80s", "alive", ("timer", "deadlock", "idle", "poll"), lambda _: _prolog("use_module(library(time)), writeln('READY'), flush_output, catch(call_with_time_limit(80, thread_get_message(x)), _, true)"), ready=R, settle=1.0, needs=SWIPL),
    Scenario("prolog-asks", "hung", ("input",), lambda _: _prolog("write('Your name: '), flush_output, read_term(_, [])"), io="pty", ready=b"name: ", settle=1.0, needs=SWIPL),
    Scenario("guile-condition-never", "hung", ("deadlock", "idle"), lambda _: _scheme(SCHEME_NEVER), ready=R, settle=1.0, needs=GUILE),
    Scenario("guile-condition-80s", "alive", ("timer",), lambda _: _scheme(SCHEME_LATER), ready=R, settle=1.0, needs=GUILE),
    Scenario("guile-joins-a-sleeper", "alive", ("timer",), lambda _: _scheme(SCHEME_JOINS), ready=R, settle=1.0, needs=GUILE),
    Scenario("pypy-lock-order", "hung", ("deadlock",), lambda _: ["pypy3", "-u", "-c", PYPY_ORDER], ready=R, settle=1.0, needs=PYPY),
    Scenario("pypy-thread-works", "alive", ("progress", "busy"), lambda _: ["pypy3", "-u", "-c", PYPY_WORKS], ready=R, settle=1.0, needs=PYPY),
    Scenario("pypy-event-70s", "alive", ("timer",), lambda _: ["pypy3", "-u", "-c", "import threading; print('READY'); threading.Event().wait(70)"], ready=R, settle=1.0, needs=PYPY),
    Scenario("pypy-input", "hung", ("input",), lambda _: ["pypy3", "-u", "-c", "input('Name: ')"], io="pty", ready=b"Name: ", settle=1.0, needs=PYPY, prompt="Name:"),
    Scenario("gawk-coprocess-never-told", "hung", ("pipe_cycle",), lambda _: ["gawk", 'BEGIN { print "READY"; fflush(); "cat" |& getline x }'], ready=R, needs=GAWK),
    Scenario("gawk-reads-a-sleeper", "alive", ("timer",), lambda _: ["gawk", 'BEGIN { print "READY"; fflush(); "sleep 80; echo x" | getline x }'], ready=R, needs=GAWK),
    Scenario("ada-task-delays", "alive", ("timer",), lambda s: _ada(s, ADA_DELAY), ready=R, needs=GNAT),
    Scenario("ada-entry-never-accepted", "hung", ("deadlock",), lambda s: _ada(s, ADA_NEVER), ready=R, needs=GNAT),
    Scenario("ada-accepts-or-gives-up", "alive", ("timer",), lambda s: _ada(s, ADA_OR_DELAY), ready=R, needs=GNAT),
    Scenario("haskell-without-threads-delays", "alive", ("timer",), lambda s: _haskell_alone(s, "import System.IO\nimport Control.Concurrent\nmain = hSetBuffering stdout NoBuffering >> putStrLn \"READY\" >> threadDelay 80000000"), ready=R, needs=("ghc",)),
    Scenario("elixir-message-after-70s", "alive", ("timer",), lambda s: s.elixir("Process.send_after(self(), :x, 70_000); IO.puts(\"READY\"); receive do :x -> 1 end"), ready=R, settle=1.0, needs=("elixir",)),
)  # fmt: skip
