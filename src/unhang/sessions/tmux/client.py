"""Calls of tmux, each bounded in time. A server that does not answer is left alone for a while."""

from __future__ import annotations

import os
import select
import subprocess

from unhang.core.record import Record
from unhang.procs import clock

TIMEOUT = 3.0
# A server that hung once costs everybody TIMEOUT again at each try.
PAUSE = 60.0
# A pane has some hundred lines of some hundred letters. A server that answers with more is none of tmux's.
_MOST = 4 << 20
_MOST_LINES, _WIDEST = 1000, 4000
_MOST_CLIENTS = 1000
_SEP = "\x1f"
_FIELDS = (
    "pid",
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_in_mode",
    "pane_tty",
    "pane_width",
    "pane_height",
    "pane_synchronized",
    "window_panes",
)
_CLIENT = "client:"


class TmuxError(Exception):
    """Raised if a tmux command fails, with one line that says why; `gone`: the server or the pane does not exist."""

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


class Address(Record):
    """The address of a pane: the socket and pid of its server, and its id."""

    socket: str
    server: int  # its pid
    pane: str

    @classmethod
    def of(cls, tmux: str, pane: str) -> Address | None:
        """Read the address from $TMUX (`/tmp/tmux-0/default,1234,0`) and $TMUX_PANE."""
        socket, _, rest = tmux.rpartition(",")
        socket, _, server = socket.rpartition(",")
        if not socket.startswith("/") or not _is_number(server) or not _is_number(rest.lstrip("-")):
            return None
        if not pane.startswith("%") or not _is_number(pane[1:]):
            return None
        return cls(socket, int(server), pane)


class PaneState(Record):
    """A pane and its text, as one call of tmux found them."""

    server: int
    pane: str
    pane_pid: int
    dead: bool
    in_mode: bool
    tty: str
    clients: list[tuple[int, str]]  # last activity (wall clock, seconds), the pane in front of it
    control: bool  # a client in control mode is attached: its keys are no activity of it
    synchronized: bool  # a key sent to it reaches other panes, too
    text: str


class Tmux:
    """Calls tmux servers by their sockets; one that did not answer is not called again for a while."""

    def __init__(self, program: str = "tmux") -> None:
        self._program = program
        self._paused: dict[str, float] = {}
        self._sent: dict[tuple[str, str], float] = {}  # socket and pane → when a key was sent (wall clock)

    def call(self, socket: str, *words: str, timeout: float = TIMEOUT) -> str:
        """Run one tmux command and return its output; raise TmuxError if it fails or takes too long."""
        now = clock.monotonic()
        if self._paused.get(socket, 0.0) > now:
            raise TmuxError("its tmux server does not answer")
        env = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        command = [self._program, "-S", socket, *words]  # none of our commands starts a server
        try:
            code, out, err = _run(command, env, timeout)
        except TimeoutError:
            if len(self._paused) > _MOST_CLIENTS:
                self._paused.clear()
            self._paused[socket] = clock.monotonic() + PAUSE
            raise TmuxError("its tmux server does not answer") from None
        except OSError as error:
            raise TmuxError(f"tmux cannot be run: {error.strerror}", gone=True) from None
        except ValueError:  # a NUL, or half of a surrogate pair, in a word
            raise TmuxError("tmux cannot be told that") from None
        if code:
            said = err.decode("utf-8", "replace").strip().splitlines()
            text = said[-1][:300] if said else f"exit code {code}"
            gone = "no server" in text or "can't find" in text or "error connecting" in text or "lost server" in text
            raise TmuxError(f"tmux: {text}", gone=gone)
        return out.decode("utf-8", "replace")

    def look(self, address: Address) -> PaneState:
        """Return the pane, who sits before it, and what it shows: one call."""
        form = _SEP.join(f"#{{{name}}}" for name in _FIELDS)
        clients = f"{_CLIENT}#{{client_activity}} #{{pane_id}} #{{client_control_mode}}"
        # fmt: off
        out = self.call(
            address.socket,
            "display-message", "-p", "-t", address.pane, form, ";",
            "list-clients", "-F", clients, ";",
            "capture-pane", "-e", "-p", "-t", address.pane,
        )
        # fmt: on
        return parse_pane(out)

    def send(self, address: Address, pane_pid: int, *keys: str, in_mode: bool = False) -> bool:
        """Send keys, if the server finds at that moment that the pane is still the one that was looked at."""
        quoted = " ".join(_quoted(key) for key in keys)
        sent = self._if_same(address, pane_pid, f"send-keys -t {address.pane} {quoted}", in_mode=in_mode)
        if sent:
            while len(self._sent) >= _MOST_CLIENTS:
                del self._sent[next(iter(self._sent))]
            self._sent[address.socket, address.pane] = clock.wall()
        return sent

    def sent_at(self, address: Address) -> float:
        """Return when this process last sent a key to the pane, by the wall clock; 0: never."""
        return self._sent.get((address.socket, address.pane), 0.0)

    def _if_same(self, address: Address, pane_pid: int, command: str, *, in_mode: bool) -> bool:
        mode = "#{?pane_in_mode,1,0}" if in_mode else "#{?pane_in_mode,0,1}"
        same = f"#{{&&:#{{==:#{{pid}},{address.server}}},#{{==:#{{pane_pid}},{pane_pid}}}}}"
        alone = "#{||:#{?pane_synchronized,0,1},#{==:#{window_panes},1}}"  # else the key would reach a neighbour
        condition = f"#{{&&:{same},#{{&&:{alone},#{{&&:#{{?pane_dead,0,1}},{mode}}}}}}}"
        command = f"{command} ; display-message -p sent"
        out = self.call(
            address.socket, "if-shell", "-F", "-t", address.pane, condition, command, "display-message -p not-sent"
        )
        return out.strip() == "sent"

    def window(self, address: Address) -> str:
        """Return the window of the pane, as tmux names it: session, number, name."""
        form = "#{session_name}:#{window_index} #{window_name}"
        return self.call(address.socket, "display-message", "-p", "-t", address.pane, form).strip()[:80]

    def show(self, address: Address, text: str) -> None:
        """Show a text in the status line of the pane's clients until a key is pressed; the key is not lost."""
        words = ("-t", address.pane, "--", _literal(text))
        try:
            self.call(address.socket, "display-message", "-d", "8000", *words)
        except TmuxError:  # before tmux 3.2 there is no -d
            self.call(address.socket, "display-message", *words)


