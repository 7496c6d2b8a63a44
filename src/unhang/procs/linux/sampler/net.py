"""Sockets, asked from the kernel directly (sock_diag, the way `ss` does it) without starting a process.

For TCP the answer holds tcp_info: bytes received and acknowledged, and how long ago the last byte came. That
matters because recv() counts in no file of /proc. For Unix sockets it holds the other end. Another network
namespace cannot be asked this way; there /proc/PID/net/tcp gives addresses and states, without counters.
"""

from __future__ import annotations

import os
import socket
import struct

from unhang.core.diagnosis.samples import Socket
from unhang.procs.linux.procfs import read_all

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST_DUMP = 0x301
_INET_DIAG_INFO = 2
_UNIX_SHOW_NAME_PEER = 0x01 | 0x04
# A busy proxy has a hundred thousand sockets; after this much answer we have seen enough of the machine.
MOST_ANSWER = 8 << 20

STATES = {
    1: "ESTABLISHED", 2: "SYN_SENT", 3: "SYN_RECV", 4: "FIN_WAIT1", 5: "FIN_WAIT2", 6: "TIME_WAIT",
    7: "CLOSE", 8: "CLOSE_WAIT", 9: "LAST_ACK", 10: "LISTEN", 11: "CLOSING", 12: "NEW_SYN_RECV",
}  # fmt: skip


def sockets_of(links: dict[str, int], *, inet: bool = True, unix: bool = True) -> dict[str, Socket]:
    """Return what is known of sockets; `links` maps "socket:[inode]" to a pid that holds it.

    What is not found anywhere is left out.
    """
    if not links:
        return {}
    found: dict[str, Socket] = {}
    if unix:
        found.update(_unix(links))
    if inet and len(found) < len(links):
        table = _inet_tables()
        _pair_up(table)
        found.update({link: table[link] for link in links if link in table})
        foreign = {pid for link, pid in links.items() if link not in found and _other_namespace(pid)}
        for pid in list(foreign)[:16]:
            found.update({link: seen for link, seen in _from_proc(pid).items() if link in links})
    return found


def _inet_tables() -> dict[str, Socket]:
    table: dict[str, Socket] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol, name in ((socket.IPPROTO_TCP, "tcp"), (socket.IPPROTO_UDP, "udp")):
            extension = 1 << (_INET_DIAG_INFO - 1) if name == "tcp" else 0
            request = struct.pack("=BBBxI48x", family, protocol, extension, 0xFFFFFFFF)
            for body in _dump(request):
                if len(body) >= 72:
                    link, seen = _inet(body, name)
                    table[link] = seen
    return table


def _inet(body: bytes, name: str) -> tuple[str, Socket]:
    family, state = body[0], body[1]
    sport, dport = struct.unpack_from("!HH", body, 4)
    size = 4 if family == socket.AF_INET else 16
    local, remote = body[8 : 8 + size], body[24 : 24 + size]
    inode: int = struct.unpack_from("=I", body, 68)[0]
    received = sent = since = said = segments = None
    info = _attributes(body, 72).get(_INET_DIAG_INFO, b"")
    if len(info) >= 136 and state not in (2, 10):
        said, since = struct.unpack_from("=I", info, 44)[0] / 1000, struct.unpack_from("=I", info, 52)[0] / 1000
        sent, received = struct.unpack_from("=QQ", info, 120)
    if received is not None and len(info) >= 156:
        segments = struct.unpack_from("=I", info, 152)[0]
    seen = Socket(
        name,
        _address(local, sport),
        _address(remote, dport) if dport else "",
        STATES.get(state, str(state)),
        received,
        sent,
        since,
        said,
        unread=struct.unpack_from("=I", body, 56)[0] if state not in (2, 10) else 0,
        segments=segments,
    )
    return f"socket:[{inode}]", seen


def _address(raw: bytes, port: int) -> str:
    if len(raw) == 4:
        return f"{socket.inet_ntop(socket.AF_INET, raw)}:{port}"
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return f"{socket.inet_ntop(socket.AF_INET, raw[12:])}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, raw)}]:{port}"


def _pair_up(table: dict[str, Socket]) -> None:
    """Two sockets of this machine that talk to each other are each other's peer."""
    ends = {(seen.local, seen.remote): link for link, seen in table.items() if seen.remote}
    for link, seen in list(table.items()):
        if seen.remote and (peer := ends.get((seen.remote, seen.local))) is not None and peer != link:
            table[link] = seen._replace(peer=peer)


def _unix(links: dict[str, int]) -> dict[str, Socket]:
    request = struct.pack("=BBxxIII8x", socket.AF_UNIX, 0, 0xFFFFFFFF, 0, _UNIX_SHOW_NAME_PEER)
    found: dict[str, Socket] = {}
    for body in _dump(request):
        if len(body) < 16:
            continue
        link = f"socket:[{struct.unpack_from('=I', body, 4)[0]}]"
        if link not in links:
            continue
        attributes = _attributes(body, 16)
        name = attributes.get(0, b"").strip(b"\0").decode("utf-8", "replace")
        peer = attributes.get(2, b"")
        other = f"socket:[{struct.unpack('=I', peer[:4])[0]}]" if len(peer) >= 4 else ""
        found[link] = Socket("unix", name, "", STATES.get(body[2], str(body[2])), peer=other)
    return found


def _attributes(body: bytes, offset: int) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while offset + 4 <= len(body):
        size, kind = struct.unpack_from("=HH", body, offset)
        if size < 4:
            break
        found[kind] = body[offset + 4 : offset + size]
        offset += (size + 3) & ~3
    return found


def _dump(request: bytes) -> list[bytes]:
    """The bodies of all answers; empty where the kernel or a seccomp filter refuses."""
    bodies: list[bytes] = []
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as ask:
            ask.settimeout(1.0)
            head = struct.pack("=IHHII", 16 + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 1, 0)
            ask.send(head + request)
            total = 0
            while total < MOST_ANSWER:
                data = ask.recv(1 << 16)
                total += len(data)
                offset = 0
                while offset + 16 <= len(data):
                    size, kind = struct.unpack_from("=IH", data, offset)
                    if kind in (2, 3) or size < 16:  # NLMSG_ERROR, NLMSG_DONE
                        return bodies
                    bodies.append(data[offset + 16 : offset + size])
                    offset += (size + 3) & ~3
    except OSError:
        pass
    return bodies


def _other_namespace(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    except OSError:
        return False


def _from_proc(pid: int) -> dict[str, Socket]:
    found: dict[str, Socket] = {}
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for line in read_all(f"/proc/{pid}/net/{name}").splitlines()[1:]:
            words = line.split()
            try:
                local, remote = _hex_address(words[1]), _hex_address(words[2])
                state, inode = int(words[3], 16), int(words[9])
            except (IndexError, ValueError):
                continue
            family = name[:3]
            shown = "" if remote.endswith(":0") else remote
            found[f"socket:[{inode}]"] = Socket(family, local, shown, STATES.get(state, str(state)))
    _pair_up(found)
    return found


def _hex_address(word: bytes) -> str:
    host, port = word.split(b":")
    raw = bytes.fromhex(host.decode())
    ordered = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    return _address(ordered, int(port, 16))
