"""What goes over a control socket: the same for both ends.

A frame is its length, a little-endian 32-bit number, and so many bytes of message. A message is the length of
its header, likewise, the header, which is JSON, and the body: bytes that are read or written.

    request   {"op": "read", "file": 3, "offset": 0, "size": 4096}
    answer    {"ok": null}, and the bytes as its body
              {"errno": 2, "error": "No such file or directory"}

The client asks, the server answers, in turn. The first request is "hello", with the client's version.

One kind of message is none of these: a wait for records, which the native thread answers without Python.
"""

from __future__ import annotations

import json
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # whoever serves has its sockets in C
    import socket

__all__ = [
    "LENGTH",
    "MAX_BODY",
    "MAX_FRAME",
    "VERSION",
    "WireError",
    "framed",
    "pack",
    "receive",
    "unpack",
    "wait_message",
]

VERSION = 1
#: The most that one request reads or writes.
MAX_BODY = 1 << 20
#: The longest message. src/binding/control/client.h has it too.
MAX_FRAME = MAX_BODY + (1 << 16)
LENGTH = struct.Struct("<I")
_WAIT = struct.Struct("<I4sII")  # src/binding/control/wait.h has it too


class WireError(ValueError):
    """Bytes are no message."""


def pack(header: dict[str, object], body: bytes = b"") -> bytes:
    """Return a message.

    Raises:
        WireError: it would be longer than MAX_FRAME.
        TypeError: the header cannot be JSON.
    """
    text = json.dumps(header, separators=(",", ":")).encode("ascii")  # lone surrogates as \\udXXX
    message = b"".join((LENGTH.pack(len(text)), text, body))
    if len(message) > MAX_FRAME:
        raise WireError(f"a message of {len(message)} bytes: at most {MAX_FRAME} fit into a frame")
    return message


def unpack(message: bytes, most_brackets: int | None = None) -> tuple[dict[str, object], bytes]:
    """Return header and body of a message.

    Args:
        most_brackets: how many lists and objects the header may have at most; None: any number.

    Raises:
        WireError: it is damaged.
    """
    if len(message) < LENGTH.size:
        raise WireError(f"a message of {len(message)} bytes has no header")
    end = LENGTH.size + LENGTH.unpack_from(message)[0]
    if end > len(message):
        raise WireError(f"a header of {end - LENGTH.size} bytes in a message of {len(message)}")
    text = message[LENGTH.size : end]
    if most_brackets is not None and text.count(b"[") + text.count(b"{") > most_brackets:
        raise WireError(f"the header has more than {most_brackets} lists and objects")
    try:
        header = json.loads(text.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"the header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise WireError(f"the header is no JSON object but {type(header).__name__}")
    return header, message[end:]


def framed(message: bytes) -> bytes:
    """Return a message with its length before it, as it is sent."""
    return LENGTH.pack(len(message)) + message


def wait_message(handle: int, wakes: int) -> bytes:
    """Return the message that waits for news of an instance.

    The answer is true if there is some, false if there was none for a second.

    Args:
        handle: of the instance.
        wakes: what the operation "wait" said.
    """
    return _WAIT.pack(0, b"WAIT", handle, wakes)


def receive(stream: socket.socket) -> bytes:
    """Return the next message of a connection. The connection's timeout is for the whole message.

    Raises:
        EOFError: it has ended.
        WireError: the frame is too long.
        OSError: the connection is broken, or has a timeout, which has come.
    """
    timeout_s = stream.gettimeout()
    end_s = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        size = LENGTH.unpack(_receive(stream, LENGTH.size, end_s))[0]
        if size > MAX_FRAME:
            raise WireError(f"a frame of {size} bytes")
        return _receive(stream, size, end_s)
    finally:
        stream.settimeout(timeout_s)


def _receive(stream: socket.socket, size: int, end_s: float | None) -> bytes:
    """Return so many bytes. Descriptors that come with them are closed by the kernel: nobody takes them."""
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        if end_s is not None:
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            stream.settimeout(left_s)
        received = stream.recv_into(rest)
        if not received:
            raise EOFError
        rest = rest[received:]
    return bytes(data)