def _quoted(word: str) -> str:
    """For tmux's own parser: in single quotes nothing is special but the quote itself."""
    return "'" + word.replace("'", "'\\''") + "'"


def _literal(text: str) -> str:
    """For a word that tmux expands: no format, no time, no escape sequence, and no `;` that would end the command."""
    plain = "".join(char if char.isprintable() else " " for char in text[:_WIDEST])
    plain = plain.replace("#", "##").replace("%", "%%")
    return plain[:-1] + "\\;" if plain.endswith(";") else plain


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


def parse_pane(answer: str) -> PaneState:
    """Parse the answer to the command of `look`; raise TmuxError if it is none."""
    first, _, rest = answer.partition("\n")
    values = dict(zip(_FIELDS, first.split(_SEP), strict=False))
    sat: list[tuple[int, str]] = []
    control = False
    while rest.startswith(_CLIENT) and len(sat) < _MOST_CLIENTS:
        line, _, rest = rest.partition("\n")
        activity, pane, mode = [*line.removeprefix(_CLIENT).split(" "), "", ""][:3]
        control = control or mode == "1"
        sat.append((int(activity) if _is_number(activity) else 0, pane))
    if len(values) < len(_FIELDS) or not _is_number(values["pid"]) or not _is_number(values["pane_pid"] or "0"):
        raise TmuxError("tmux's answer cannot be read")
    return PaneState(
        int(values["pid"]),
        values["pane_id"],
        int(values["pane_pid"] or 0),
        values["pane_dead"] == "1",
        values["pane_in_mode"] not in ("", "0"),
        values["pane_tty"],
        sat,
        control,
        values["pane_synchronized"] not in ("", "0") and values["window_panes"] != "1",
        "\n".join(line[:_WIDEST] for line in rest.split("\n")[-_MOST_LINES:]),
    )


def _run(command: list[str], env: dict[str, str], timeout: float) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr. Raises TimeoutError, also for a program that never stops printing."""
    deadline = clock.monotonic() + timeout
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        try:
            said = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
            _read_all(said, deadline)
            code = process.wait(max(0.0, deadline - clock.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
            raise TimeoutError from None
    out, err = said.values()
    return code, bytes(out), bytes(err)


def _read_all(said: dict[int, bytearray], deadline: float) -> None:
    """Every descriptor to its end."""
    poll = select.poll()
    for fd in said:
        poll.register(fd, select.POLLIN)
    left = len(said)
    while left:
        ready = poll.poll(max(0.0, deadline - clock.monotonic()) * 1000)
        if not ready:
            raise TimeoutError
        for fd, _ in ready:
            chunk = os.read(fd, 1 << 16)
            said[fd] += chunk
            if len(said[fd]) > _MOST:
                raise TimeoutError
            if not chunk:
                poll.unregister(fd)
                left -= 1
