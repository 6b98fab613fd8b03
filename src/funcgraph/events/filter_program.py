"""Programs of event filters: terms with jumps, and their bytes, which the engine's filter is made from.

A program evaluates its first term. Each term then leads to a later one, or ends the program: the event is
accepted or rejected. engine/filter/filter.h describes the bytes.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeAlias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ACCEPT", "OPERANDS", "OPERATIONS", "REJECT", "SOURCES", "Exits", "Program", "Term"]

#: Where a term leads if the program ends there.
ACCEPT = 0xFFFF
REJECT = 0xFFFE

#: FG_EVENT_FILTER_OPERATIONS in engine/filter/filter.h, in its order. `!=` is `==` with its exits swapped.
OPERATIONS = ("==", "<", "<=", ">", ">=", "&", "~", "in", "true", "none")
#: FG_EVENT_FILTER_OPERANDS there.
OPERANDS = ("nothing", "signed", "unsigned", "real", "text", "set")
#: FG_EVENT_FILTER_SOURCES there: what is not among the event's own fields. The first one is -1.
SOURCES = (
    "common_type",
    "common_flags",
    "common_preempt_count",
    "common_pid",
    "cpu",
    "comm",
    "at_8",
    "at_16",
)

Operand: TypeAlias = int | float | str | frozenset[int] | None

_HEAD = struct.Struct("<HHI")  # terms, 0, bytes of the texts and sets behind them
_TERM = struct.Struct("<hBBHHQ")  # source, operation, kind of operand, when_true, when_false, operand
_WORD = 0xFFFF_FFFF_FFFF_FFFF


class Term(NamedTuple):
    """One comparison, and where the program goes on after it.

    Attributes:
        source: index of one of the event's fields; or below 0, one of SOURCES.
        operation: one of OPERATIONS.
        operand: None for the operations that have none.
        when_true, when_false: index of a later term, ACCEPT or REJECT.
    """

    source: int
    operation: str
    operand: Operand = None
    when_true: int = ACCEPT
    when_false: int = REJECT


class Program(NamedTuple):
    """A filter as terms; the first one is evaluated first."""

    terms: tuple[Term, ...]

    def pack(self) -> bytes:
        """Return the bytes that fg_event_filter_make() reads."""
        terms, rest = bytearray(), bytearray()
        for term in self.terms:
            kind, number = _pack_operand(term.operand, rest)
            operation = OPERATIONS.index(term.operation)
            terms += _TERM.pack(term.source, operation, kind, term.when_true, term.when_false, number)
        return _HEAD.pack(len(self.terms), 0, len(rest)) + bytes(terms) + bytes(rest)


def _pack_operand(operand: Operand, rest: bytearray) -> tuple[int, int]:
    """Return the number of the operand's kind, and its 64 bits. Texts and sets are added to `rest`."""
    if operand is None:
        return OPERANDS.index("nothing"), 0
    if isinstance(operand, float):
        return OPERANDS.index("real"), int.from_bytes(struct.pack("<d", operand), "little")
    if isinstance(operand, int):
        return OPERANDS.index("signed" if operand < 1 << 63 else "unsigned"), operand & _WORD
    at = len(rest)
    if isinstance(operand, str):
        rest += operand.encode("utf-8", "surrogatepass")
    else:
        rest += struct.pack(f"<{len(operand)}Q", *sorted(operand))
    kind = "text" if isinstance(operand, str) else "set"
    return OPERANDS.index(kind), at | (len(rest) - at) << 32


class Exits:
    """A part of a program under construction: its first term, and the exits that lead out of the part.

    An exit is the index of a term and whether it is taken when the term is true.
    """

    def __init__(self, index: int) -> None:
        self.first = index
        self.true = [(index, True)]
        self.false = [(index, False)]

    def invert(self) -> None:
        """Make it the opposite of what it was."""
        self.true, self.false = self.false, self.true

    def follow(self, right: Exits, terms: list[Term], when: bool) -> None:
        """Add `right`, which is evaluated when this part is `when`: `&&` for True, `||` for False."""
        lead(self.true if when else self.false, right.first, terms)
        if when:
            self.true = right.true
            self.false += right.false
        else:
            self.false = right.false
            self.true += right.true


def lead(exits: Sequence[tuple[int, bool]], target: int, terms: list[Term]) -> None:
    """Let the exits lead to `target`."""
    for index, when in exits:
        if when:
            terms[index] = terms[index]._replace(when_true=target)
        else:
            terms[index] = terms[index]._replace(when_false=target)
