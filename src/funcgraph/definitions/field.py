"""A field of an event: its name, its type, and where its value is fetched from."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FIELD_TYPES", "TYPE_ALIASES", "Field", "Part"]

#: The types that a definition may name: FG_FIELD_TYPES of src/engine/ring/field.h, in its order.
FIELD_TYPES = (
    *("u8", "u16", "u32", "u64"),
    *("s8", "s16", "s32", "s64"),
    *("x8", "x16", "x32", "x64"),
    *("f64", "bool", "char", "string", "symbol", "object", "value"),
)

#: The kernel's names of types whose difference from another type Python does not have.
TYPE_ALIASES = {"ustring": "string", "symstr": "symbol"}

Part = tuple[str | int, ...]


class Field(NamedTuple):
    """One field. It is a tuple, which the fetch compiler takes as it is.

    Attributes:
        name: the field's name, a C identifier.
        type: one of FIELD_TYPES; "value" if the definition names none.
        count: how many elements the array has; 0: no array.
        source: where the value comes from: ("name", "user"), ("arg", 1) (counted from 1), ("retval",),
            ("exc",), ("comm",), ("stack", 0), ("symbol",), ("imm", 5), ("imm", "text"), or ("field", "x"): a
            field of the event that a `t` or `e` is attached to. In a synthetic event ("arg", N): the Nth
            value of the action that generates it. At a native function also ("reg", 0), ("sp",), and
            ("data", "environ", 8): the address of a variable of the object, and an offset.
        steps: what leads from there to the value, in order: ("attr", "name"), ("index", 3), ("key", "text"),
            ("len",), ("bits", FIRST | N << 8): N bits of a number from bit FIRST on. At a native function
            ("deref", 8): the value lies at this address plus 8.

    A field of a return event whose source is a "name" or an "arg" is fetched at the entry.
    """

    name: str
    type: str
    count: int  # type: ignore[assignment]  # not tuple.count(), which nobody needs here
    source: Part
    steps: tuple[Part, ...]
