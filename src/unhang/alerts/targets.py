"""Sends one message to one target. Runs in a process of its own, which is ended if it takes too long."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import shutil
import stat as modes
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING

from unhang.core import plain_text
from unhang.core.alerts.answers import ANSWER
from unhang.core.alerts.kinds import LOW, URGENT
from unhang.errors import UnhangError
from unhang.store import user_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from unhang.core.alerts.message import Button, Message
    from unhang.core.alerts.settings import Target

TIMEOUT = 15.0
_PRIORITY = {URGENT: "high", LOW: "low"}
_MOST_ACTIONS = 3  # of one message of ntfy's
_LONGEST_NTFY = 4000  # bytes: it makes a file that is attached of what is longer than 4096


class NotDelivered(UnhangError):
    """A message did not arrive. `for_good`: another try cannot help."""

    def __init__(self, reason: str, *, for_good: bool = False) -> None:
        super().__init__(reason)
        self.for_good = for_good


def send(target: Target, message: Message) -> None:
    """Deliver a message. Raises NotDelivered."""
    match target.kind:
        case "desktop":
            _desktop(message)
        case "osc":
            _osc(target.options["tty"], message)
        case "ntfy":
            _ntfy(target.options, message)
        case "webhook":
            _webhook(target.options, message)
        case "slack":
            _slack(target.options["url"], message)
        case "command":
            _run(list(target.command), json.dumps(message.value).encode() + b"\n")
        case "apprise":
            _apprise(target.options["url"], message)


def signature(secret: bytes, stamp: str, body: bytes) -> str:
    """Return how a receiver knows that a message is ours: HMAC-SHA256 over `TIMESTAMP.BODY`."""
    return "sha256=" + hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _desktop(message: Message) -> None:
    program = shutil.which("notify-send")
    if program is None:
        raise NotDelivered("notify-send is not installed (Debian: libnotify-bin)", for_good=True)
    urgency = "critical" if message.severity == URGENT else "normal"
    # notify-send replaces \074 and the like, after which a daemon would take it for markup
    body = _no_markup(message.body).replace("\\", "\\\\")
    words = [program, "--app-name=unhang", f"--urgency={urgency}", "--", message.title, body]
    _run(words, b"", environ=dict(os.environ) | user_bus(os.environ, f"/run/user/{os.getuid()}"))


def user_bus(environ: Mapping[str, str], runtime: str) -> dict[str, str]:
    """Return how a process that was started outside of the desktop (by cron, over ssh) reaches it."""
    known = environ.get("DBUS_SESSION_BUS_ADDRESS") or environ.get("XDG_RUNTIME_DIR")
    return {} if known or not os.path.exists(f"{runtime}/bus") else {"XDG_RUNTIME_DIR": runtime}


def _no_markup(text: str) -> str:
    """What a desktop or Slack would take for markup (a link, a call to a whole channel) is only text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _slack(url: str, message: Message) -> None:
    links = " · ".join(f"<{button.url}|{button.label}>" for button in message.buttons)
    text = "\n".join(line for line in (f"*{_no_markup(message.title)}*", _no_markup(message.body), links) if line)
    _post(url, {"Content-Type": "application/json"}, json.dumps({"text": text}).encode())


def _osc(tty: str, message: Message) -> None:
    """OSC 9 and 777: what terminals show as a notification of their own."""
    try:
        fd = os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotDelivered(f"cannot write to {tty}: {error.strerror}") from None
    try:
        if not modes.S_ISCHR(os.fstat(fd).st_mode) or not os.isatty(fd):
            raise NotDelivered(f"{tty} is not a terminal", for_good=True)
        title = plain_text.one_line(message.title, 200).replace(";", ",")
        body = plain_text.one_line(message.body.replace("\n", " · "), 400).replace(";", ",")
        os.write(fd, f"\x1b]9;{title}: {body}\x07\x1b]777;notify;{title};{body}\x07".encode())
    except BlockingIOError:
        raise NotDelivered(f"{tty} does not take any output now") from None
    finally:
        os.close(fd)


