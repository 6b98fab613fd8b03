"""Tables of indirect jumps that may lead to the first bytes of functions: such functions are refused.

Compilers make two kinds of tables. One has the addresses of labels, in words that are relocated where the
object is position-independent. The other has their 32-bit distances from the table:

        lea    table(%rip),%rdx
        movslq (%rdx,%rax,4),%rax
        add    %rdx,%rax
        jmp    *%rax

No table says how long it is. In each function with such a jump, every address that it loads is read as a
table, forwards and backwards, as long as the entries lead to the function: rather too much than too little.
Assembly has tables among its code, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from funcgraph.native.branches import Watch
from funcgraph.native.code import Code
from funcgraph.native.elf import Elf
from funcgraph.native.functions import Function, Layout
from funcgraph.native.reasons import Reason
from funcgraph.native.references import address_loads, indirect_jumps, initial_words

__all__ = ["refuse_table_targets"]

_ENTRY = 4
_PIECE = 256
#: How many entries of a table are looked at: more than any compiler makes of one `switch`.
_MOST_ENTRIES = 1 << 16


def refuse_table_targets(elf: Elf, code: Code, layout: Layout, watch: Watch) -> None:
    """Refuse the functions to whose displaced bytes an entry of a table leads."""
    for word in watch.inner.keys() & set(initial_words(elf)):
        watch.inner[word].reason = Reason.INDIRECT_JUMP
    for source, table in _tables(code, layout):
        owners = layout.owners(source)
        for target in _targets(elf, code, table, owners):
            function = watch.hit_by_jump(source, target)
            if function:
                function.reason = Reason.INDIRECT_JUMP


def _tables(code: Code, layout: Layout) -> Iterator[tuple[int, int]]:
    """Yield the place where an address is loaded that may be a table's, and the address."""
    starts = set(layout.starts)
    for block in code.blocks:
        jumping = {piece for place in indirect_jumps(block) for piece in layout.pieces(place)}
        for source, table in address_loads(block):
            if table in starts and code.block_of(table) >= 0:
                continue  # the address of a function
            if not jumping.isdisjoint(layout.pieces(source)):
                yield source, table


def _targets(elf: Elf, code: Code, table: int, owners: Sequence[Function]) -> Iterator[int]:
    """Yield where the entries around the beginning of a table lead."""
    for step in (1, -1):
        for entry in islice(_entries(elf, code, table, step), _MOST_ENTRIES):
            target = table + entry
            if not any(owner.owns(target) for owner in owners):
                break
            yield target


def _entries(elf: Elf, code: Code, table: int, step: int) -> Iterator[int]:
    """Yield the entries from the beginning of a table on, or those before it."""
    at = table if step > 0 else table - _PIECE
    while piece := elf.loaded(at, _PIECE) or code.bytes_at(at, _PIECE):
        yield from memoryview(piece[: len(piece) // _ENTRY * _ENTRY]).cast("i")[::step]
        at += step * _PIECE
