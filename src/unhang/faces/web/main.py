"""Starts the page: prints an address with a token, and serves everything behind it until the process is ended."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from typing import TYPE_CHECKING

import anyio
import uvicorn

from unhang.alerts import pages
from unhang.errors import UsageError
from unhang.faces.web.access import Door
from unhang.faces.web.app import application
from unhang.jobs.home import state_home
from unhang.jobs.local_server import (
    ConnectionLimits,
    configured,
    hosts_of,
    in_address,
    listen,
    serve_on,
)
from unhang.jobs.metrics import scraper_token

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from types import FrameType

    from unhang.fleet.link import FleetLink

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM, after printing the address with its token on stdout."""
    tls = _tls(args)
    public = _public(args.behind_proxy)
    limits = ConnectionLimits()
    sock, host, port = listen("--bind", args.bind, limits)
    if host not in _LOOPBACK and not tls and public is None:
        sock.close()
        raise UsageError(
            f"--bind: other machines reach {host}: give --tls-cert and --tls-key, or --behind-proxy ORIGIN"
        )
    door = _door(host, port, secure=tls, public=public, any_user=args.any_user or public is not None)
    home = state_home()
    app, end_streams = application(home, door, _fleet(home) if args.fleet else None)
    files = {"ssl_certfile": args.tls_cert, "ssl_keyfile": args.tls_key}
    config = configured(app, limits, lifespan="on", server_header=False, **files)
    if tls:
        try:
            config.load()
        except OSError as error:  # what is wrong with a certificate is an OSError, too
            raise UsageError(f"--tls-cert, --tls-key: {error}") from None
    shown = socket.gethostname() if host == "0.0.0.0" else in_address(host)
    origin = public or f"{'https' if tls else 'http'}://{shown}:{port}"
    address = f"{origin}/?token={door.token}"
    pages.announce(home, door.origins)
    print(address, flush=True)
    if sys.stderr.isatty():
        print("unhang: open this address in a browser of yours; Ctrl-C ends the page and no job", file=sys.stderr)
    if args.open:
        _open(address)
    anyio.run(serve_on, _PageServer(config, end_streams), sock)
    return 0


def _fleet(home: str) -> FleetLink:
    from unhang.fleet.link import FleetLink
    from unhang.fleet.note import server_of

    return FleetLink(server_of(home, os.environ))


class _PageServer(uvicorn.Server):
    """Ends the event streams when it is asked to end: they would go on for ever."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal. Called by the interpreter."""
        super().handle_exit(sig, frame)
        self._end_streams()


def _door(host: str, port: int, *, secure: bool, public: str | None, any_user: bool) -> Door:
    hosts = set(hosts_of(host, port))
    scheme = "https" if secure else "http"
    if host in ("0.0.0.0", "::"):
        hosts.add(f"{socket.gethostname()}:{port}")
    origins = {f"{scheme}://{each}" for each in hosts}
    if public is not None:
        hosts.add(public.partition("://")[2])
        origins.add(public)
    return Door(
        secrets.token_urlsafe(32),
        f"unhang_{port}",
        frozenset(hosts),
        frozenset(origins),
        secure or (public or "").startswith("https://"),
        scraper_token(state_home()),
        any_user,
    )


def _tls(args: argparse.Namespace) -> bool:
    if (args.tls_cert is None) != (args.tls_key is None):
        raise UsageError("--tls-cert and --tls-key: give both")
    for name, path in (("--tls-cert", args.tls_cert), ("--tls-key", args.tls_key)):
        if path is not None and not os.path.isfile(path):
            raise UsageError(f"{name}: no such file: {path}")
    return args.tls_cert is not None


def _public(origin: str | None) -> str | None:
    if origin is None:
        return None
    scheme, _, name = origin.rstrip("/").partition("://")
    if scheme not in ("http", "https") or not name or set(name) & set("/?#@ "):
        raise UsageError(f"--behind-proxy: expected an origin such as https://unhang.example.org, not {origin!r}")
    return f"{scheme}://{name.lower()}"


def _open(address: str) -> None:
    """In a browser, if there is one; it must not write into the terminal."""
    import webbrowser

    try:
        found = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        found = False
    if not found:
        print("unhang: no browser could be opened; open the address yourself", file=sys.stderr)
