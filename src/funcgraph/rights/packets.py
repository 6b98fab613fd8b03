"""What a helper and its owner send each other: small JSON objects, each with one descriptor at most.

Data of any size travels in files in memory: their reader never waits for anybody.
"""

from __future__ import annotations

import array
import errno
import json
import os
import socket
from typing import Any

__all__ = ["PacketError", "memory_of_names", "memory_with", "names_in", "receive", "send"]

_MOST_BYTES = 1 << 16
_MOST_ROOM = socket.CMSG_SPACE(array.array("i").itemsize)


class PacketError(OSError):
    """A packet was cut: it is too long, or this process has no room for its descriptor."""


def send(stream: socket.socket, message: dict[str, Any], fd: int | None = None) -> None:
    """Send one packet."""
    rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    stream.sendmsg([json.dumps(message).encode()], rights)


def receive(stream: socket.socket) -> tuple[dict[str, Any], int | None]:
    """Return one packet, and its descriptor, which is the caller's now.

    Raises:
        EOFError: the other side has ended.
        PacketError: the packet was cut.
    """
    data, rights, flags, _ = stream.recvmsg(_MOST_BYTES, _MOST_ROOM, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for _level, _kind, content in rights:
        fds.frombytes(content)
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
        for fd in fds:
            os.close(fd)
        raise PacketError(errno.EMFILE, "a packet was cut: too many files are open")
    if not data:
        raise EOFError
    message: dict[str, Any] = json.loads(data)
    return message, fds[0] if fds else None


def memory_with(data: bytes) -> int:
    """Return the descriptor of a new file in memory that has these bytes, at its beginning."""
    fd = os.memfd_create("funcgraph", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


def memory_of_names(names: list[str]) -> int:
    """Return the descriptor of a new file in memory that has these names."""
    return memory_with(os.fsencode("".join(f"{name}\0" for name in names)))


def names_in(data: bytes) -> list[str]:
    """Return the names that memory_of_names() has written."""
    return [os.fsdecode(name) for name in data.split(b"\0")[:-1]]
