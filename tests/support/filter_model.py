"""A slow evaluator of event filters over Python values, and random filters.

It shares no code with the engine's.

A filter is a tree:

    Compare(field, operator, literal): the field's value is compared with None, a bool, a number or a str
    Alone(field): the field as a condition
    Not(part), Both(parts), Either(parts)
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from event_image import FAULT, INTEGERS, Field, Object, Sized, Word, kept


@dataclass(frozen=True)
class Compare:
    field: str
    operator: str
    literal: Any


@dataclass(frozen=True)
class Alone:
    field: str


@dataclass(frozen=True)
class Not:
    part: Node


@dataclass(frozen=True)
class Both:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Either:
    parts: tuple[Node, ...]


Node: TypeAlias = Compare | Alone | Not | Both | Either


# ---- its text


def text_of(node: Node, rng: random.Random, weak: tuple[type, ...] = ()) -> str:
    """Return a filter's text, with random blanks, quotes, forms of numbers and needless parentheses.

    What is of a type in `weak` gets the parentheses that it needs.
    """

    def blank() -> str:
        return rng.choice(["", "", " ", "  ", "\t"])

    def joined(parts: Sequence[Node], operator: str, weak: tuple[type, ...]) -> str:
        return f"{blank()}{operator}{blank()}".join(text_of(part, rng, weak) for part in parts)

    match node:
        case Both():
            found = joined(node.parts, "&&", (Either,))
        case Either():
            found = joined(node.parts, "||", ())
        case Not():
            found = f"!{blank()}{text_of(node.part, rng, (Both, Either))}"
        case Alone():
            found = node.field
        case Compare():
            found = f"{node.field}{blank()}{node.operator}{blank()}{_literal_text(node.literal, rng)}"
    return f"({blank()}{found}{blank()})" if isinstance(node, weak) or rng.random() < 0.2 else found


def _literal_text(literal: Any, rng: random.Random) -> str:
    if literal is None or isinstance(literal, bool):
        return str(literal) if rng.random() < 0.5 or literal is None else str(literal).lower()
    if isinstance(literal, float):
        return repr(literal)
    if isinstance(literal, int):
        sign = "-" if literal < 0 else ""
        forms = ["{}", "0x{:x}", "0X{:X}", "0{:o}"]
        # 23 characters are the most that a number has.
        return sign + rng.choice(forms[: 4 if literal > -(1 << 63) else 3]).format(abs(literal))
    quote = rng.choice([each for each in "'\"" if each not in literal])
    return f"{quote}{literal}{quote}"


# ---- its value


def evaluate(node: Node, fields: Mapping[str, Field], values: Mapping[str, Any]) -> bool:
    """Return whether a filter accepts these values. A field that is not in `values` could not be read."""
    match node:
        case Both():
            return all(evaluate(part, fields, values) for part in node.parts)
        case Either():
            return any(evaluate(part, fields, values) for part in node.parts)
        case Not():
            return not evaluate(node.part, fields, values)
        case Alone():
            return _truth(values.get(node.field, FAULT))
        case Compare(operator="!="):
            return not evaluate(Compare(node.field, "==", node.literal), fields, values)
    field, value = fields[node.field], values.get(node.field, FAULT)
    if value is FAULT:
        return False
    if node.literal is None:
        return value is None
    if not isinstance(node.literal, str):
        return _number(field, value, node.operator, node.literal)
    if field.type in ("char", "string"):
        text = value.encode() if field.type == "string" else bytes(value)
        text = text.partition(b"\0")[0]
        return glob(node.literal, text) if node.operator == "~" else node.literal.encode() == text
    return _text(value, node.operator, node.literal)


def _truth(value: Any) -> bool:
    match value:
        case Object():
            return True
        case Sized():
            return value.length != 0
        case Word():
            return value.number != 0
    return value is not FAULT and bool(value)


def _number(field: Field, value: Any, operator: str, literal: float) -> bool:
    is_big = field.type == "value" and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63
    if isinstance(value, Word):
        value = value.number
    if field.type == "object" and isinstance(value, Sized | Object):
        value = value.length if isinstance(value, Sized) else value.address
    if not isinstance(value, int | float):
        return False
    if operator == "&":
        return isinstance(value, int) and not is_big and (value & int(literal)) != 0
    if is_big:
        value = _big(int(value), literal)
    return {
        "==": value == literal,
        "<": value < literal,
        "<=": value <= literal,
        ">": value > literal,
        ">=": value >= literal,
    }[operator]


def _big(value: int, literal: float) -> float:
    """Return how an int compares of which only the sign and the bits are known; NaN if these do not tell."""
    sign = -1 if value < 0 else 1
    bits = value.bit_length()
    if isinstance(literal, int):
        tells = literal < 1 << 63 or sign < 0 or bits > 64
    else:
        tells = literal * sign < 0 or abs(literal) < 1 << (bits - 1)
    return math.inf * sign if tells else math.nan


def _text(value: Any, operator: str, literal: str) -> bool:
    if isinstance(value, Sized | Object):
        value = value.type
        beginning = value.encode()
    elif isinstance(value, str | bytes):
        beginning = kept(value)
    else:
        return False
    if operator == "~":
        return glob(literal, beginning)
    length = len(literal.encode()) if isinstance(value, bytes) else len(literal)
    return length == len(value) and literal.encode().startswith(beginning)


def _points(text: bytes) -> list[int]:
    """Return the characters of UTF-8; a byte that begins none is above all of them."""
    decoded = text.decode(errors="surrogateescape")
    return [0x110000 + ord(c) - 0xDC00 if 0xDC80 <= ord(c) <= 0xDCFF else ord(c) for c in decoded]


def glob(pattern: str, text: bytes) -> bool:
    """Return whether a text matches; the set of reachable places in it is followed through the pattern."""
    if pattern.startswith("!"):
        return not glob_part(pattern[1:], text)
    return glob_part(pattern, text)


def glob_part(pattern: str, text: bytes) -> bool:
    points = _points(text)
    places = {0}
    at = 0
    while at < len(pattern):
        if pattern[at] == "*":
            places = {later for place in places for later in range(place, len(points) + 1)}
            at += 1
            continue
        allowed, at = _element(pattern, at)
        places = {place + 1 for place in places if place < len(points) and allowed(points[place])}
    return len(points) in places


def _element(pattern: str, at: int) -> tuple[Any, int]:
    """Return which characters the element at a place allows, and where the next one is."""
    character = pattern[at]
    if character == "?":
        return lambda point: True, at + 1
    if character == "[":
        is_not = pattern[at + 1 : at + 2] == "!"
        start = at + 1 + is_not
        ranges = []
        while start < len(pattern) and (not ranges or pattern[start] != "]"):
            is_range = pattern[start + 1 : start + 2] == "-" and pattern[start + 2 : start + 3] not in (
                "",
                "]",
            )
            ranges.append((ord(pattern[start]), ord(pattern[start + 2 if is_range else start])))
            start += 3 if is_range else 1
        if start < len(pattern):
            return lambda point: any(low <= point <= high for low, high in ranges) != is_not, start + 1
    if character == "\\" and at + 1 < len(pattern):
        at += 1
    one = ord(pattern[at])
    return lambda point: point == one, at + 1


# ---- random ones

_WORDS = [
    "",
    "a",
    "ab",
    "abc",
    "b",
    "é",
    "aé",
    "😀",
    "a b",
    "x" * 47 + "é",
    "y" * 60,
    "y" * 61,
    "None",
    "]",
    "a-b",
    "\\",
]
_GLOBS = [
    "*",
    "a*",
    "*b",
    "?",
    "??",
    "*é*",
    "[ab]*",
    "[!a]*",
    "[^a]",
    "!a*",
    "[a",
    "[]a]",
    "[a-c]?",
    "a\\*",
    "\\",
    "*?*b",
    "y*",
]
_NUMBERS = [0, 1, 2, 5, 127, 128, 255, 256, 1 << 31, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
_REALS = [0.0, 0.5, 1.0, -1.5, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300, 5.0]
_BIG = [1 << 63, (1 << 64) - 1, 1 << 64, -(1 << 63) - 1, -(1 << 64), 1 << 100, -(1 << 1100)]


def _limits(name: str) -> tuple[int, int]:
    bits = int(name[1:]) if name not in ("bool", "char") else 8
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def _integer(low: int, high: int, rng: random.Random) -> int:
    near = [number for n in _NUMBERS for number in (n, -n, n - 1) if low <= number <= high]
    return rng.choice(near) if rng.random() < 0.8 else rng.randint(low, high)


def random_value(field: Field, rng: random.Random) -> Any:
    """Return a value that a field of this type can have."""
    if field.count:
        return list(rng.choice(_WORDS).encode()[: field.count].ljust(field.count, b"\0"))
    match field.type:
        case "f64":
            return rng.choice([*_REALS, math.nan, math.inf, -math.inf])
        case "string":
            return rng.choice(_WORDS)
        case "bool":
            return rng.choice([0, 1])
        case "object":
            return rng.choice(
                [Object("Cart", 5), Object("a", 1 << 63), Sized("list", 2), Sized("é", 0), FAULT]
            )
        case "value":
            return _random_untyped(rng)
    return _integer(*_limits(field.type), rng)


def _random_untyped(rng: random.Random) -> Any:
    word = rng.choice(_WORDS)
    junk = bytes(rng.choice(b"ab\xc3\xa9\xff\x80") for _ in range(rng.randint(0, 4)))
    simple = [None, True, False, FAULT, word, word.encode(), junk, rng.choice(_REALS), math.nan]
    objects = [Object("Cart", 5), Sized("list", 0), Sized("a", 2), Word(rng.choice(_NUMBERS))]
    numbers = [_integer(-(1 << 63), (1 << 63) - 1, rng), rng.choice(_BIG), rng.choice(_BIG)]
    return rng.choice([*simple, *objects, *numbers])


def random_compare(field: Field, rng: random.Random) -> Node:
    """Return a comparison that the field's type has."""
    equal = ["==", "!="]
    ordered = [*equal, "<", "<=", ">", ">="]

    def text() -> Node:
        operator = rng.choice([*equal, "~", "~"])
        return Compare(field.name, operator, rng.choice(_GLOBS if operator == "~" else _WORDS))

    def integer(low: int, high: int) -> Node:
        return Compare(field.name, rng.choice([*ordered, "&"]), _integer(low, high, rng))

    def real() -> Node:
        return Compare(field.name, rng.choice(ordered), rng.choice(_REALS))

    if field.count or field.type == "string":
        return text()
    s64, u64 = (-(1 << 63), (1 << 63) - 1), (0, (1 << 64) - 1)
    none = Compare(field.name, rng.choice(equal), None)
    condition = [Alone(field.name), Compare(field.name, rng.choice(equal), rng.choice([True, False]))]
    match field.type:
        case "f64":
            return rng.choice([real(), Compare(field.name, rng.choice(ordered), _integer(*s64, rng))])
        case "object":
            return rng.choice([text(), integer(*u64), none])
        case "value":
            return rng.choice([text(), text(), integer(*s64), integer(*u64), real(), none, *condition])
        case "bool":
            return rng.choice([integer(*u64), *condition])
    return integer(*(s64 if field.type[0] == "s" else u64))


def random_fields(rng: random.Random) -> list[Field]:
    """Return the fields of an event."""
    types = [*INTEGERS, "char", "f64", "string", "object", *["value"] * 4]
    fields = [Field(f"f{i}", rng.choice(types)) for i in range(rng.randint(1, 5))]
    return [*fields, Field("chars", "char", 4)] if rng.random() < 0.3 else fields


def random_filter(fields: Sequence[Field], rng: random.Random, depth: int = 3) -> Node:
    """Return a filter over these fields."""
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return random_compare(rng.choice(fields), rng)
    if kind < 0.45:
        return Not(random_filter(fields, rng, depth - 1))
    parts = tuple(random_filter(fields, rng, depth - 1) for _ in range(rng.randint(2, 3)))
    return Both(parts) if kind < 0.75 else Either(parts)
