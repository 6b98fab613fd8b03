"""The kernel's `print fmt`, a format for printf and its arguments, compiled to a function of a record.

What trace-cmd understands of it is understood here, with C's rules where trace-cmd deviates from them.
Anything else is a PrintError.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from funcgraph.kernel_format.c_expression import (
    LONG_BITS,
    ArgumentParser,
    Expression,
    ExpressionField,
    PrintError,
    UnknownNameError,
    Value,
    as_bytes,
    as_number,
    bit_ranges,
    wrap,
)

# Returns the symbol in which an address lies, and the offset in it; None: there is none.
Symbols: TypeAlias = Callable[[int], tuple[str, int] | None]
# Makes the text of a record.
Printer: TypeAlias = Callable[[bytes, Symbols], str]

_MAX_WIDTH = 4096
_AF_INET, _AF_INET6 = 2, 10
UNKNOWN = "?"  # instead of an argument in which a name is unknown


_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*)?)?(?P<length>hh|h|ll|l|L|q|z|j|t|Z)?"
    r"(?P<kind>[diuxXocsp%])"
    r"(?P<pointer>(?<=p)(?:I[46]c?|i[46]|ISp?c?|MF?|m|U[bBlL]?|h[CDN]?|bl?|[sSfFBKxe]))?",
)
_PRECISION = re.compile(r"\.")
_LENGTHS = {"hh": 8, "h": 16, "": 32}


@dataclass(frozen=True, slots=True)
class _Conversion:
    """A part of the format that prints arguments."""

    flags: str
    width: str | None
    precision: str | None
    bits: int
    kind: str  # letter of printf, or p with what follows it
    has_dot: bool

    def arguments(self) -> int:
        return 1 + (self.width == "*") + (self.precision == "*")


def compile_print(text: str, fields: Mapping[str, ExpressionField]) -> Printer:
    """Compile a print fmt.

    Args:
        text: the format's literals and its arguments, as they stand after `print fmt:`.
        fields: the event's fields, by name.

    Returns:
        A function that prints one record. It raises PrintError if the record does not fit.

    Raises:
        PrintError: it is not understood.
    """
    try:
        template, arguments = ArgumentParser(text, fields).parse()
    except RecursionError:
        raise PrintError("too deeply nested") from None
    parts = _parts(template)
    count = sum(part.arguments() for part in parts if isinstance(part, _Conversion))
    if count > len(arguments):
        raise PrintError(f"{count} arguments are printed, and there are {len(arguments)}")
    steps: list[str | tuple[_Conversion, list[Expression]]] = []
    rest = iter(arguments)
    for part in parts:
        if isinstance(part, str):
            steps.append(part)
        else:
            steps.append((part, [next(rest) for _ in range(part.arguments())]))

    def run(record: bytes, symbols: Symbols) -> str:
        try:
            return "".join(
                step if isinstance(step, str) else _print_one(step[0], step[1], record, symbols)
                for step in steps
            )
        except RecursionError:
            raise PrintError("too many operators") from None

    return run


def _parts(template: str) -> list[str | _Conversion]:
    parts: list[str | _Conversion] = []
    at = 0
    while (begin := template.find("%", at)) >= 0:
        match = _CONVERSION.match(template, begin)
        if not match:
            raise PrintError(f"the conversion {template[begin : begin + 8]!r} is unknown")
        parts.append(template[at:begin])
        at = match.end()
        if match["kind"] == "%":
            parts.append("%")
            continue
        if match["kind"] == "p" and template[at : at + 1].isalnum() and not match["pointer"]:
            raise PrintError(f"the conversion {template[begin : at + 1]!r} is unknown")
        pointer = match["pointer"] or ""
        if match["width"] and match["kind"] == "p" and not pointer.startswith(("h", "b")):
            raise PrintError("a pointer with a width")
        parts.append(
            _Conversion(
                match["flags"],
                match["width"],
                match["precision"],
                _LENGTHS.get(match["length"] or "", LONG_BITS),
                match["kind"] + pointer,
                bool(_PRECISION.search(match[0])),
            )
        )
    return [*parts, template[at:]]


def _print_one(how: _Conversion, arguments: Sequence[Expression], record: bytes, symbols: Symbols) -> str:
    try:
        values = [argument.evaluate(record) for argument in arguments]
    except UnknownNameError:
        return UNKNOWN
    flags, at = how.flags, 0
    width = _size(how.width, values, 0)
    at += how.width == "*"
    precision = _size(how.precision, values, at) if how.has_dot else None
    at += how.precision == "*"
    if width < 0:
        width, flags = -width, f"{flags}-"
    if width > _MAX_WIDTH or (precision or 0) > _MAX_WIDTH:
        raise PrintError("a column that is too wide")
    if precision is not None and precision < 0:
        precision = None
    value, expression = values[at], arguments[at]
    if how.kind == "s":
        text = _string(value)
        text = text if precision is None else text[:precision]
    elif how.kind == "c":
        text = chr(as_number(value) & 0xFF)
    elif how.kind.startswith(("ph", "pb")):
        return _dump(how.kind[1:], width, value if isinstance(value, bytes) else as_bytes(expression, record))
    elif how.kind.startswith("p"):
        text = _pointer(how.kind[1:], value, expression, record, symbols)
    else:
        return _integer(how, flags, width, precision, as_number(value))
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _size(text: str | None, values: Sequence[Value], at: int) -> int:
    if text == "*":
        return wrap(as_number(values[at]), 32, True)
    return int(text) if text else 0


def _string(value: Value) -> str:
    if isinstance(value, bytes):
        return value.partition(b"\0")[0].decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else f"{value & (1 << LONG_BITS) - 1:x}"


def _integer(how: _Conversion, flags: str, width: int, precision: int | None, value: int) -> str:
    signed = how.kind in "di"
    value = wrap(value, how.bits, signed)
    digits = format(abs(value), {"x": "x", "X": "X", "o": "o"}.get(how.kind, "d"))
    if precision is not None:
        digits = digits.rjust(precision, "0")
    sign = "-" if value < 0 else "+" if signed and "+" in flags else " " if signed and " " in flags else ""
    if "#" in flags and value and how.kind in "xXo":
        sign += {"x": "0x", "X": "0X", "o": "0"}[how.kind]
    if "0" in flags and "-" not in flags and precision is None:
        digits = digits.rjust(width - len(sign), "0")
    text = sign + digits
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _pointer(how: str, value: Value, expression: Expression, record: bytes, symbols: Symbols) -> str:
    """Print what %p means with these letters."""
    if how in ("", "x", "K", "e"):
        address = as_number(value) & (1 << LONG_BITS) - 1
        return f"{address:#x}" if address else "(nil)"
    if how in ("s", "f", "S", "F", "B"):
        address = as_number(value) & (1 << LONG_BITS) - 1
        found = symbols(address)
        if found is None:
            return f"{address:#x}"
        return found[0] if how in ("s", "f") else f"{found[0]}+{found[1]:#x}"
    data = value if isinstance(value, bytes) else as_bytes(expression, record)
    try:
        return _bytes_pointer(how, data)
    except ValueError:
        raise PrintError("an address of an impossible size") from None


def _bytes_pointer(how: str, data: bytes) -> str:
    if how.startswith("IS"):
        return _socket_address(data, with_port="p" in how)
    match how[0], how[1:2]:
        case "I", "4":
            return str(ipaddress.IPv4Address(data[:4]))
        case "i", "4":
            return ".".join(f"{byte:03d}" for byte in data[:4])
        case "I", "6":
            address = ipaddress.IPv6Address(data[:16])
            return str(address) if how.endswith("c") else address.exploded
        case "i", "6":
            return data[:16].hex()
        case "M", rest:
            return data[:6].hex("-" if rest == "F" else ":")
        case "m", _:
            return data[:6].hex()
        case "U", order:
            return _uuid(data[:16], order)
    raise PrintError(f"%p{how} is unknown")


def _socket_address(data: bytes, with_port: bool) -> str:
    """Return the address in a struct sockaddr; "" of a family that has none."""
    family = int.from_bytes(data[:2], "little")
    port = f":{int.from_bytes(data[2:4], 'big')}" if with_port else ""
    if family == _AF_INET:
        return f"{ipaddress.IPv4Address(data[4:8])}{port}"
    if family == _AF_INET6:
        address = ipaddress.IPv6Address(data[8:24])
        return f"[{address}]{port}" if port else str(address)
    return ""


def _dump(how: str, size: int, data: bytes) -> str:
    """Return bytes in hexadecimal digits (%*ph), or a bitmap (%*pb, %*pbl); `size`: bytes or bits."""
    if how.startswith("h"):
        return data[:size].hex(*{"h": " ", "hC": ":", "hD": "-"}.get(how, ""))
    bits = int.from_bytes(data, "little") & (1 << size) - 1
    if how == "b":
        return f"{bits:0{-(-size // 4)}x}"
    return bit_ranges(bits)


def _uuid(data: bytes, order: str) -> str:
    if len(data) < 16:
        raise PrintError("a UUID of an impossible size")
    if order in ("l", "L"):
        data = data[3::-1] + data[5:3:-1] + data[7:5:-1] + data[8:]
    digits = data.hex()
    text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return text.upper() if order in ("B", "L") else text
