"""Recorded values as short texts: those that calls are grouped by."""

from __future__ import annotations

import math
import struct

from funcgraph.names import printable
from funcgraph.tracedata.values import PartialValue, Value, decode_values

# enum fg_value_tag
_NONE, _TRUE, _FALSE, _INT, _BIGINT, _FLOAT = 1, 2, 3, 5, 6, 7
_STR, _BYTES, _SIZED, _OBJECT, _UNBOUND, _MORE, _WORD = range(8, 15)
_SHOWN, _MEMBER, _HIDDEN, _FAULT = 17, 18, 22, 23
_SIZE = struct.Struct("<BBh")
_NO_EXPONENT = -(2**15)  # of a float that is zero, infinite or not a number
_PLAIN = {
    _NONE: "None",
    _TRUE: "True",
    _FALSE: "False",
    _UNBOUND: "<unbound>",
    _MORE: "...",
    _HIDDEN: "<redacted>",
    _FAULT: "(fault)",
}


def value_text(value: Value) -> str:
    """Return a value as a report prints it."""
    if not isinstance(value, PartialValue):
        return printable(repr(value))
    return printable(str(value))


def recorded_text(recorded: bytes) -> str:
    """Return the text of the first of some recorded values."""
    values = decode_values(recorded)
    return value_text(values[0]) if values else "?"


def size_text(key: bytes) -> str:
    """Return what a group by size has: `128..255`, `str of 16..31`, `list(64..127)`."""
    if len(key) < _SIZE.size:
        return "?"
    tag, negative, exponent = _SIZE.unpack_from(key)
    name = printable(key[_SIZE.size :].decode("utf-8", "backslashreplace"))
    if tag in _PLAIN:
        return _PLAIN[tag]
    if tag in (_OBJECT, _SHOWN):
        return f"<{name}>"
    if tag == _MEMBER:
        return name
    if tag == _FLOAT:
        return _float_text(bool(negative), exponent)
    span = _span(exponent)
    if tag in (_STR, _BYTES):
        return f"{'str' if tag == _STR else 'bytes'} of {span}"
    if tag == _SIZED:
        return f"{name}({span})"
    if tag == _BIGINT:
        return f"{'-' if negative else ''}int of {span} bits"
    return f"-({span})" if negative and exponent > 0 else f"{'-' if negative else ''}{span}"


def _span(exponent: int) -> str:
    if exponent < 1:
        return "0" if exponent < 0 else "1"
    return f"{1 << exponent}..{(2 << exponent) - 1}"


def _float_text(is_negative: bool, exponent: int) -> str:
    if exponent == _NO_EXPONENT:
        return "0.0, inf or nan"
    sign = "-" if is_negative else ""
    return f"{sign}{math.ldexp(1.0, exponent):.3g} to {sign}{math.ldexp(1.0, exponent + 1):.3g}"
