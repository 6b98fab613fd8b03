"""Functions of stripped objects, which have no symbol: code that is called, or whose address is used.

A wheel's extension module often exports its PyInit_ function alone. Call frame information describes all
other code, without names. A piece is a function if a call leads to its first byte, or data or an instruction
has its address, and if it has the return address on top of its stack there. Others are parts of functions.

Of a C library, or of a program that has one inside, no such function is hooked: without names nobody can tell
setjmp from another one.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from funcgraph.native.eh_frame import Extent
from funcgraph.native.elf import Elf
from funcgraph.native.references import address_loads, calls, initial_words

__all__ = ["unnamed_functions", "unnamed_name"]

_C_LIBRARY = re.compile(r"libc\.|libc-|ld-|ld64\.")
#: Sections of stubs and of code that is put together of pieces.
_NOT_OF_FUNCTIONS = (".plt", ".init", ".fini")


def unnamed_name(address: int) -> str:
    """Return how a function without a name is shown.

    >>> unnamed_name(0x1139)
    '<0x1139>'
    """
    return f"<{address:#x}>"


def unnamed_functions(elf: Elf, pieces: Collection[Extent]) -> set[int]:
    """Return the addresses of functions among pieces of code that no symbol names.

    Raises:
        PlanError: the object is damaged.
    """
    if not pieces or not _has_other_c_library(elf):
        return set()
    places = [
        range(section.address, section.address + section.size)
        for section in elf.sections
        if section.is_code and not section.name.startswith(_NOT_OF_FUNCTIONS)
    ]
    begins = {
        piece.begin for piece in pieces if piece.is_entry and any(piece.begin in place for place in places)
    }
    found = begins.intersection(initial_words(elf))
    for block in elf.code:
        found.update(calls(block, begins))
        found.update(address for _, address in address_loads(block, begins))
    return found


def _has_other_c_library(elf: Elf) -> bool:
    """Return whether an object takes functions such as setjmp from another one."""
    return elf.needs_others and not _C_LIBRARY.match(elf.soname)
