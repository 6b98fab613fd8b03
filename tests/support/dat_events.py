"""Events that programs define in a trace.dat, and at random.

Written from docs/reference/trace-file.md, and independent of the code in C. Texts are only of what
`random_value` makes.
"""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator

import fgreader
from event_image import FAULT, NUMBERS, REFERRING, Field, Kind, parse_kind

MOST = 4000  # bytes of a record in a trace.dat
TEXTS = ("", "abc", "it's", 'say "hi"', "späte", "x" * 30)


def random_value(kind: str, chance: random.Random) -> object:
    """Return a value for an element of a field of this type."""
    if kind == "bool":
        return chance.randrange(2)
    if kind == "char":
        return ord(chance.choice("aZ5 '"))
    if kind == "f64":
        return chance.choice((0.0, -0.5, 1e100, 1 / 3, float("inf")))
    if kind == "symbol":
        return chance.randrange(8)
    if kind in NUMBERS:
        code = "<" + NUMBERS[kind]
        return struct.unpack(code, chance.randbytes(struct.calcsize(code)))[0]
    if kind == "string":
        return chance.choice(TEXTS)
    if kind == "object":
        return chance.choice((ValueError, [1, 2], FAULT))
    return chance.choice((0, -7, 2**40, 5, None, True, 2.5, "it's", b"\xff", [1], KeyError, 2**70, FAULT))


def random_fields(kind: Kind, seed: int) -> bytes:
    """Return an image from its fields on. A third of the seeds give only numbers for values."""
    chance = random.Random(seed)

    def one(field: Field) -> object:
        if field.type == "value" and seed % 3 == 0:
            return chance.choice((0, -7, 2**40))
        return random_value(field.type, chance)

    return kind.pack(*([one(f) for _ in range(f.count)] if f.count else one(f) for f in kind.fields))


# ---- text


def tagged_text(data: bytes) -> str:
    """Return the text of a tagged value that `random_value` made."""
    tag = data[0] if data else 0
    number = struct.unpack_from("<QB", data, 1)[0] if tag in (8, 9, 10, 11) else 0
    text = data[10:] if tag in (8, 9, 10, 11) else b""
    match tag:
        case 1 | 2 | 3:
            return ("None", "True", "False")[tag - 1]
        case 4 | 5:
            return str(struct.unpack("<b" if tag == 4 else "<q", data[1:])[0])
        case 6:
            return f"int({struct.unpack('<I', data[2:])[0]} bits)"
        case 7:
            return repr(struct.unpack("<d", data[1:])[0])
        case 8:
            return repr(text.decode())
        case 9:
            return repr(text)
        case 10:
            return f"{text.decode()}({number})"
        case 11:
            return f"<{text.decode()} at {number:#x}>"
    return "(fault)"


def element_text(kind: str, image: bytes, at: int) -> str:
    if kind in REFERRING:
        begin, size = struct.unpack_from("<HH", image, at)
        data = image[begin : begin + size]
        if kind != "string":
            return tagged_text(data)
        return '"' + data.removesuffix(b"\0").decode().replace('"', '\\"') + '"'
    (number,) = struct.unpack_from("<" + NUMBERS[kind], image, at)
    if kind == "char":
        return "'\\''" if number == ord("'") else f"'{chr(number)}'"
    return hex(number) if kind[0] == "x" else repr(number)


def field_text(field: Field, image: bytes) -> str:
    items = [element_text(field.type, image, at) for at in field.places()]
    return "{" + ",".join(items) + "}" if field.count else items[0]


# ---- trace.dat


def needs_view(field: Field) -> bool:
    return field.type in ("f64", "object", "value") or (field.count > 0 and field.type in ("char", "string"))


class DatEvents:
    """How the events of a trace lie in the trace.dat made of it.

    Args:
        trace: the .fg.
        events: all its events.
    """

    def __init__(self, trace: fgreader.FgTrace, events: Iterable[fgreader.Event]) -> None:
        self.kinds = [parse_kind(known) for known in trace.event_types]
        values: defaultdict[tuple[int, Field], set[bool]] = defaultdict(set)
        for event in events:
            if event.event is None or event.kind != fgreader.EVENT:
                continue
            kind = self.kinds[event.event]
            image = bytes(kind.fields_at) + event.image
            for field in kind.fields:
                if field.type == "value" and not field.count:
                    begin = struct.unpack_from("<H", image, field.offset)[0]
                    values[event.event, field].add(image[begin : begin + 1] in (b"\4", b"\5"))
        self.numbers = {place for place, are_numbers in values.items() if are_numbers == {True}}

    def views(self, number: int) -> Iterator[tuple[Field, int, bool]]:
        """Yield each field with a view, the place of that, and whether it is a number."""
        kind = self.kinds[number]
        at = kind.fixed_end
        for field in kind.fields:
            if needs_view(field):
                is_number = (number, field) in self.numbers
                yield field, at, is_number
                at += 8 if is_number else 4

    def record(self, number: int, places: bytes, fields: bytes) -> bytes:
        """Return an event's record after its common fields."""
        kind = self.kinds[number]
        image = bytes(8) + places + fields
        views = list(self.views(number))
        gap = sum(8 if is_number else 4 for _, _, is_number in views)
        made = bytearray(image[: kind.fixed_end] + bytes(gap) + image[kind.fixed_end :])
        for field in kind.fields:
            for at in field.places() if field.type in REFERRING else ():
                begin = struct.unpack_from("<H", image, at)[0]
                struct.pack_into("<H", made, at, begin + gap if begin >= kind.fixed_end else begin)
        for left, (field, at, is_number) in zip(range(len(views) - 1, -1, -1), views, strict=True):
            text = field_text(field, image).encode()
            if is_number:
                struct.pack_into("<q", made, at, int(text))
                continue
            text = text[: MOST - len(made) - left - 1] + b"\0"
            struct.pack_into("<HH", made, at, len(made), len(text))
            made += text
        return bytes(made[8:])
