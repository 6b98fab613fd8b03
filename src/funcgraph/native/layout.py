"""Finding the functions of an object: each once, however many symbols and pieces it has, with its end."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from funcgraph.native.eh_frame import extents
from funcgraph.native.elf import Elf
from funcgraph.native.functions import Function, Layout
from funcgraph.native.never import is_unsafe_object, reason_of_names
from funcgraph.native.reasons import Reason
from funcgraph.native.references import resolvers
from funcgraph.native.symbols import Symbol, symbols
from funcgraph.native.unnamed import unnamed_functions, unnamed_name

__all__ = ["layout_of"]

#: GCC and clang move what seldom runs out of a function. A part is jumped to, never called.
_PART = re.compile(r"(.+?)\.(?:cold|__part)(?:\.\d+)?")
#: Several functions of one name have each all parts of that name.
_MOST_PARTS = 256


def layout_of(elf: Elf) -> Layout:
    """Find the functions of an object, with what is against hooking them before their code is looked at.

    Raises:
        PlanError: the object is damaged.
    """
    return _Finder(elf).run()


class _Finder:
    """The symbols, pieces and sections of one object, which become its layout."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._symbols = symbols(elf)
        self._pieces = {extent.begin: extent for extent in extents(elf)}
        self._piece_begins = sorted(self._pieces)
        self._sections = sorted(
            (section.address, section.address + section.size) for section in elf.sections if section.is_code
        )

    def run(self) -> Layout:
        self._add_unnamed()
        section_bounds = (address for section in self._sections for address in section)
        starts = sorted({*self._symbols, *self._pieces, *section_bounds})
        limits = dict(pairwise(starts))
        parts: dict[str, list[tuple[int, int]]] = defaultdict(list)
        functions = []
        for symbol, size in self._sized():
            base = _base_of_part(symbol.names)
            if base:
                parts[base].append((symbol.address, symbol.address + size))
            else:
                functions.append(_function(symbol, size, limits[symbol.address]))
        for function in functions:
            _add_parts(function, parts)
        self._refuse(functions)
        return Layout(functions, starts)

    def _add_unnamed(self) -> None:
        """Make symbols for functions that have none, and mark ifuncs that have lost theirs."""
        begins = sorted(self._symbols)

        def is_covered(address: int) -> bool:
            index = bisect_right(begins, address) - 1
            return index >= 0 and address < begins[index] + self._symbols[begins[index]].size

        unknown = [piece for piece in self._pieces.values() if not is_covered(piece.begin)]
        rest = [piece for piece in unknown if piece.begin not in self._symbols]
        for address in unnamed_functions(self._elf, rest):
            size = self._pieces[address].end - address
            self._symbols[address] = Symbol(address, size, {unnamed_name(address)})
        for address in resolvers(self._elf) & self._symbols.keys():
            self._symbols[address].is_resolver = True

    def _sized(self) -> Iterator[tuple[Symbol, int]]:
        """Yield the symbols of functions by address, each with its size; 0: not known."""
        section_begins = [begin for begin, _ in self._sections]
        for address in sorted(self._symbols):
            symbol = self._symbols[address]
            index = bisect_right(section_begins, address) - 1
            end = self._sections[index][1] if index >= 0 else 0
            if symbol.names and address < end:
                piece = self._pieces.get(address)
                size = symbol.size or (piece.end - address if piece else 0)
                yield symbol, min(size, end - address)

    def _refuse(self, functions: list[Function]) -> None:
        """Refuse what is not entered by a call, what begins in the middle of other code, or all."""
        is_unsafe = is_unsafe_object(self._elf)
        end = 0
        for function in functions:
            if is_unsafe:
                function.reason = Reason.UNSAFE
            elif function.reason is Reason.HOOKABLE and not self._is_entry(function.address, end):
                function.reason = Reason.SHARED_BYTES
            end = max(end, function.address + function.size)

    def _is_entry(self, address: int, end: int) -> bool:
        """Return whether a function may begin at an address; `end` is that of the code of those before it.

        Call frame information says so. Where it has nothing that begins there, nothing else may be there.
        """
        piece = self._pieces.get(address)
        if piece is not None:
            return piece.is_entry
        index = bisect_right(self._piece_begins, address) - 1
        return address >= end and (index < 0 or self._pieces[self._piece_begins[index]].end <= address)


def _base_of_part(names: set[str]) -> str:
    """Return the name of the function that these are names of a part of; "": of none."""
    matches = [_PART.fullmatch(name) for name in names]
    return matches[0][1] if matches[0] and all(matches) else ""


def _function(symbol: Symbol, size: int, limit: int) -> Function:
    function = Function(symbol.address, size, limit, sorted(symbol.names))
    function.reason = Reason.IFUNC_RESOLVER if symbol.is_resolver else reason_of_names(symbol.names)
    return function


def _add_parts(function: Function, parts: dict[str, list[tuple[int, int]]]) -> None:
    function.parts = [part for name in function.names for part in parts.get(name, ())]
    if len(function.parts) > _MOST_PARTS:
        function.reason, function.parts = Reason.SHARED_BYTES, []