def _ntfy(options: Mapping[str, str], message: Message) -> None:
    headers = {
        "Title": _header(message.title),
        "Priority": _PRIORITY.get(message.severity, "default"),
        "Tags": "hourglass_flowing_sand",
        "X-Unhang-Key": _header(message.key),
    }
    if message.buttons:
        headers["Actions"] = "; ".join(_ntfy_action(button) for button in message.buttons[:_MOST_ACTIONS])
    if "token_file" in options:
        headers["Authorization"] = f"Bearer {_secret(options['token_file']).decode('ascii', 'replace')}"
    _post(options["url"], headers, plain_text.whole_end(message.body.encode()[:_LONGEST_NTFY]))


def _ntfy_action(button: Button) -> str:
    """A button of ntfy's: one tap acts. An answer has to be typed, so its button opens the page that asks for it."""
    if button.act == ANSWER:
        return f"view, {button.label}, {button.url}"
    return f"http, {button.label}, {button.url}, method=POST, clear=true"


def _webhook(options: Mapping[str, str], message: Message) -> None:
    stamp = str(int(time.time()))
    body = json.dumps(message.value | {"sentAt": int(stamp)}).encode()
    headers = {
        "Content-Type": "application/json",
        "X-Unhang-Timestamp": stamp,
        "Idempotency-Key": _header(message.key),
    }
    if "secret_file" in options:
        headers["X-Unhang-Signature"] = signature(_secret(options["secret_file"]), stamp, body)
    _post(options["url"], headers, body)


def _apprise(url: str, message: Message) -> None:
    try:
        import apprise
    except ImportError:
        raise NotDelivered("Apprise is not installed: pip install 'unhang[alerts]'", for_good=True) from None
    sender = apprise.Apprise()
    if not sender.add(url):
        raise NotDelivered("Apprise does not know this address", for_good=True)
    links = "".join(f"\n{button.label}: {button.url}" for button in message.buttons)
    if not sender.notify(title=message.title, body=message.body + links):
        raise NotDelivered("Apprise could not deliver it")


def _secret(path: str) -> bytes:
    text = user_file.read(os.path.expanduser(path))
    if text is None or not text.strip():
        raise NotDelivered(f"{path}: no such file, or empty")
    return text.strip().encode()


def _header(text: str) -> str:
    """A header's value; what is not ASCII is encoded as RFC 2047 says."""
    plain = plain_text.one_line(text, 200)
    return (
        plain if plain.isascii() and "=?" not in plain else f"=?UTF-8?B?{base64.b64encode(plain.encode()).decode()}?="
    )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A message goes where the user said, or nowhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _without_login(url: str) -> tuple[str, dict[str, str]]:
    """Return an address without user and password, and the header that has them instead.

    urllib takes them for a part of the host's name, and asks the name server for that.
    """
    parts = urllib.parse.urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    plain = urllib.parse.unquote_to_bytes(login if ":" in login else f"{login}:")
    return parts._replace(netloc=host).geturl(), {"Authorization": f"Basic {base64.b64encode(plain).decode()}"}


def _post(url: str, headers: Mapping[str, str], body: bytes) -> None:
    try:
        url, login = _without_login(url)
        request = urllib.request.Request(url, body, login | dict(headers) | {"User-Agent": "unhang"}, method="POST")
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT) as answer:
            answer.read(1 << 16)
    except urllib.error.HTTPError as error:
        error.close()
        for_good = 300 <= error.code < 500 and error.code not in (408, 425, 429)
        raise NotDelivered(f"the receiver answered {error.code}", for_good=for_good) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        said = plain_text.one_line(str(getattr(error, "reason", None) or error), 300)
        raise NotDelivered(said or type(error).__name__) from None


def _run(words: list[str], data: bytes, environ: Mapping[str, str] | None = None) -> None:
    try:
        done = subprocess.run(words, input=data, capture_output=True, timeout=TIMEOUT, check=False, env=environ)
    except FileNotFoundError:
        raise NotDelivered(f"{words[0]}: not found", for_good=True) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotDelivered(str(error)[:200]) from None
    if done.returncode:
        said = plain_text.last_line(done.stderr)
        raise NotDelivered(f"{os.path.basename(words[0])} exited with {done.returncode}: {said}")
