"""Writing messages of Protocol Buffers (protobuf.dev, "Encoding"). protobuf.h does the same in C."""

from __future__ import annotations

from struct import pack

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    """Return a number of up to 64 bits; a negative one as its two's complement."""
    if 0 <= value < 0x4000:  # most are
        return bytes((value,)) if value < 0x80 else bytes((value & 0x7F | 0x80, value >> 7))
    value &= 2**64 - 1
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def uint(field: int, value: int) -> bytes:
    """Return a field with a number: an integer, enum or bool."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """Return a field with a number in 8 bytes."""
    return varint(field << 3 | _FIXED64) + pack("<Q", value & 2**64 - 1)


def double(field: int, value: float) -> bytes:
    """Return a field with a float."""
    return varint(field << 3 | _FIXED64) + pack("<d", value)


def message(field: int, *parts: bytes) -> bytes:
    """Return a field with a message of these parts, or with bytes."""
    content = b"".join(parts)
    return head_of_message(field, len(content)) + content


def head_of_message(field: int, size: int) -> bytes:
    """Return what stands before the content of a field with a message, or with bytes."""
    return varint(field << 3 | _BYTES) + varint(size)


def string(field: int, text: str) -> bytes:
    """Return a field with a text; what UTF-8 cannot encode is escaped."""
    return message(field, text.encode("utf-8", "backslashreplace"))
