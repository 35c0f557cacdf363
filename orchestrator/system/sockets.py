"""Sockets of this computer: the only module that opens one, or says how it is kept or ended."""

import os
import socket

Socket = socket.socket
LOOPBACK = "127.0.0.1"
# A machine that vanished is an error within half a minute.
KEEPALIVE = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)


def address_of(host: str) -> str:
    """The IPv4 address of a machine. OSError if its name is not known."""
    return socket.gethostbyname(host)


def listener(port: int | None) -> Socket:
    """Listens at a port of this computer alone, at any free one if None. OSError if it is taken."""
    return socket.create_server((LOOPBACK, port or 0), backlog=128)


def require_free(port: int) -> None:
    """OSError if a port of this computer is in use."""
    with socket.socket() as probe:
        # A port that was in use a minute ago (TIME_WAIT) would otherwise seem taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((LOOPBACK, port))


def require_listening(path: str, silence_s: float) -> None:
    """OSError if nothing listens on the Unix socket at `path`."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(silence_s)
        probe.connect(path)


def end_sending(connection: Socket) -> None:
    """Tells the peer that no more bytes come; its answers are still received."""
    connection.shutdown(socket.SHUT_WR)


def end(connection: Socket) -> None:
    """Ends both directions: whoever waits at the socket, in any thread, waits no longer."""
    connection.shutdown(socket.SHUT_RDWR)


def end_descriptor(descriptor: int) -> None:
    """Ends both directions of a socket that a library owns, which closes it later."""
    # A copy is closed here, because closing the descriptor itself would take it from its owner.
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        end(copy)
